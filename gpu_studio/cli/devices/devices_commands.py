"""`devices`: the cards of this machine, and who uses them."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rich.live import Live

from gpu_studio.cli import exit_codes
from gpu_studio.cli.devices.devices_document import csv_lines, document
from gpu_studio.cli.devices.devices_table import screen
from gpu_studio.cli.output import RefusedError, console, note, say, say_json
from gpu_studio.cli.train.keys import Keys, pressed_keys
from gpu_studio.hardware.picture import Picture
from gpu_studio.hardware.recorder import BeingRecordedError, Recorder
from gpu_studio.hardware.samples import decode
from gpu_studio.hardware.supervision import sampler_command
from gpu_studio.hardware.supervisor import Supervisor
from gpu_studio.interrupts import Interrupts, counted_interrupts
from gpu_studio.runs.paths import runs_dir

PATIENCE = 20.0
"""Seconds until one look is given up."""
ONE_LOOK = frozenset({"cards", "fast", "slow", "processes", "host"})
ONE_LOOK_RATE = 4.0
WATCH_RATE = 1.0
POLL = 0.1
WIDE = 160


def devices(chosen: argparse.Namespace) -> int:
    """Show the devices once, or go on showing or recording them."""
    if chosen.watch or chosen.record:
        return _go_on(chosen)
    with _sampler(chosen, ONE_LOOK_RATE) as sampler:
        picture = _look_once(sampler)
    _show(picture, chosen)
    return exit_codes.OK


def _sampler(chosen: argparse.Namespace, rate: float) -> Supervisor:
    return Supervisor(sampler_command(rate=rate, folder=runs_dir(chosen.runs_dir)))


def _look_once(sampler: Supervisor) -> Picture:
    picture = Picture()
    end = time.monotonic() + PATIENCE
    while not _is_complete(picture):
        if time.monotonic() > end:
            told = picture.notes[-1].words if picture.notes else f"the NVIDIA driver did not answer for {PATIENCE:g} s"
            raise RefusedError(f"the devices cannot be told: {told}")
        for line in sampler.lines(POLL):
            _take(picture, line)
    return picture


def _is_complete(picture: Picture) -> bool:
    # The first look at the CPU has nothing to compare with.
    return picture.seen >= ONE_LOOK and bool(picture.host and picture.host.cpu_percent is not None)


def _take(picture: Picture, line: bytes) -> None:
    sample = decode(line)
    if sample is not None:
        picture.apply(sample)


def _show(picture: Picture, chosen: argparse.Namespace) -> None:
    if chosen.json:
        say_json(document(picture))
    elif chosen.csv:
        for line in csv_lines(picture):
            say(line)
    else:
        # A table in a file need not be as narrow as no terminal at all is taken to be.
        console(None if sys.stdout.isatty() else WIDE).print(screen(picture))


def _go_on(chosen: argparse.Namespace) -> int:
    end = float("inf") if chosen.seconds is None else time.monotonic() + chosen.seconds
    with ExitStack() as stack:
        recorder = stack.enter_context(_recorder(chosen.record)) if chosen.record else None
        interrupts = stack.enter_context(counted_interrupts())
        keys = stack.enter_context(pressed_keys())
        draw = stack.enter_context(_drawing(chosen))
        sampler = stack.enter_context(_sampler(chosen, WATCH_RATE))
        picture = Picture()
        while time.monotonic() < end and not _is_over(interrupts, keys):
            for line in sampler.lines(POLL):
                if recorder:
                    recorder.write(line)
                _take(picture, line)
                if line.startswith((b'{"sample":"fast"', b'{"sample":"owner"')):
                    draw(picture)
    if recorder and recorder.lost:
        note(f"The disk was full: {recorder.lost} samples could not be kept.")
    return exit_codes.OK


def _recorder(path: Path) -> Recorder:
    try:
        return Recorder(path, follow=True)
    except BeingRecordedError as error:
        raise RefusedError(f"{error}: record into another file") from error


def _is_over(interrupts: Interrupts, keys: Keys) -> bool:
    return interrupts.take() > 0 or keys.was_pressed("q")


@contextmanager
def _drawing(chosen: argparse.Namespace) -> Iterator[Callable[[Picture], None]]:
    """What is done with each new picture."""
    if chosen.json:
        yield lambda picture: say_json(document(picture), indent=None)
    elif chosen.csv:
        yield lambda picture: _show(picture, chosen)
    elif sys.stdout.isatty():
        with Live(console=console(), auto_refresh=False, screen=chosen.watch) as live:
            yield lambda picture: live.update(screen(picture), refresh=True)
    elif chosen.record and not chosen.watch:
        note(f"Recording into {chosen.record}; Ctrl+C ends it.")
        yield lambda _picture: None
    else:
        raise RefusedError("--watch draws on a terminal, and this is none: use --watch --json, or --watch --csv")
