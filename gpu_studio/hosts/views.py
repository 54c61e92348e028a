"""What the agents on a cluster's machines told, as typed values."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

UNREAD = "!"
"""What a digest begins with where something could not be read: the reason follows."""


class WorkerLink(msgspec.Struct, frozen=True):
    """How one machine reached another: seconds and the offset of its clock, or an error.

    `origin` is the address that it was reached from.
    """

    seconds: float = 0.0
    clock: float = 0.0
    origin: str = msgspec.field(default="", name="from")
    error: str = ""


class CardView(msgspec.Struct, frozen=True):
    """A card that a machine gives to a worker."""

    name: str
    total_mib: int
    used_mib: int


class HostView(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of the agent of worker `index`; see `agent.facts`.

    `route` is the address from which it speaks to others, `interfaces` are those that it has, as
    far as it is known. `reached` are its links by the other workers' numbers, `missing` those that
    it did not find.
    """

    index: int
    host: str
    address: str
    port: int
    port_error: str = ""
    versions: dict[str, str | None]
    machine: str = ""
    cores: int = 1
    load: float = 0.0
    free_bytes: int = 0
    room_bytes: int | None = None
    writable: bool = True
    proxies: dict[str, str] = {}
    route: str = ""
    interfaces: list[str] = []
    cards: list[CardView] = []
    data: dict[str, str] = {}
    code: dict[str, str] = {}
    missing: list[int] = []
    reached: dict[str, WorkerLink] = {}


_decoder = msgspec.json.Decoder(HostView)


def views_in(lines: Iterable[str]) -> list[HostView]:
    """The answers among lines, in the order of the workers. What is no answer is passed over."""
    found = []
    for line in lines:
        try:
            found.append(_decoder.decode(line))
        except (msgspec.MsgspecError, UnicodeEncodeError):
            continue
    return sorted(found, key=lambda view: view.index)
