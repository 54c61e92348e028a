"""What a resumed run takes over: the note in `resume.json`, and the checkpoint that it names."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from gpu_studio.common.regular_files import open_regular, opened
from gpu_studio.contract.checkpoints import STATE_FILE, WEIGHTS_FILE, SavedCheckpoint
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.files import PRIVATE_DIRECTORY, read_json, write_private


@dataclass(frozen=True, slots=True)
class Resume:
    """A run to resume, and the checkpoint to resume it from."""

    run: RunDirectory
    checkpoint: SavedCheckpoint


class ResumedFrom(msgspec.Struct, frozen=True):
    """The content of `resume.json`: the id of the parent run, its checkpoint and its progress."""

    run: str
    checkpoint: str
    epoch: int = 0
    step: int = 0


_decoder = msgspec.json.Decoder(ResumedFrom)


def pass_on(resume: Resume, successor: RunDirectory) -> None:
    """Put the checkpoint and the note into the new run's directory.

    Raises OSError if that fails.
    """
    saved = resume.checkpoint
    folder = successor.checkpoints / saved.name
    successor.checkpoints.mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)
    folder.mkdir(mode=PRIVATE_DIRECTORY)
    # Only these two: anything else was put there by someone, and may be a link to anywhere.
    _share(saved.path / WEIGHTS_FILE, folder / WEIGHTS_FILE)
    _copy(saved.path / STATE_FILE, folder / STATE_FILE)
    note = ResumedFrom(resume.run.id, saved.name, saved.epoch, saved.step)
    write_private(successor.resume_file, msgspec.json.encode(note) + b"\n")


def resumed_from(run: RunDirectory) -> ResumedFrom | None:
    """Return what `run` resumes from; None if it started afresh or the note cannot be read."""
    try:
        return read_json(run.resume_file, _decoder.decode)
    except OSError:
        return None


def _share(source: Path, target: Path) -> None:
    """Hard-link the weights where the file system can: they are never written again."""
    with opened(source):  # a file, and no link
        with suppress(OSError):
            os.link(source, target, follow_symlinks=False)
            return
        _copy(source, target)


def _copy(source: Path, target: Path) -> None:
    descriptor = open_regular(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    with opened(source) as old, os.fdopen(descriptor, "wb") as new:
        shutil.copyfileobj(old, new)
