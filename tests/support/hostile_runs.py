"""Run folders with hostile files: pipes, devices, links, endless and deeply nested files.

Every folder begins as a valid run, of which one or two files are then replaced, chosen by a seed.
"""

from __future__ import annotations

import os
import random
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from made_runs import Script, make_run

from gpu_studio.contract.directory import RunDirectory

DEEP = 100_000
SPARSE = 1 << 40
FILES = (
    "plan.toml",
    "events.jsonl",
    "hardware.jsonl",
    "commands.jsonl",
    "trainer.log",
    "trainer.lock",
    "scalars.csv",
    "resume.json",
    "prediction.json",
    "labels.json",
    "evaluations.jsonl",
    "cluster.json",
    "study.json",
    "workers/0-worker-1/events.jsonl",
    "workers/0-worker-1/trainer.lock",
    "queued",
    "end-told",
    "checkpoints",
    "checkpoints/step-00000006/state.json",
    "checkpoints/step-00000006/weights.npz",
)
QUEUE_FILES = (
    "queue/order.json",
    "queue/waits.json",
    "queue/x.plan.toml",
    "queue/x.json",
    "queue/.lock",
)
Make = Callable[[Path], object]


def _a_socket(path: Path) -> None:
    # Its address may have 107 bytes only, and so it is made elsewhere and moved.
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as made:
        made.bind(f"{folder}/s")
        with suppress(OSError):
            Path(folder, "s").rename(path)


def _a_tree_of_links(path: Path) -> None:
    path.mkdir()
    (path / "all").symlink_to("/")
    (path / "again").symlink_to(".")


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(SPARSE)


KINDS: dict[str, Make] = {
    "pipe": os.mkfifo,
    "socket": _a_socket,
    "link to an endless device": lambda path: path.symlink_to("/dev/zero"),
    "link to a terminal": lambda path: path.symlink_to("/dev/tty"),
    "link to itself": lambda path: path.symlink_to(path.name),
    "link to nothing": lambda path: path.symlink_to("nothing/at/all"),
    "link to a file of the user's": lambda path: path.symlink_to("/etc/hostname"),
    "folder": lambda path: path.mkdir(),
    "folder of links": _a_tree_of_links,
    "deep list": lambda path: path.write_bytes(b"[" * DEEP),
    "deep object": lambda path: path.write_bytes(b'{"run":' * DEEP + b"}" * DEEP),
    "deep value": lambda path: path.write_bytes(
        b'{"run":"x","checkpoint":' + b"[" * DEEP + b"]" * DEEP + b"}"
    ),
    "deep event": lambda path: path.write_bytes(
        b'{"event":"model","layers":' + b"[" * DEEP + b"\n"
    ),
    "deep plan": lambda path: path.write_bytes(b"name = " + b"[" * DEEP + b"]" * DEEP),
    "terabyte of nothing": _sparse,
    "long line": lambda path: path.write_bytes(b"x" * 8_000_000),
    "wrong kinds": lambda path: path.write_bytes(
        b'{"run": 1, "tags": {}, "epoch": "x", "bytes": [1e999]}\n'
    ),
    "huge numbers": lambda path: path.write_bytes(b'{"epoch":' + b"9" * 5000 + b',"step":1e400}\n'),
    "no text": lambda path: path.write_bytes(bytes(range(256)) * 100),
    "empty": lambda path: path.write_bytes(b""),
    "of nobody": lambda path: os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0)),
}


def hostile_runs(runs: Path, count: int, seed: int) -> Iterator[tuple[RunDirectory, str]]:
    """Make so many hostile runs under `runs`, each with what is wrong with it in words."""
    dice = random.Random(seed)
    pairs = [(file, kind) for file in FILES for kind in KINDS]
    dice.shuffle(pairs)
    for number in range(count):
        run = make_run(
            runs, Script(name=f"hostile {number}", epochs=1, steps=6, trained=1, ending="completed")
        )
        yield (
            run,
            " and ".join(
                _spoil(run, *pairs[(number + shift) % len(pairs)]) for shift in _shifts(dice, count)
            ),
        )


def _shifts(dice: random.Random, count: int) -> tuple[int, ...]:
    """One file, and now and then a second one."""
    return (0,) if dice.random() < 0.7 else (0, count)


def _spoil(run: RunDirectory, file: str, kind: str) -> str:
    put(run.path / file, kind)
    return f"{file}: {kind}"


def put(path: Path, kind: str) -> None:
    """Put something of this kind at `path`, in place of what is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    KINDS[kind](path)


def hostile_queue(runs: Path, seed: int) -> str:
    """Spoil the queue of `runs`; what is wrong with it, in words."""
    dice = random.Random(seed)
    file, kind = dice.choice(QUEUE_FILES), dice.choice(list(KINDS))
    put(runs / file, kind)
    return f"{file}: {kind}"


def about_all(out: Path) -> list[list[str]]:
    """The commands that read every run, and the queue; `out` is a folder for what they write."""
    return [
        ["runs", "list"],
        ["runs", "list", "--json"],
        ["runs", "list", "--energy"],
        ["queue", "list"],
        ["queue", "list", "--json"],
        ["runs", "show", "latest"],
        ["runs", "compare", "latest"],
        ["runs", "report", "--output", str(out / "all.html"), "--force", "latest"],
    ]


def about_one(run: str, out: Path) -> list[list[str]]:
    """The commands about one run that neither train nor ask TensorFlow.

    The last two delete it and take it back.
    """
    return [
        ["runs", "show", run],
        ["runs", "show", run, "--json"],
        ["runs", "log", run, "--tail", "3"],
        ["runs", "placement", run],
        ["runs", "tag", run],
        ["runs", "note", run],
        ["runs", "tag", run, "--add", "odd"],
        ["runs", "rename", run, "odd"],
        ["runs", "report", run, "--output", str(out / "one.html"), "--force"],
        ["runs", "export", run, "--format", "json"],
        ["runs", "export", run, "--format", "svg"],
        *(
            ["runs", "export", run, "--what", what]
            for what in ("steps", "epochs", "memory", "hardware")
        ),
        ["runs", "attach", run, "--json"],
        ["runs", "stop", run],
        ["runs", "pause", run],
        ["runs", "checkpoint", run],
        ["resume", run, "--detach"],
        ["runs", "delete", run],
        ["runs", "restore", run],
    ]
