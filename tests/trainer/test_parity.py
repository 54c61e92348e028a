"""Every strategy trains the same model, in real runs.

Losses, metrics and weights are those of one device.

What one device trains is held against Keras' `fit` in test_parity_with_keras.py, with many more
models and optimizers. The batch of 256 does not divide the data, so the last batch is a part, and
the parts of the replicas differ."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from parity_jobs import WHOLE
from training_runs import Finished, small_plan, trained

from gpu_studio.contract import events

pytestmark = pytest.mark.slow

AUTO = "mirrored, auto, batch per replica"
STRATEGIES = {
    "one_device": ["distribution.strategy=one_device", 'distribution.devices=["CPU:2"]'],
    AUTO: [
        "distribution.strategy=mirrored",
        "training.batch_scope=replica",
        "training.batch_size=64",
    ],
    "mirrored, ring": ["distribution.strategy=mirrored", "distribution.all_reduce=ring"],
    "central_storage": ["distribution.strategy=central_storage"],
}
if WHOLE:
    STRATEGIES |= {
        f"mirrored, {name}": ["distribution.strategy=mirrored", f"distribution.all_reduce={name}"]
        for name in ("hierarchical_copy", "reduction_to_one_device")
    }
RELATIVE, ABSOLUTE = 1e-5, 1e-5


@pytest.fixture(scope="module")
def runs_of(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Finished]:
    """One run under each strategy, two at a time."""
    folder = tmp_path_factory.mktemp("parity")
    plans = {name: small_plan(*more) for name, more in {"none": [], **STRATEGIES}.items()}
    with ThreadPoolExecutor(2) as pool:
        return dict(
            zip(plans, pool.map(lambda plan: trained(plan, folder), plans.values()), strict=True)
        )


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_that_a_strategy_trains_the_same_model_as_no_strategy(
    runs_of: dict[str, Finished], strategy: str
) -> None:
    reference, run = runs_of["none"], runs_of[strategy]
    assert run.code == 0, run.log
    assert len(run.epochs) == len(reference.epochs) == 2
    for mine, theirs in zip(run.epochs, reference.epochs, strict=True):
        assert set(mine) == {"loss", "accuracy", "val_loss", "val_accuracy"}
        assert mine == pytest.approx(theirs, rel=RELATIVE)
    assert run.one(events.Finished).metrics == pytest.approx(
        reference.one(events.Finished).metrics, rel=RELATIVE
    )
    for name, weights in reference.weights().items():
        np.testing.assert_allclose(run.weights()[name], weights, rtol=0, atol=ABSOLUTE)


def test_that_the_losses_of_every_step_are_the_same(runs_of: dict[str, Finished]) -> None:
    reference = runs_of["none"].losses
    for run in runs_of.values():
        assert run.losses == pytest.approx(reference, rel=RELATIVE)


def test_that_the_devices_event_says_where_the_replicas_are(runs_of: dict[str, Finished]) -> None:
    told = {name: run.one(events.Devices) for name, run in runs_of.items()}
    assert told["none"].replicas == ["CPU:0"]
    assert told["one_device"].replicas == ["CPU:2"]
    assert told["mirrored, ring"].replicas == ["CPU:0", "CPU:1", "CPU:2", "CPU:3"]
    assert told["mirrored, ring"].all_reduce == "ring"
    assert told["central_storage"].parameter_device == "CPU:0"
    for name in (AUTO, "mirrored, ring"):
        assert runs_of[name].one(events.Model).replica_batches == [64, 64, 64, 64]


def test_that_the_parts_of_the_mirrored_model_lie_on_their_devices(
    runs_of: dict[str, Finished],
) -> None:
    """A weight that did not move shows up here as memory that is not where the plan says."""
    rows = {row.device: row.current for row in runs_of[AUTO].of(events.Memory)[-1].devices}
    assert rows["CPU:0"] == rows["CPU:1"] == rows["CPU:2"] == rows["CPU:3"] > 0
    alone = {row.device: row.current for row in runs_of["one_device"].of(events.Memory)[-1].devices}
    assert alone["CPU:2"] > 0 == alone["CPU:0"] == alone["CPU:1"] == alone["CPU:3"]


REPLICAS = [name for name in STRATEGIES if name != "one_device"]


@pytest.mark.parametrize("strategy", REPLICAS)
def test_that_the_communication_between_replicas_is_measured_once(
    runs_of: dict[str, Finished], strategy: str
) -> None:
    run = runs_of[strategy]
    step = run.one(events.Communication)
    assert [each.device for each in step.devices] == run.one(events.Devices).replicas
    assert (step.replicas, step.step) == (4, run.of(events.Steps)[2].first_step)
    assert 1 <= step.steps <= len(run.of(events.Steps)[2].losses)
    assert 0 < step.exposed < step.seconds
    for each in step.devices:
        assert each.compute > 0 < each.communication
        assert each.compute + each.exposed + each.idle == pytest.approx(step.seconds)
    # Only a ring's operations show who waits for whom.
    known = {each.waiting is not None for each in step.devices}
    assert known == {run.one(events.Devices).all_reduce == "ring"}


def test_that_one_device_has_no_communication_to_tell_of(runs_of: dict[str, Finished]) -> None:
    assert [runs_of[name].of(events.Communication) for name in ("none", "one_device")] == [[], []]
