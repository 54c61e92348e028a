"""Placed steps.

Everything is where the plan says, by what TensorFlow executed, and trains what one device would.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
import numpy as np
import pytest
from parity_jobs import WHOLE
from placed_jobs import ONE_BY_ONE, Job, answers, spread

from gpu_studio.contract.events import Placement
from gpu_studio.placement.stage_memory import at_once
from gpu_studio.runs.reading.placements import judged
from gpu_studio.trainer.environment import cores

pytestmark = pytest.mark.slow

IMAGES = "data.options={ shape = [12, 12, 3], samples = 50, classes = 4 }"
TANH = 'model.options={ hidden = [8], activation = "tanh" }'
SGD = (
    "training.optimizer=sgd",
    "training.learning_rate=0.1",
    "training.options={ momentum = 0.9, global_clipnorm = 0.5 }",
)
PLAIN = ("training.optimizer=sgd", "training.learning_rate=0.1")
CLIPPED = ("training.options={ global_clipnorm = 0.5 }",)
MLP = ["dense", "dense_1", "dense_2", "outputs"]
MADE = {
    "branched": ["left", "right", "joined", "after", "skip", "outputs"],
    "shared": ["before", "twice", "sum", "outputs"],
    "nested": ["before", "middle/inner/one", "middle/inner/two", "middle/three", "sum", "outputs"],
    "subclassed": [
        "body/first",
        "body/block/one",
        "body/block/two",
        "body/dropped",
        "body/last",
    ],
    "recurrent": ["rows", "lstm", "both", "outputs"],
    "dropping": ["first", "dropped", "noise", "second", "outputs"],
}
BUILT_IN = {
    "cnn": ["conv", "pool", "flatten", "dense", "outputs"],
    # Enough of its layers to have the rest follow on all four devices.
    "transformer": ["rows", "block1_attention_add", "block1_feed_forward", "norm"],
}
SPLIT = {
    "conv1": ["CPU:0", "CPU:1"],
    "turned1": ["CPU:1", "CPU:2"],
    "conv2": ["CPU:2", "CPU:3", "CPU:0"],
    "conv3": ["CPU:3", "CPU:0"],
    "embedding": ["CPU:1", "CPU:3"],
    "gate": ["CPU:0", "CPU:1", "CPU:2", "CPU:3"],
    "outputs": ["CPU:3", "CPU:2"],
}
LONGER = ("mlp adafactor", "shared", "subclassed", "transformer")
"""Those that only GPU_STUDIO_WHOLE_PARITY=1 places; others have the same kinds of layers."""
OPTIONS = {"cnn": "{}", "transformer": "{ depth = 1 }"}


def built_in(name: str, **more: Any) -> Job:
    model = [f"model.name={name}", f"model.options={OPTIONS[name]}"]
    return {"settings": [*model, IMAGES, *PLAIN], "steps": 1, **more}


PEAKS_COMPARED = ("wide, kept", "wide, recomputed")


def jobs() -> dict[str, Job]:
    """What is trained.

    A placed job is called after the plain one that it is held against, with a sign and a word.
    """
    made: dict[str, Job] = {"mlp": {}}
    for parts in (1, 3):
        made[f"mlp, {parts}"] = {"layers": spread(MLP), "micro_batches": parts}
    # Adafactor's slots and Nadam's product are not where Keras itself puts slots. Adafactor divides
    # zero by zero for units that never fire, with float32's smallest numbers or without them as the
    # processor's kernels have it; with tanh there are none.
    for name in ("adafactor", "nadam"):
        settings = [f"training.optimizer={name}", TANH]
        made[f"mlp {name}"] = stepped = {"settings": settings, "evaluate": False}
        ends = spread(["dense", "outputs"])
        made[f"mlp {name}, 2"] = {"layers": ends, "micro_batches": 2, **stepped}
    for name, paths in MADE.items():
        settings = PLAIN if name in ("recurrent", "subclassed", "dropping") else ()
        plain = {"model": name, "settings": settings}
        made[name] = plain | ({"save": "branched.keras"} if name == "branched" else {})
        parts = 2 if name in ("shared", "nested") else 1
        made[f"{name}, {parts}"] = {**plain, "layers": spread(paths), "micro_batches": parts}
    for (name, paths), parts in zip(BUILT_IN.items(), (2, 1), strict=True):
        made[name] = built_in(name)
        made[f"{name}, {parts}"] = built_in(name, layers=spread(paths), micro_batches=parts)
    made["splittable"] = {"model": "splittable", "settings": CLIPPED}
    made["splittable, 2"] = {**made["splittable"], "layers": SPLIT, "micro_batches": 2}
    if WHOLE:
        made |= more()
    else:
        made = {name: job for name, job in made.items() if not name.startswith(LONGER)}
    # What placed jobs are held against is computed without a graph, in half the time.
    made |= {n: {**job, "eager": True} for n, job in made.items() if "layers" not in job}
    unevaluated = resumed() | recomputed() | held_back() | noted()
    return (
        made
        | {name: {**job, "evaluate": False} for name, job in unevaluated.items()}
        | many_recomputed()
        | refused()
    )


def more() -> dict[str, Job]:
    """Other numbers of micro-batches, whose parts other jobs have: only where all is asked for."""
    made: dict[str, Job] = {
        "mlp, 4": {"layers": spread(MLP), "micro_batches": 4},
        "mlp sgd, 1": {"layers": spread(MLP), "settings": SGD},
    }
    loaded = ['model.file="branched.keras"']
    made["loaded"] = {"settings": loaded}
    made["loaded, 2"] = {"settings": loaded, "layers": spread(MADE["branched"]), "micro_batches": 2}
    for name in ("shared", "nested"):
        made[f"{name}, 1"] = {"model": name, "layers": spread(MADE[name])}
    for parts in (1, 3):
        split = {"layers": SPLIT, "micro_batches": parts, "settings": CLIPPED}
        made[f"splittable, {parts}"] = {"model": "splittable", **split}
    return made


def resumed() -> dict[str, Job]:
    """Two steps plainly, one split and placed, one plainly again."""
    split = {
        "layers": {"dense": ["CPU:0", "CPU:1", "CPU:3"], "dense_2": "CPU:2"},
        "micro_batches": 2,
    }
    return {
        "begun": {"steps": 2},
        "gone on": {"steps": 1, "first": 2, "offset": 26, "after": "begun", **split},
        "back": {"steps": 1, "first": 3, "offset": 39, "after": "gone on"},
    }


def recomputed() -> dict[str, Job]:
    wide = [f"model.options={{ hidden = {[128] * 16} }}", "training.batch_size=4000"]
    wide += [*PLAIN, "data.options={ shape = [12], samples = 5000, classes = 4 }"]
    places = {"dense": "CPU:0", "dense_4": "CPU:1", "dense_8": "CPU:2", "dense_12": "CPU:3"}
    stages = {"layers": places, "steps": 1, "settings": wide}
    placed: dict[str, dict[str, Any]] = {
        name: {"model": name, "layers": spread(MADE[name]), "micro_batches": 2}
        for name in ("dropping", "nested")
    }
    placed["dropping"]["settings"] = PLAIN
    made: dict[str, Job] = {"dropping, 2": placed["dropping"]}
    made |= {f"{name}, recomputed": {**job, "recompute": True} for name, job in placed.items()}
    kept, again = PEAKS_COMPARED
    return made | {kept: stages, again: {**stages, "recompute": True}}


def many_recomputed() -> dict[str, Job]:
    """More micro-batches than are under way at once, and an optimizer of the whole gradient."""
    whole = {"settings": SGD}
    many = {"layers": spread(MLP), "micro_batches": 6, "recompute": True}
    return {"mlp sgd": {**whole, "eager": True}, "mlp sgd, 6": {**whole, **many}}


HEAVY = 3 * 256 * 256 * 4
"""Bytes of all gradients, nearly, of a model that has much of these and little else."""


UNDER_WAY = at_once(1, cores())


def held_back() -> dict[str, Job]:
    settings = [
        f"model.options={{ hidden = {[256] * 4} }}",
        f"training.batch_size={6 * UNDER_WAY}",
        "training.optimizer=sgd",
    ]
    settings.append(f"data.options={{ shape = [12], samples = {20 * UNDER_WAY}, classes = 4 }}")
    heavy = {"layers": {"dense": "CPU:0"}, "settings": settings}
    shape = "data.options={ shape = [12], samples = 9000, classes = 4 }"
    settings = [
        f"model.options={{ hidden = {[64] * 4} }}",
        "training.batch_size=8000",
        "training.optimizer=sgd",
        shape,
    ]
    tall = {"layers": {"dense": "CPU:0"}, "settings": settings}
    cut = {
        f"tall, {name}": {**tall, "micro_batches": parts}
        for name, parts in (("whole", 1), ("many", 4 * UNDER_WAY))
    }
    settings = ["model.name=cnn", "training.batch_size=256"]
    settings.append("data.options={ shape = [28, 28, 1], samples = 300, classes = 4 }")
    images = {"layers": {"conv": "CPU:0", "dense": "CPU:1"}, "settings": settings, "steps": 2}
    cut |= {
        f"images, {name}": {**images, "micro_batches": parts}
        for name, parts in (("whole", 1), ("cut", 4))
    }
    return {"heavy": {**heavy, "micro_batches": 2 * UNDER_WAY}, **cut}


def noted() -> dict[str, Job]:
    norm: dict[str, Job] = {
        f"norm, {parts}": {
            "model": "normalised",
            "layers": {"first": "CPU:1"},
            "micro_batches": parts,
            "steps": 1,
            "keep": "norm/moving",
        }
        for parts in (1, 2)
    }
    return norm | {"tutorial": {"model": "tutorial", "watched": True}}


def refused() -> dict[str, Job]:
    return {
        "unknown layer": {"layers": {"dence_1": "CPU:1"}},
        "unknown device": {"layers": {"dense_1": "CPU:9"}},
        "too few units": {
            "layers": {"outputs": ["CPU:0", "CPU:1", "CPU:2"]},
            "settings": ["data.options={ shape = [12], samples = 50, classes = 2 }"],
        },
        "no units": {
            "layers": {"flatten": ["CPU:0", "CPU:1"]},
            "settings": ["model.name=cnn", IMAGES],
        },
    }


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    asked, folder = jobs(), tmp_path_factory.mktemp("placed")
    # Of two operations under way at once, one may be held up by other programs and hold its tensors
    # meanwhile: then a peak says how busy the machine is. These are compared closely.
    one_by_one = {name: asked.pop(name) for name in PEAKS_COMPARED}
    return answers(asked, folder) | answers(one_by_one, folder, **ONE_BY_ONE)


def event(result: dict[str, Any], kind: str) -> dict[str, Any]:
    (found,) = [each for each in result["events"] if each["event"] == kind]
    return found


def warnings(result: dict[str, Any]) -> list[str]:
    """What was warned of the placement.

    That a split of so few samples lacks a class is another matter.
    """
    told = [each["message"] for each in result["events"] if each["event"] == "warning"]
    return [message for message in told if "has no samples of class" not in message]


PLACED = [name for name, job in jobs().items() if "layers" in job and name not in refused()]


@pytest.mark.parametrize("name", PLACED)
def test_that_every_operation_of_every_layer_was_executed_where_the_plan_says(results, name):
    placement = event(results[name], "placement")
    found = judged(msgspec.convert(placement, Placement))
    assert found.wrong == ()
    assert found.operations == sum(row[3] for row in placement["rows"]) > 0
    assert not [text for text in warnings(results[name]) if "executed on" in text]
    assert {row[1] for row in placement["rows"]} == {"forward", "backward", "update"}


@pytest.mark.parametrize("name", PLACED)
def test_that_what_the_plan_places_is_where_it_says_and_the_rest_is_somewhere(results, name):
    placement = event(results[name], "placement")
    asked = {each["layer"]: each["devices"] for each in placement["asked"]}
    for path, devices in jobs()[name]["layers"].items():
        assert asked[path] == (devices if isinstance(devices, list) else [devices])
    computing = {row[0] for row in placement["rows"]}
    assert {
        path for path in asked if not path.endswith(("flatten", "dropout", "rows"))
    } <= computing | {"bins"}


SPREAD_OVER_ALL = ("mlp, 1", "mlp sgd, 6", "transformer, 1", "nested, 2", "splittable, 2")


@pytest.mark.parametrize("name", [name for name in SPREAD_OVER_ALL if name in PLACED])
def test_that_four_devices_do_forward_backward_and_update(results, name):
    rows = event(results[name], "placement")["rows"]
    for way in ("forward", "backward", "update"):
        assert {row[2] for row in rows if row[1] == way} == {"CPU:0", "CPU:1", "CPU:2", "CPU:3"}


def test_that_the_same_check_fails_for_the_way_of_the_tutorials(results):
    found = warnings(results["tutorial"])
    for number in (1, 2, 3):
        for way in ("forward", "backward"):
            said = (
                f"of the {way} of placed.{number}.0 were executed on "
                f"CPU:0, and not on CPU:{number}."
            )
            assert any(said in each for each in found), (number, way)


# But what draws or normalises in each micro-batch.
AS_ON_ONE = [
    name
    for name in PLACED
    if name.rpartition(", ")[2].isdigit() and "norm" not in name and name != "dropping, 2"
]


@pytest.mark.parametrize("name", AS_ON_ONE)
def test_that_a_placed_model_trains_what_one_device_would(results, name):
    plain = name.rpartition(", ")[0]
    assert results[name]["losses"] == pytest.approx(results[plain]["losses"], rel=1e-5)
    assert ("evaluated" in results[name]) == ("evaluated" in results[plain])
    if "evaluated" in results[name]:
        assert results[name]["evaluated"] == pytest.approx(results[plain]["evaluated"], rel=2e-5)
    assert results[name]["shapes"] == results[plain]["shapes"]


@pytest.mark.parametrize("name", ["splittable, 2", "mlp, 3", "nested, 2"])
def test_that_weights_and_slots_are_on_the_devices_of_their_layers(results, name):
    used = {
        device
        for on in jobs()[name]["layers"].values()
        for device in (on if isinstance(on, list) else [on])
    }
    where = results[name]["where"]
    for sort in ("momentum", "velocity", "kernel"):
        assert {device for path, device in where if sort in path} == used


def test_that_a_split_layer_holds_each_part_on_its_own_device(results):
    parts = {
        path: device
        for path, device in results["splittable, 2"]["where"]
        if path.startswith("gate_part")
    }
    assert {path: device for path, device in parts.items() if path.endswith("kernel")} == {
        f"gate_part{number}/kernel": f"CPU:{number}" for number in range(4)
    }


def test_that_the_bytes_that_cross_are_those_of_the_batch(results):
    for parts in (1, 3):
        crossings = event(results[f"mlp, {parts}"], "placement")["crossings"]
        edges = {(each["source"], each["target"]): each for each in crossings if each["source"]}
        hidden = 13 * 8 * 4
        assert {edge: each["bytes"] for edge, each in edges.items()} == {
            ("dense", "dense_1"): hidden,
            ("dense_1", "dense_2"): hidden,
            ("dense_2", "outputs"): hidden,
            ("outputs", "dense_2"): hidden,
            ("dense_2", "dense_1"): hidden,
            ("dense_1", "dense"): hidden,
        }
        assert {each["tensors"] for each in edges.values()} == {parts}


def test_that_nothing_crosses_besides_activations_gradients_labels_and_a_few_scalars(results):
    """Step counter and learning rate go to each device once a step, not once a variable."""
    crossings = event(results["mlp, 1"], "placement")["crossings"]
    others = [each for each in crossings if not each["source"] and each["from_device"] == "CPU:0"]
    assert {
        each["to_device"]: each["tensors"] for each in others if each["to_device"] != "CPU:3"
    } == {
        "CPU:1": 2,
        "CPU:2": 2,
    }


def test_that_a_checkpoint_goes_on_split_and_placed_and_back_as_if_nothing_had_been(results):
    losses = [loss for name in ("begun", "gone on", "back") for loss in results[name]["losses"]]
    assert losses == pytest.approx(results["mlp"]["losses"], rel=1e-5)


@pytest.mark.parametrize("name", ["dropping", "nested"])
def test_that_recomputing_draws_the_same_random_numbers_and_trains_the_same(results, name):
    assert results[f"{name}, recomputed"]["losses"] == pytest.approx(
        results[f"{name}, 2"]["losses"], rel=1e-6
    )


def test_that_recomputing_runs_the_forward_pass_again_and_needs_less_memory(results):
    def backward(name: str) -> int:
        return sum(
            row[3] for row in event(results[name], "placement")["rows"] if row[1] == "backward"
        )

    kept, recomputed = PEAKS_COMPARED
    assert backward(recomputed) > 1.3 * backward(kept)
    assert results[recomputed]["peak"] < 0.7 * results[kept]["peak"]


def test_that_dropout_differs_between_micro_batches_and_is_the_same_in_every_run(results):
    assert results["dropping, 2"]["losses"] != pytest.approx(
        results["dropping, 1"]["losses"], rel=1e-3
    )


def test_that_moving_statistics_are_those_of_the_whole_batch_and_that_it_is_said(results):
    whole, parts = results["norm, 1"]["kept"], results["norm, 2"]["kept"]
    assert sorted(key.rpartition("/")[2] for key in whole) == ["moving_mean", "moving_variance"]
    for key, values in whole.items():
        np.testing.assert_allclose(parts[key], values, rtol=1e-5)
    assert warnings(results["norm, 1"]) == []
    (said,) = warnings(results["norm, 2"])
    assert "normalises each micro-batch of about 6.5 samples by itself" in said


REFUSALS = {
    "unknown layer": (
        "The plan places the layer dence_1, which the model does not have.",
        "dense_1",
    ),
    "unknown device": (
        "The plan places the layer dense_1 on CPU:9, which TensorFlow does not see.",
        "CPU:0, CPU:1",
    ),
    "too few units": (
        "it has 2 units, fewer than the 3 devices.",
        'distribution.placed.layers.outputs = "CPU:0"',
    ),
    "no units": (
        "a Flatten cannot be split: only Dense, Embedding and convolutions",
        "Give it one device",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_that_what_cannot_be_placed_is_refused_with_what_to_do(results, name):
    said, advice = REFUSALS[name]
    assert said in results[name]["error"]
    assert advice in json.dumps(results[name]["suggestions"]).replace('\\"', '"')


def test_that_no_more_gradients_are_there_than_backward_passes_are_under_way_and_their_sum(results):
    # Those under way, their sum, and the new sum, which is made before the old one goes.
    assert 3 * HEAVY < results["heavy"]["peak"] < (2 + UNDER_WAY) * HEAVY


def test_that_many_micro_batches_are_never_all_kept_at_once(results):
    many, whole = results["tall, many"], results["tall, whole"]
    assert many["peak"] < 0.4 * whole["peak"]
    assert many["losses"] == pytest.approx(whole["losses"], rel=1e-5)


def test_that_a_step_in_micro_batches_needs_no_more_memory_than_in_one_piece(results):
    assert results["images, cut"]["peak"] <= results["images, whole"]["peak"]
