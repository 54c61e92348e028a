"""The largest batch on slices with a real limit: a run of it trains, and the next size up fails."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from training_runs import trained

from gpu_studio import hardware
from gpu_studio.contract.events import Failed, Finished
from gpu_studio.plan import AbsolutePlan, Plan, loads
from gpu_studio.runs.batch_search import ProofAsking, largest_batches
from gpu_studio.trainer.answers.proving import only_steps

if TYPE_CHECKING:
    from fake_cards import Make

PLAN = """
version = 1
name = "as many as fit"
[[devices.carve]]
device = "GPU:0"
slices_mib = [30, 30]
[model]
name = "cnn"
[data]
name = "synthetic"
options = { shape = [28, 28, 1], samples = 1200, classes = 4 }
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


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("warm_asker")
def test_that_a_run_of_the_largest_batch_trains_and_one_of_the_next_size_has_no_memory(
    fake_cards: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Operations in the same order every time: else a size may fit in one process only.
    for threads in ("TF_NUM_INTEROP_THREADS", "TF_NUM_INTRAOP_THREADS"):
        monkeypatch.setenv(threads, "1")
    fake_cards(count=1, memory_mib=2048)
    plan = replace(loads(PLAN), training=only_steps(loads(PLAN)).training)
    said: list[str] = []
    (found,) = largest_batches(
        AbsolutePlan(plan), tmp_path, hardware.inventory(), ProofAsking(said.append)
    )
    assert (found.devices, found.like) == (("GPU:0",), ("GPU:1",)), said
    assert found.why_not == "it found no memory when it was tried"
    assert 0 < found.held <= found.limit == 30 << 20
    assert found.batch < found.above <= found.batch * 1.25
    plan = replace(plan, training=replace(plan.training, epochs=2))
    assert trained(with_batch(plan, found.batch), tmp_path / "fits").of(Finished)
    # Near the limit a size fits in one process and not in another (measured; why is not known): one
    # that had no memory when it was tried may train in a run, but not in every one.
    larger = with_batch(plan, found.above)
    runs = (trained(larger, tmp_path / f"not-{number}") for number in range(5))
    ends = next(filter(None, (run.of(Failed) for run in runs)), [])
    assert [end.kind for end in ends] == ["out_of_memory"]


def test_that_what_a_run_does_beside_its_steps_is_left_out() -> None:
    steps = only_steps(loads(PLAN)).training
    assert (steps.callbacks, steps.early_stopping) == ((), None)
    assert steps.schedule is None, "its warm-up may be longer than the steps that are tried"
    assert (steps.checkpoint.every_epochs, steps.checkpoint.every_steps) == (0, 0)
