"""Every strategy on real carved cards: over slices of one, over two, on the second alone.

TensorFlow's own allocators limit the memory of each slice. What is trained is what the CPU trains
without a strategy. GPU_STUDIO_WHOLE_PARITY=1 tests all plans.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fake_cards import CONTEXT_MIB, RESERVED_MIB, cards_in
from parity_jobs import WHOLE
from training_runs import Finished, small_plan, trained
from written_code import Written

from gpu_studio.common.figures import MIB
from gpu_studio.common.practice import identity
from gpu_studio.contract import events
from gpu_studio.plan import Carve, Placed, Plan

pytestmark = pytest.mark.slow

SLICE_MIB = 300
CARD_MIB, KEPT_MIB = 4096, 1800
FOUR_SLICES = (Carve("GPU:0", (SLICE_MIB,) * 4),)
LAYERS = ("dense", "outputs")
RELATIVE, ABSOLUTE = 1e-5, 1e-5
MIRRORED, CENTRAL = "distribution.strategy=mirrored", "distribution.strategy=central_storage"
ONE = "distribution.strategy=one_device"
WORKERS = ("distribution.strategy=multi_worker", "cluster.trusted_network=true")
TWICE_TWO_SLICES = tuple(Carve(card, (SLICE_MIB, SLICE_MIB)) for card in ("GPU:0", "GPU:1"))


def _plan(*settings: str, carve: tuple[Carve, ...] = (), visible: tuple[str, ...] = ()) -> Plan:
    judged_once = ("data.validation_fraction=0", "training.metrics=[]")
    plan = small_plan("distribution.strategy=none", *judged_once, *settings)
    return replace(plan, devices=replace(plan.devices, carve=carve, visible=visible))


def _placed(*names: str, carve: tuple[Carve, ...] = (), visible: tuple[str, ...] = ()) -> Plan:
    plan = _plan("distribution.strategy=placed", carve=carve, visible=visible)
    layers = {layer: (names[place % len(names)],) for place, layer in enumerate(LAYERS)}
    return replace(plan, distribution=replace(plan.distribution, placed=Placed(2, layers)))


PLANS = {
    "none on a whole card": _plan(),
    "one_device on a whole card": _plan(ONE, 'distribution.devices=["GPU:0"]'),
    "mirrored on a whole card": _plan(MIRRORED, 'distribution.devices=["GPU:0"]'),
    "placed on a whole card and the CPU": _placed("GPU:0", "CPU:0"),
    "none on the first of four slices": _plan(carve=FOUR_SLICES),
    "one_device on the third of four slices": _plan(
        ONE, 'distribution.devices=["GPU:2"]', carve=FOUR_SLICES
    ),
    "mirrored over four slices": _plan(
        MIRRORED, 'distribution.devices=["GPU:0", "GPU:1", "GPU:2", "GPU:3"]', carve=FOUR_SLICES
    ),
    "mirrored over four slices in a ring": _plan(
        MIRRORED,
        'distribution.devices=["GPU:0", "GPU:1", "GPU:2", "GPU:3"]',
        "distribution.all_reduce=ring",
        carve=FOUR_SLICES,
    ),
    "central_storage over four slices": _plan(
        CENTRAL, 'distribution.devices=["GPU:0", "GPU:1", "GPU:2", "GPU:3"]', carve=FOUR_SLICES
    ),
    "placed over three of four slices": _placed("GPU:3", "GPU:1", "GPU:2", carve=FOUR_SLICES),
    "one_device on the second card": _plan(ONE, 'distribution.devices=["GPU:1"]'),
    "mirrored over two cards": _plan(MIRRORED),
    "central_storage over two cards": _plan(CENTRAL),
    "placed over two cards": _placed("GPU:1", "GPU:0"),
    "none on the second card only": _plan(visible=("GPU:1",)),
    "one_device on the second card only": _plan(
        ONE, 'distribution.devices=["GPU:0"]', visible=("GPU:1",)
    ),
    "mirrored over slices of the second card only": _plan(
        MIRRORED, visible=("GPU:1",), carve=(Carve("GPU:1", (SLICE_MIB, SLICE_MIB)),)
    ),
    "placed over slices of the second card only": _placed(
        "GPU:1", "GPU:0", visible=("GPU:1",), carve=(Carve("GPU:1", (SLICE_MIB, SLICE_MIB)),)
    ),
    "two workers on a card each": _plan(*WORKERS),
    "two workers over two slices of a card each": _plan(*WORKERS, carve=TWICE_TWO_SLICES),
}
LEFT_OUT = {
    *("one_device on a whole card", "mirrored on a whole card"),
    *("none on the first of four slices", "one_device on the second card only"),
    *("central_storage over two cards", "one_device on the second card"),
    *("two workers on a card each", "two workers over two slices of a card each"),
    *("mirrored over four slices in a ring", "placed over two cards"),
    *("placed on a whole card and the CPU", "mirrored over slices of the second card only"),
    "placed over slices of the second card only",
}
"""Whose card, slices or strategy another plan has as well, or that take several processes."""
TRAINED = [plan for plan in PLANS if WHOLE or plan not in LEFT_OUT]


@pytest.fixture(scope="module")
def runs_of(
    cards_library: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Finished]]:
    """One run of each plan, two at a time, and under "cpu" what the CPU trains."""
    folder = tmp_path_factory.mktemp("cards")
    with ThreadPoolExecutor(2) as pool:
        reference = pool.submit(trained, _plan(visible=("CPU:0",)), folder)
        reference.result()
        with cards_in(cards_library, folder):
            runs = pool.map(lambda plan: trained(PLANS[plan], folder), TRAINED)
            yield {"cpu": reference.result(), **dict(zip(TRAINED, runs, strict=True))}


@pytest.mark.parametrize("plan", TRAINED)
def test_that_a_strategy_on_cards_trains_what_the_cpu_trains(
    runs_of: dict[str, Finished], plan: str
) -> None:
    reference, run = runs_of["cpu"], runs_of[plan]
    assert run.code == 0, run.log
    assert run.losses == pytest.approx(reference.losses, rel=RELATIVE)
    assert run.one(events.Finished).metrics == pytest.approx(
        reference.one(events.Finished).metrics, rel=RELATIVE
    )
    for name, weights in reference.weights().items():
        np.testing.assert_allclose(run.weights()[name], weights, rtol=0, atol=ABSOLUTE)


def test_that_slices_report_the_memory_of_their_own_allocators(
    runs_of: dict[str, Finished],
) -> None:
    told = {name: run.one(events.Devices) for name, run in runs_of.items()}
    over = "mirrored over four slices"
    assert [device.limit_mib for device in told[over].logical[:4]] == [SLICE_MIB] * 4
    rows = {row.device: row for row in runs_of[over].of(events.Memory)[-1].devices}
    for name in ("GPU:0", "GPU:1", "GPU:2", "GPU:3"):
        assert 0 < rows[name].current <= rows[name].peak <= SLICE_MIB * MIB
        told_of = [
            row
            for each in runs_of[over].of(events.Memory)
            for row in each.devices
            if row.device == name
        ]
        assert max(row.used for row in told_of) == rows[name].peak
        assert all((row.least or 0) <= row.current <= row.used <= row.peak for row in told_of)
        weights = runs_of[over].one(events.Model).parameters * 4
        # Weights, and the optimizer's two slots of each, stay between steps.
        assert all((row.least or 0) >= 3 * weights for row in told_of)
    second = told["none on the second card only"].logical[0]
    first = told["none on a whole card"].logical[0]
    assert (first.uuid, second.uuid) == (identity(0)[0], identity(1)[0])


def test_that_the_limit_of_a_card_without_slices_is_what_tensorflow_takes_of_it(
    runs_of: dict[str, Finished],
) -> None:
    rows = runs_of["mirrored over two cards"].of(events.Memory)[-1].devices
    most = CARD_MIB - RESERVED_MIB - CONTEXT_MIB - KEPT_MIB
    for row in rows[:2]:
        assert row.limit is not None
        assert 0 < row.limit <= most * MIB


def test_that_a_placed_model_runs_where_it_was_put(runs_of: dict[str, Finished]) -> None:
    proof = runs_of["placed over three of four slices"].one(events.Placement)
    ran = {(layer, device) for layer, _, device, _ in proof.rows}
    assert {("dense", "GPU:3"), ("outputs", "GPU:1")} <= ran
    assert not {("dense", "GPU:1"), ("dense", "GPU:0"), ("outputs", "GPU:3")} & ran


RECURRENT = """
import keras
def model(input_shape, outputs):
    rows = keras.layers.Reshape(input_shape[:2])
    last = keras.layers.Dense(outputs)
    layers = [rows, keras.layers.LSTM(4, return_sequences=True), keras.layers.GRU(4), last]
    return keras.Sequential([keras.Input(input_shape), *layers])
"""


@pytest.mark.whole(__file__)
def test_that_recurrent_layers_which_take_cudnn_on_a_card_train_without_it(
    cards_library: tuple[Path, Path], tmp_path: Path, written: Written
) -> None:
    code = written(RECURRENT)
    settings = (f'model.python="{code}:model"', "training.epochs=1")
    reference = trained(_plan(*settings, visible=("CPU:0",)), tmp_path)
    with cards_in(cards_library, tmp_path):
        run = trained(_plan(*settings, carve=FOUR_SLICES), tmp_path)
    assert run.code == reference.code == 0, run.log
    assert run.losses == pytest.approx(reference.losses, rel=RELATIVE)
