"""`devices` and `doctor`: the cards of this machine, who uses them, and whether TensorFlow can.

The doctor says what to type if it cannot.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gpu_studio.cli.command import (
    FAILED,
    OK,
    Commands,
    RefusedError,
    add_command,
    add_json,
    add_seconds,
    console,
    note,
    runs_folder,
    say,
    say_json,
    say_whole,
)
from gpu_studio.cli.machine_choice import add_machine_choice

if TYPE_CHECKING:
    from gpu_studio.common.processes import Interrupts
    from gpu_studio.hardware.picture import MachinePicture
    from gpu_studio.hardware.recorder import Recorder
    from gpu_studio.hardware.supervision import Supervisor

_EXAMPLES: Final = """\
A figure that is not known says why: not supported by this card, no permission, lost, asleep …

--json writes one object:
  time        seconds since the epoch (UTC)
  simulated   what is shown in place of this machine's cards; "" for the real ones
  practice    the practice cards among them, as "4 × 2 GiB"; "" without any
  why         why no card answers; "" if one does
  driver, cuda   versions; null without a driver
  cards       a list, in PCI order: name, uuid, bus_id, gone ("" or why it does not answer), its
              facts and its figures; a figure that is null has its reason under `why`; `instances`
              are the parts of a card in MIG mode
  processes   a list: card (the key `card` of a card), pid, kinds, user, command, memory_mib,
              cpu_percent, …
  processes_why  why the processes of a card, by its key, are not known
  host_processes  a list of those that use much of the host's cores or memory, and every trainer:
              pid, user, command, cpu_percent (of one core), memory_mib
  host_processes_why  why they are not known; "" if they are
  host        cpu_percent, memory_used_mib, memory_total_mib, …
  events      XIDs and memory errors since the start
  notes       what befell the process that asks the driver
Units stand in the names: _mib binary mebibytes, _percent of 100, _w watts, _c degrees Celsius,
_mhz, _j joules.

