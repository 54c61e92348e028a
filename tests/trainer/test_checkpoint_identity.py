"""How a resumed run recognises that its data are not the checkpoint's, and what it then says."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpu_studio.contract.events import Event, Log, Warned
from gpu_studio.plan import Data, Plan, Training
from gpu_studio.trainer.data import load_data
from gpu_studio.trainer.data.fingerprints import fingerprint
from gpu_studio.trainer.data.values import Split

pytestmark = pytest.mark.slow

SAMPLES = 60
ARRAYS = {
    "x": np.random.default_rng(1).normal(size=(SAMPLES, 2)).astype(np.float32),
    "y": np.arange(SAMPLES) % 3,
    "ward": np.arange(SAMPLES) % 6,
    "patient": np.arange(SAMPLES) // 10,
}
OWN = {"x_val": np.ones((6, 2), np.float32), "y_val": np.arange(6) % 3}
LEAKS = "Samples that validate or test now may have been trained on before."


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.npz"
    np.savez(path, **ARRAYS)
    return path


def session_of(file: Path, seed: int = 0, **data: Any) -> Any:
    """As much of a session as its identity is made of."""
    plan = Plan(data=Data(file=str(file), **data), training=Training(seed=seed))
    dataset = load_data(plan.data, seed, Path())
    return SimpleNamespace(
        plan=plan, dataset=dataset, cut=SimpleNamespace(samples=len(dataset.train))
    )


def written_by(session: Any, samples: int = 16) -> dict[str, Any]:
    """The state of a checkpoint of the third epoch, after so many samples of it."""
    from gpu_studio.trainer.session import Session

    session.identity = lambda: Session.identity(session)
    progress = {"epoch": 2, "step": 9, "step_in_epoch": 1, "samples": samples, "waited": 0}
    return {**progress, **session.identity()}


def resumed(state: dict[str, Any], session: Any) -> tuple[int, Event]:
    """How many samples of the epoch count as trained, and what is said."""
    from gpu_studio.trainer.training import progress_in

    written_by(session)
    progress, said = progress_in(state, session)
    return progress.samples, said


GROUPED = {"split": "grouped", "groups": "ward"}


@pytest.mark.parametrize(
    ("before", "now", "reason"),
    [
        (GROUPED, {"split": "grouped", "groups": "patient"}, "(data.groups)"),
        ({}, {"split": "stratified"}, "(data.split)"),
        ({"split": "ordered"}, {}, "(data.split)"),
        ({}, {"seed": 7}, "(training.seed)"),
        (
            {"split": "stratified"},
            {"split": "stratified", "validation_fraction": 0.3},
            "(their number)",
        ),
    ],
)
def test_that_another_split_is_noticed(file: Path, before: Any, now: Any, reason: str) -> None:
    samples, said = resumed(written_by(session_of(file, **before)), session_of(file, **now))
    assert isinstance(said, Warned)
    assert (
        said.message == f"Other data than the checkpoint's {reason}. Epoch 3 starts anew. {LEAKS}"
    )
    assert samples == 0


def test_that_another_split_is_noticed_between_two_epochs_too(file: Path) -> None:
    _, said = resumed(
        written_by(session_of(file, **GROUPED), 0),
        session_of(file, split="grouped", groups="patient"),
    )
    assert isinstance(said, Warned)
    assert said.message == f"Other data than the checkpoint's (data.groups). {LEAKS}"


@pytest.mark.parametrize("name", ["x", "y", "ward"])
def test_that_another_file_of_the_same_name_is_noticed(file: Path, name: str) -> None:
    state = written_by(session_of(file, **GROUPED))
    np.savez(file, **{**ARRAYS, name: ARRAYS[name][::-1]})
    samples, said = resumed(state, session_of(file, **GROUPED))
    assert isinstance(said, Warned)
    assert said.message.startswith(
        "Other data than the checkpoint's (the samples themselves). Epoch 3 starts anew."
    )
    assert samples == 0


def test_that_other_validation_samples_are_noticed_and_training_goes_on(file: Path) -> None:
    np.savez(file, **ARRAYS, **OWN)
    state = written_by(session_of(file))
    np.savez(file, **ARRAYS, **{**OWN, "x_val": 2 * OWN["x_val"]})
    samples, said = resumed(state, session_of(file))
    assert isinstance(said, Warned)
    assert said.message.startswith("Other validation samples than the checkpoint's")
    assert samples == 16


def test_that_the_same_samples_go_on_in_mid_epoch_whatever_their_file_is_called(file: Path) -> None:
    state = written_by(session_of(file, **GROUPED))
    samples, said = resumed(state, session_of(file.rename(file.with_name("other.npz")), **GROUPED))
    assert (samples, type(said)) == (16, Log)


def test_that_another_order_of_the_same_samples_starts_the_epoch_anew(file: Path) -> None:
    state = written_by(session_of(file, split="ordered"))
    samples, said = resumed(state, session_of(file, seed=7, split="ordered"))
    assert isinstance(said, Warned)
    assert said.message == (
        "The samples come in another order than the checkpoint's "
        "(training.seed). Epoch 3 starts anew."
    )
    assert samples == 0


@pytest.mark.parametrize(
    ("now", "unknown", "same"),
    [
        ({}, ["split", "groups"], True),
        ({"split": "stratified"}, ["split", "groups"], False),
        (GROUPED, ["groups"], True),
    ],
    ids=["before splits", "before splits, another now", "before groups were written"],
)
def test_that_an_older_checkpoint_is_not_told_to_have_other_data(
    file: Path, now: Any, unknown: Any, same: bool
) -> None:
    before = {} if "split" in unknown else now
    state = written_by(session_of(file, **before))
    for name in (*unknown, "training_samples", "validation_samples", "test_samples"):
        del state[name]
    samples, said = resumed(state, session_of(file, **now))
    assert (samples, type(said)) == ((16, Log) if same else (0, Warned))


def test_that_of_large_samples_some_are_looked_at_and_all_targets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gpu_studio.trainer.data.fingerprints.LOOKED_AT_BYTES", 1 << 10)
    x, y = np.zeros((5000, 4), np.uint8), np.zeros(5000, np.uint8)
    known = [fingerprint(Split(x, y)), fingerprint(Split(x, y, np.arange(1, 5000)))]
    y[1234] = 1
    known.append(fingerprint(Split(x, y)))
    x[::10] = 1
    known.append(fingerprint(Split(x, y)))
    assert len(set(known)) == 4


def test_that_samples_are_looked_at_a_piece_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = np.arange(1 << 17, dtype=np.float32).reshape(2048, 64), np.arange(2048)
    whole = fingerprint(Split(x, y))
    monkeypatch.setattr("gpu_studio.trainer.data.fingerprints._AT_ONCE", 1 << 14)
    tracemalloc.start()
    assert fingerprint(Split(x, y)) == whole
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < x.nbytes / 2
