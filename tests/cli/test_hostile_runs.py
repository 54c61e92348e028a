"""Every command on folders of runs with planted pipes, devices, links and endless files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import hostile_runs
import pytest
from hostile_runs import about_all, about_one
from made_runs import Script, make_run

from gpu_studio.runs.launch import TRAINER_VARIABLE

SOUND = Script(name="sound", epochs=1, steps=6, trained=1, ending="completed")


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of runs; what is resumed there trains nothing."""
    monkeypatch.setenv(TRAINER_VARIABLE, "true")
    return tmp_path / "runs"


@pytest.mark.slow
def test_that_no_command_hangs_or_stumbles_over_what_somebody_has_put_into_runs(
    gpu_studio: Callable[..., Any], runs: Path, tmp_path: Path
) -> None:
    sound = make_run(runs, SOUND)
    hostile = list(hostile_runs.hostile_runs(runs, 4, seed=1))
    queue = hostile_runs.hostile_queue(runs, seed=1)
    everything = [
        *about_all(tmp_path),
        *(words for run, _ in hostile for words in about_one(run.id, tmp_path)),
    ]
    for words in everything:
        answer = gpu_studio(*_with(runs, words))
        assert answer.code in (0, 1, 2, 3, 4), (words, hostile, queue, answer)
        assert "Traceback" not in answer.err
    listed = {
        each["run"]: each["state"]
        for each in gpu_studio("runs", "--runs-dir", runs, "list", "--json").document
    }
    assert listed[sound.id] == "finished"


def _with(runs: Path, words: list[str]) -> list[str]:
    return [words[0], "--runs-dir", str(runs), *words[1:]]


@pytest.mark.parametrize("kind", ["pipe", "folder", "deep value"])
@pytest.mark.parametrize("file", ["trainer.lock", "events.jsonl", "resume.json", "plan.toml"])
def test_that_one_run_never_hides_another(
    gpu_studio: Callable[..., Any], runs: Path, file: str, kind: str
) -> None:
    sound, odd = make_run(runs, SOUND), make_run(runs, SOUND)
    hostile_runs.put(odd.path / file, kind)
    listed = gpu_studio("runs", "--runs-dir", runs, "list", "--json").document
    assert {each["run"] for each in listed} == {sound.id, odd.id}


def test_that_a_run_that_cannot_be_read_is_listed_with_the_reason(
    gpu_studio: Callable[..., Any], runs: Path
) -> None:
    odd = make_run(runs, SOUND)
    hostile_runs.put(odd.events_file, "pipe")
    answer = gpu_studio("runs", "--runs-dir", runs, "list")
    assert "unreadable" in answer.out
    assert f"{odd.id} cannot be read: events.jsonl: this is no file, but a pipe." in answer.err
    (told,) = gpu_studio("runs", "--runs-dir", runs, "list", "--json").document
    assert (told["state"], told["reason"]) == (
        "unreadable",
        "events.jsonl: this is no file, but a pipe",
    )
