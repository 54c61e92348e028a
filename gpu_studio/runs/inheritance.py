"""What a resumed run goes on from: the note in `resume.json`, and the checkpoint it names."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from gpu_studio.regular_files import open_regular, opened
from gpu_studio.runs.checkpoints import STATE_FILE, WEIGHTS_FILE, SavedCheckpoint
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.files import PRIVATE_DIRECTORY, read_json, write_private


@dataclass(frozen=True, slots=True)
class Resume:
    """A run to go on from, and the checkpoint at which."""

    run: RunDirectory
    checkpoint: SavedCheckpoint


class ResumedFrom(msgspec.Struct, frozen=True):
    """The contents of `resume.json`: the id of the run gone on from, its checkpoint, and how far that was trained."""

    run: str
    checkpoint: str
    epoch: int = 0
    step: int = 0


_decoder = msgspec.json.Decoder(ResumedFrom)


def bequeath(resume: Resume, heir: RunDirectory) -> None:
    """Put the checkpoint and the note into the directory of the run that goes on. Raises OSError if that fails."""
    saved = resume.checkpoint
    folder = heir.checkpoints / saved.name
    heir.checkpoints.mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)
    folder.mkdir(mode=PRIVATE_DIRECTORY)
    # These two and nothing else: what else stands there was put there by somebody, and may lead anywhere.
    _share(saved.path / WEIGHTS_FILE, folder / WEIGHTS_FILE)
    _copy(saved.path / STATE_FILE, folder / STATE_FILE)
    note = ResumedFrom(resume.run.id, saved.name, saved.epoch, saved.step)
    write_private(heir.resume_file, msgspec.json.encode(note) + b"\n")


def resumed_from(run: RunDirectory) -> ResumedFrom | None:
    """Return what `run` goes on from; None if it started afresh, or the note cannot be made out."""
    try:
        return read_json(run.resume_file, _decoder.decode)
    except OSError:
        return None


def _share(source: Path, target: Path) -> None:
    """Weights are never written again, so that both runs can share them, where the file system can."""
    with opened(source):  # a file, and no link
        with suppress(OSError):
            os.link(source, target, follow_symlinks=False)
            return
        _copy(source, target)


def _copy(source: Path, target: Path) -> None:
    descriptor = open_regular(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    with opened(source) as old, os.fdopen(descriptor, "wb") as new:
        shutil.copyfileobj(old, new)
