"""Draw the devices as a table in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from gpu_studio.common.figures import MIB, percent, size, used_of
from gpu_studio.contract.samples import Host, HostProcess, Process
from gpu_studio.hardware.device_rows import figure
from gpu_studio.hardware.picture import CardNow, MachinePicture

T = TypeVar("T")
BAR = 12
MOST_EVENTS = 5
_BAR_PLACE = 2
_MEMORY = {True: ("memory", ""), False: ("memory",)}
"""The titles over a bar and its figures, or over figures alone."""


def screen(picture: MachinePicture, *, bars: bool = True) -> RenderableType:
    """Draw all that is known now; without `bars`, memory in figures only.

    The parts of a bar differ by colour only, which a file has not.
    """
    parts: list[RenderableType] = [heading] if (heading := _heading(picture)) else []
    if picture.why:
        parts.append(Text(f"No card: {picture.why}", "yellow"))
    parts.append(_cards(picture, bars=bars))
    if rows := [*_on_cards(picture), *_on_host(picture)]:
        parts.append(_processes(rows))
    parts += [
        Text(f"{event.words} ({_name(picture, event.card)})", "red")
        for event in _latest(picture.events)
    ]
    parts += [Text(owner.words, "yellow") for owner in _latest(picture.notes)]
    return Group(*parts)


def _heading(picture: MachinePicture) -> Text:
    words = [f"driver {picture.driver}, CUDA {picture.cuda}"] if picture.driver else []
    heading = Text(" · ".join(words))
    if picture.marked:
        heading.append(f"{' · ' if words else ''}{picture.marked}", "bold yellow")
    return heading


def _cards(picture: MachinePicture, *, bars: bool) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("", "device", *_MEMORY[bars], "util", "power", "temperature"):
        right = title in ("util", "power") or (title == "memory" and not bars)
        table.add_column(title, overflow="fold", justify="right" if right else "left")

    def add(row: tuple[RenderableType, ...]) -> None:
        table.add_row(*row[:_BAR_PLACE], *row[_BAR_PLACE + (not bars) :])

    for number, card in enumerate(picture.cards.values()):
        add(_row(f"GPU {number}", card))
        for instance in (picture.instances.get(each.card) for each in card.facts.instances):
            if instance:
                add(_row("  └", instance)[:5])
    if picture.host:
        add(_host_row(picture.host))
    return table


def _row(label: str, card: CardNow) -> tuple[RenderableType, ...]:
    name = Text(card.facts.name)
    if card.facts.gone:
        return f"⚠ {label}", name.append(f"\n{card.facts.gone}", "yellow")
    return (
        f"● {label}",
        name,
        *_memory(
            card.figure("memory_used_mib"), card.figure("total_mib"), card.why("memory_used_mib")
        ),
        _figure(card, "utilisation_percent", "%"),
        _figure(card, "power_w", "W"),
        _temperature(card),
    )


def _memory(used: object, total: object, why: str) -> tuple[RenderableType, RenderableType]:
    if not isinstance(used, int):
        return "", Text(why, "dim")
    if not isinstance(total, int):
        return "", size(used * MIB)
    text = Text(used_of(used, total))
    return ProgressBar(total=total, completed=used, width=BAR), text


def _figure(card: CardNow, name: str, unit: str) -> Text:
    found = figure(card, name, unit)
    return Text(found.text, "" if found.known else "dim")


def _temperature(card: CardNow) -> Text:
    text = _figure(card, "temperature_c", "°C")
    throttle = card.figure("throttle")
    held = [words for words in throttle if words != "idle"] if isinstance(throttle, list) else []
    return text.append(f"  held back by: {', '.join(held)}", "yellow") if held else text


def _host_row(host: Host) -> tuple[RenderableType, ...]:
    memory = _memory(
        host.memory_used_mib, host.memory_total_mib, host.why.get("memory_used_mib", "")
    )
    cpu = host.why.get("cpu_percent", "") if host.cpu_percent is None else percent(host.cpu_percent)
    return "● CPU", "this computer", *memory, cpu, "", ""


def _processes(rows: Sequence[tuple[RenderableType, ...]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for place, title in enumerate(("device", "pid", "user", "memory", "cpu", "command")):
        # Where there is little space, reasons are folded and commands cut: by the rest a person
        # finds the process.
        whole = title in ("device", "pid", "user")
        least = max(cell_len(str(row[place])) for row in rows) if whole else None
        table.add_column(title, no_wrap=whole, min_width=least)
    for row in rows:
        table.add_row(*row)
    return table


def _on_cards(picture: MachinePicture) -> Iterator[tuple[RenderableType, ...]]:
    for process in picture.processes.processes if picture.processes else ():
        yield _process(_name(picture, process.card), process)


def _on_host(picture: MachinePicture) -> Iterator[tuple[RenderableType, ...]]:
    for process in picture.host_processes.processes if picture.host_processes else ():
        yield _process("CPU", process)


def _process(device: str, process: Process | HostProcess) -> tuple[RenderableType, ...]:
    why = process.why
    memory = (
        why.get("memory_mib", "") if process.memory_mib is None else size(process.memory_mib * MIB)
    )
    cpu = (
        why.get("cpu_percent", "") if process.cpu_percent is None else percent(process.cpu_percent)
    )
    command = Text(process.command or why.get("command", ""), no_wrap=True, overflow="ellipsis")
    return device, str(process.pid), process.user or "", memory, Text(cpu, "dim"), command


def _name(picture: MachinePicture, key: str) -> str:
    for place, card in enumerate(picture.cards.values()):
        if key in (card.facts.card, *(part.card for part in card.facts.instances)):
            return f"GPU {place}"
    return "a card"


def _latest(items: Iterable[T]) -> list[T]:
    return list(items)[-MOST_EVENTS:]
