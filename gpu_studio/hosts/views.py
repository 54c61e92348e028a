"""What the agents on a cluster's machines report, as typed values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import msgspec

from gpu_studio.contract import JSON_ERRORS

Text = Annotated[str, msgspec.Meta(max_length=4_096)]
"""Longer than a path; an answer with a longer one is none of ours."""
UNREAD = "!"
"""What a digest begins with where something could not be read: the reason follows."""


class WorkerLink(msgspec.Struct, frozen=True):
    """How one machine reached another: seconds and the offset of its clock, or an error.

    `origin` is the address that it was reached from.
    """

    seconds: float = 0.0
    clock: float = 0.0
    origin: Text = msgspec.field(default="", name="from")
    error: Text = ""


class CardView(msgspec.Struct, frozen=True):
    """A card that a machine gives to a worker."""

    name: Text
    total_mib: int
    used_mib: int


class HostView(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of the agent of worker `index`; see `agent.facts`.

    `route` is the address from which it speaks to others, `interfaces` are those that it has, as
    far as it is known. `reached` are its links by the other workers' numbers, `missing` those that
    it did not find.
    """

    index: int
    host: Text
    address: Text
    port: int
    port_error: Text = ""
    versions: dict[Text, Text | None]
    machine: Text = ""
    cores: int = 1
    load: float = 0.0
    free_bytes: int = 0
    disk_free_bytes: int | None = None
    writable: bool = True
    proxies: dict[Text, Text] = {}
    route: Text = ""
    interfaces: list[Text] = []
    cards: Annotated[list[CardView], msgspec.Meta(max_length=64)] = []
    data: dict[Text, Text] = {}
    code: dict[Text, Text] = {}
    missing: list[int] = []
    reached: dict[int, WorkerLink] = {}


_decoder = msgspec.json.Decoder(HostView)


def views_in(lines: Iterable[str], count: int) -> list[HostView]:
    """The answers of `count` workers among lines, in their order. Others' are passed over."""
    found: dict[int, HostView] = {}
    for line in lines:
        try:
            view = _decoder.decode(line)
        except JSON_ERRORS:
            continue
        if 0 <= view.index < count:
            found.setdefault(view.index, view)
    return [found[index] for index in sorted(found)]