examples:
  gpu-studio devices
  gpu-studio devices --watch
  gpu-studio devices --json | jq '.cards[].memory_used_mib'
  gpu-studio devices --record evening.jsonl --seconds 3600
  gpu-studio devices --simulate evening.jsonl --watch"""
PATIENCE = 20.0
"""Seconds until one look is given up."""
ONE_LOOK = frozenset({"cards", "fast", "slow", "processes", "host"})
ONE_LOOK_RATE = 4.0
WATCH_RATE = 1.0
POLL = 0.1
START = 30.0
"""Seconds that the first sample may take before `--seconds` count without it."""
WIDE = 160


def register(commands: Commands) -> None:
    """Add both commands."""
    _register_devices(commands)
    _register_doctor(commands)


def _register_devices(commands: Commands) -> None:
    parser = add_command(
        commands, "devices", "show the cards, and who uses them", _EXAMPLES, devices
    )
    shapes = parser.add_mutually_exclusive_group()
    shapes.add_argument(
        "--json",
        action="store_true",
        help="write JSON for programs to read; with --watch, one object a line",
    )
    shapes.add_argument("--csv", action="store_true", help="write a line for each card")
    parser.add_argument(
        "--watch", action="store_true", help="keep showing them; q or Ctrl+C ends it"
    )
    parser.add_argument(
        "--record", metavar="FILE", type=Path, help="keep everything in FILE, until Ctrl+C"
    )
    add_seconds(
        parser, "--seconds", help="end --watch or --record so many seconds after the first sample"
    )
    add_machine_choice(parser)


def devices(chosen: argparse.Namespace) -> int:
    """Show the devices once, or keep showing or recording them."""
    if chosen.watch or chosen.record:
        return _go_on(chosen)
    with _sampler(chosen, ONE_LOOK_RATE) as sampler:
        picture = _look_once(sampler)
    _show(picture, chosen)
    return OK


def _sampler(chosen: argparse.Namespace, rate: float) -> Supervisor:
    from gpu_studio.hardware.supervision import Supervisor, sampler_command

    return Supervisor(sampler_command(rate=rate, folder=runs_folder(chosen)))


def _look_once(sampler: Supervisor) -> MachinePicture:
    from gpu_studio.hardware.picture import MachinePicture

    picture = MachinePicture()
    end = time.monotonic() + PATIENCE
    hosts = 0
    # The first CPU sample has nothing to compare with; a short recording has no second one.
    while not (picture.seen >= ONE_LOOK and (hosts > 1 or _knows_cpu(picture))):
        if time.monotonic() > end:
            text = (
                picture.notes[-1].words
                if picture.notes
                else f"the NVIDIA driver did not answer for {PATIENCE:g} s"
            )
            raise RefusedError(f"the devices cannot be listed: {text}")
        for line in sampler.lines(POLL):
            _take(picture, line)
            hosts += line.startswith(b'{"sample":"host"')
    return picture


def _knows_cpu(picture: MachinePicture) -> bool:
    return picture.host is not None and picture.host.cpu_percent is not None


def _take(picture: MachinePicture, line: bytes) -> None:
    from gpu_studio.contract.samples import decode

    sample = decode(line)
    if sample is not None:
        picture.apply(sample)


def _show(picture: MachinePicture, chosen: argparse.Namespace) -> None:
    from gpu_studio.cli.devices_table import screen
    from gpu_studio.hardware.device_rows import csv_lines, document

    if chosen.json:
        say_json(document(picture))
    elif chosen.csv:
        for line in csv_lines(picture):
            say_whole(line)
    else:
        # A table in a file need not be as narrow as no terminal at all is taken to be.
        out = console(None if sys.stdout.isatty() else WIDE)
        out.print(screen(picture, bars=out.color_system is not None))


def _go_on(chosen: argparse.Namespace) -> int:
    from gpu_studio.common.processes import counted_interrupts
    from gpu_studio.hardware.picture import MachinePicture

    with ExitStack() as stack:
        recorder = stack.enter_context(_recorder(chosen.record)) if chosen.record else None
        interrupts = stack.enter_context(counted_interrupts())
        keys = stack.enter_context(pressed_keys())
        draw = stack.enter_context(_drawing(chosen))
        sampler = stack.enter_context(_sampler(chosen, WATCH_RATE))
        seconds = float("inf") if chosen.seconds is None else chosen.seconds
        end, sampled = time.monotonic() + seconds + START, False
        picture = MachinePicture()
        while time.monotonic() < end and not _is_over(interrupts, keys):
            for line in sampler.lines(POLL):
                if recorder:
                    recorder.write(line)
                _take(picture, line)
                if line.startswith((b'{"sample":"fast"', b'{"sample":"owner"')):
                    draw(picture)
                    if not sampled:
                        end, sampled = time.monotonic() + seconds, True
    if recorder and recorder.lost:
        note(f"The disk was full: {recorder.lost} samples could not be kept.")
    return OK


def _recorder(path: Path) -> Recorder:
    from gpu_studio.hardware.recorder import BeingRecordedError, Recorder
    from gpu_studio.hardware.simulated.recording import recorded
    from gpu_studio.hardware.source import SimulationError

    try:
        if path.is_file() and path.stat().st_size:
            next(recorded(path))  # what it holds is gone on with
        return Recorder(path, follow=True)
    except BeingRecordedError as error:
        raise RefusedError(f"{error}: record into another file") from error
    except SimulationError:
        raise RefusedError(f"{path} is there, and no recording: record into another file") from None


def _is_over(interrupts: Interrupts, keys: Keys) -> bool:
    return interrupts.take() > 0 or keys.was_pressed("q")


@contextmanager
def _drawing(chosen: argparse.Namespace) -> Iterator[Callable[[MachinePicture], None]]:
    """What to do with each new picture."""
    if chosen.json:
        from gpu_studio.hardware.device_rows import document

        yield lambda picture: say_json(document(picture), indent=None)
    elif chosen.csv:
        yield lambda picture: _show(picture, chosen)
    elif sys.stdout.isatty():
        from rich.live import Live

        from gpu_studio.cli.devices_table import screen

        with Live(console=console(), auto_refresh=False, screen=chosen.watch) as live:
            bars = live.console.color_system is not None
            yield lambda picture: live.update(screen(picture, bars=bars), refresh=True)
    elif chosen.record and not chosen.watch:
        note(f"Recording into {chosen.record}; Ctrl+C ends it.")
        yield lambda _picture: None
    else:
        raise RefusedError(
            "--watch draws on a terminal, and this is none: use --watch --json, or --watch --csv"
        )


class Keys:
    """What is typed on a terminal; nothing where there is none."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor

    def was_pressed(self, key: str) -> bool:
        """Whether `key` was typed since the last call; never waits."""
        import select

        if self._descriptor is None or not select.select([self._descriptor], [], [], 0)[0]:
            return False
        return key.encode() in os.read(self._descriptor, 1024)


@contextmanager
def pressed_keys() -> Iterator[Keys]:
    """Hand over single keys until the end of the block; Ctrl+C stays what it is."""
    import termios
    import tty

    if not sys.stdin.isatty():
        yield Keys(None)
        return
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield Keys(descriptor)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


_DOCTOR_SUMMARY = "say whether TensorFlow can use each card, and what to type if not"
_DOCTOR_EXAMPLES = """examples:
  gpu-studio doctor
  gpu-studio doctor --json
  gpu-studio doctor --fresh

exit codes:
  0    nothing must be mended
  1    something must be mended
  2    refused, with nothing done"""


def _register_doctor(commands: Commands) -> None:
    parser = add_command(commands, "doctor", _DOCTOR_SUMMARY, _DOCTOR_EXAMPLES, doctor)
    parser.add_argument(
        "--fresh", action="store_true", help="ask TensorFlow again, even if nothing has changed"
    )
    add_json(parser)


def doctor(chosen: argparse.Namespace) -> int:
    """Examine the machine; return 0 if nothing must be fixed, else 1."""
    from gpu_studio.hardware import doctor as hardware_doctor

    view, why_not = _tensorflow(chosen.fresh)
    report = hardware_doctor.judge(hardware_doctor.gather(runs_folder(chosen), view, why_not))
    if chosen.json:
        say_json(hardware_doctor.as_json(report))
    else:
        say(hardware_doctor.lines(report, shutil.get_terminal_size((100, 24)).columns))
    return OK if report.well else FAILED


def _tensorflow(fresh: bool) -> tuple[dict[str, Any] | None, str]:
    from gpu_studio.runs.questions.ask import AskError, ask

    try:
        return ask(
            "devices", fresh=fresh, progress=_tell if sys.stderr.isatty() else None
        ).value, ""
    except AskError as error:
        return None, str(error)


def _tell(text: str) -> None:
    note(f"… {text}")
