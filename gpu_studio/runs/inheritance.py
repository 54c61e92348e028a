"""What a resumed run goes on from: the note in `resume.json`, and the checkpoint it names."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import msgspec

from gpu_studio.runs.checkpoints import STATE_FILE, SavedCheckpoint
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.files import PRIVATE_DIRECTORY, PRIVATE_FILE, write_private


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
    heir.checkpoints.mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)
    _link_tree(saved.path, heir.checkpoints / saved.name)
    note = ResumedFrom(resume.run.id, saved.name, saved.epoch, saved.step)
    write_private(heir.resume_file, msgspec.json.encode(note) + b"\n")


def resumed_from(run: RunDirectory) -> ResumedFrom | None:
    """Return what `run` goes on from; None if it started afresh, or the note cannot be made out."""
    try:
        return _decoder.decode(run.resume_file.read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def _link_tree(source: Path, target: Path) -> None:
    target.mkdir(mode=PRIVATE_DIRECTORY)
    for entry in source.iterdir():
        if entry.is_dir():
            _link_tree(entry, target / entry.name)
        else:
            _link(entry, target / entry.name)


def _link(source: Path, target: Path) -> None:
    # Weights are never written again, so both runs can share them. The small state file is each run's own.
    if source.name == STATE_FILE or not _hard_linked(source, target):
        shutil.copyfile(source, target)
        target.chmod(PRIVATE_FILE)


def _hard_linked(source: Path, target: Path) -> bool:
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without hard links
        return False
    return True
