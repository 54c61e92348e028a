"""Out of memory on real slices: told of the slice that lacked it, and mended by what is offered."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from training_runs import trained

from gpu_studio.common.figures import MIB
from gpu_studio.contract.events import Failed, Finished, Memory
from gpu_studio.contract.failure_texts import layer_of, refusal_in
from gpu_studio.plan import loads, with_value

if TYPE_CHECKING:
    from fake_cards import Make

pytestmark = pytest.mark.slow

LAYERS = ("dense", "dense_1", "dense_2", "outputs")
PLAN = """
version = 1
name = "too large for one slice"
[[devices.carve]]
device = "GPU:0"
slices_mib = [80, 80, 8, 80]
[model]
name = "mlp"
options = { hidden = [512, 512, 512] }
[data]
name = "synthetic"
options = { shape = [64], samples = 128, classes = 4 }
[training]
epochs = 1
batch_size = 64
[distribution]
strategy = "mirrored"
devices = ["GPU:0", "GPU:2"]
"""


@pytest.mark.whole("tests/trainer/test_failing.py")
def test_that_a_slice_without_room_is_named_and_what_is_offered_first_trains(
    fake_cards: Make, tmp_path: Path
) -> None:
    fake_cards(count=1, memory_mib=2048)
    plan = loads(PLAN)
    run = trained(plan, tmp_path)
    failed = run.one(Failed)
    refusal = refusal_in(run.log)
    assert refusal
    assert (failed.kind, failed.device) == ("out_of_memory", refusal.device)
    assert failed.device == "GPU:2"
    # Which operation of a step lacks room first hangs on the order of threads.
    if failed.layer is None:
        assert layer_of(refusal.operation, set(LAYERS)) is None, refusal
        if layer_of(refusal.operation, {"adam"}):
            assert ", in the optimizer's update of the weights: " in failed.message
    else:
        assert failed.layer in LAYERS
    assert "of its 8 MiB were in use there" in failed.message
    last = {row.device: row for row in run.of(Memory)[-1].devices}["GPU:2"]
    assert last.limit == 8 * MIB
    assert last.peak > 6 * MIB
    said = " ".join(failed.suggestions)
    assert "nvidia-smi" not in said
    assert "training.batch_size" not in said
    first = failed.mends[0]
    assert first.text.startswith("Give GPU:2 ")
    mended = with_value(plan, first.field, first.value)
    assert trained(mended, tmp_path).one(Finished).reason == "completed"
