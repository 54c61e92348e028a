"""The largest batch on slices with a real limit: a run of it trains, and the next size up fails."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from training_runs import trained

from gpu_studio import hardware
from gpu_studio.contract.events import Failed, Finished
from gpu_studio.plan import AbsolutePlan, Carve, Plan, loads
from gpu_studio.runs.batch_search import KEPT_BACK, ProofAsking, largest_batches
from gpu_studio.trainer.answers import proving
from gpu_studio.trainer.answers.proving import only_steps
from gpu_studio.trainer.errors import TrainerError
from gpu_studio.trainer.failures import out_of_memory

if TYPE_CHECKING:
    from fake_cards import Make

PLAN = """
version = 1
name = "as many as fit"
[[devices.carve]]
device = "GPU:0"
slices_mib = [23, 23]
[model]
name = "transformer"
options = { width = 64, depth = 1, feed_forward = 256 }
[data]
name = "synthetic"
options = { shape = [28, 28, 1], samples = 600, classes = 4 }
[training]
epochs = 2
batch_size = 32
callbacks = [{ name = "csv_logger" }]
schedule = { name = "cosine", options = { warmup_epochs = 40 } }
[training.early_stopping]
[[training.phases]]
after = 1
learning_rate = 0.0001
"""


def with_batch(plan: Plan, batch: int) -> Plan:
    return replace(plan, training=replace(plan.training, batch_size=batch))


@pytest.mark.whole("tests/runs/test_batch_search.py")
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("warm_asker")
def test_that_a_run_of_the_largest_batch_trains_and_the_next_size_has_no_memory_in_seven_eighths(
    fake_cards: Make, tmp_path: Path
) -> None:
    fake_cards(count=1, memory_mib=2048)
    plan = replace(loads(PLAN), training=only_steps(loads(PLAN)).training)
    said: list[str] = []
    (found,) = largest_batches(
        AbsolutePlan(plan), tmp_path, hardware.inventory(), ProofAsking(said.append)
    )
    assert (found.devices, found.like) == (("GPU:0",), ("GPU:1",)), said
    assert found.why_not == "it found no memory when it was tried, with an eighth kept back"
    assert found.limit == 23 << 20
    assert 0 < found.held <= found.limit * (1 - 1 / KEPT_BACK)
    assert found.batch < found.above <= found.batch * 1.25
    plan = replace(plan, training=replace(plan.training, epochs=2))
    assert trained(with_batch(plan, found.batch), tmp_path / "fits").of(Finished)
    # Whatever the order of operations: 20.1 MiB are left, 64 samples need 18.6 at most, in pieces,
    # and 80 have 21.8 in use at one time at least.
    without = (Carve("GPU:0", (int(23 * (1 - 1 / KEPT_BACK)),)),)
    less = replace(plan, devices=replace(plan.devices, carve=without))
    failed = trained(with_batch(less, found.above), tmp_path / "not").one(Failed)
    assert failed.kind == "out_of_memory"


def test_that_what_a_run_does_beside_its_steps_is_left_out() -> None:
    steps = only_steps(loads(PLAN)).training
    assert (steps.callbacks, steps.early_stopping) == ((), None)
    assert steps.schedule is None, "its warm-up may be longer than the steps that are tried"
    assert (steps.checkpoint.every_epochs, steps.checkpoint.every_steps) == (0, 0)


TRIED = (
    "No algorithm worked!  Error messages:\n  Profiling failure on CUDNN engine eng0{}: "
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 16.00MiB."
)
START = "cudaSetDevice() on GPU:0 failed. Status: out of memory"


@pytest.fixture
def proof_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], Any]:
    """What a proof says whose first step TensorFlow ends with these words."""

    def failing(words: str) -> Any:
        def ends(*_given: Any) -> Any:
            raise RuntimeError(words)

        quiet = SimpleNamespace(get_logger=lambda: SimpleNamespace(setLevel=lambda _level: None))
        monkeypatch.setitem(sys.modules, "tensorflow", quiet)
        monkeypatch.setattr(proving, "settle", lambda _plan: None)
        monkeypatch.setattr(proving, "_trained", ends)
        about = {"plan": PLAN, "base": str(tmp_path), "host": False, "kept": 0}
        return proving.proof(about, lambda _words: None)

    return failing


def test_that_trials_of_cudnn_without_room_are_a_batch_that_does_not_fit(
    proof_of: Callable[[str], Any],
) -> None:
    answer, _lasts = proof_of(TRIED)
    assert answer["runs"] is False
    assert "in which cuDNN tries its algorithms" in answer["why"]


def test_that_a_batch_that_does_not_fit_is_told_without_a_look_for_other_plans(
    proof_of: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[Any] = []
    monkeypatch.setattr(out_of_memory, "_outlook", lambda *given: looked.append(given))
    answer, _lasts = proof_of(TRIED)
    assert answer["runs"] is False
    assert not looked


def test_that_a_card_held_by_others_ends_a_proof_with_what_to_do_for_no_batch_would_fit(
    proof_of: Callable[[str], Any],
) -> None:
    with pytest.raises(TrainerError, match="CUDA found none to start with") as refused:
        proof_of(START)
    assert any("devices.visible" in each for each in refused.value.suggestions)
