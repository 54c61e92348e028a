"""The question about a plan's model.

Its layers and what a step holds, read from the real Keras model.
"""

from __future__ import annotations

from pathlib import Path

import model_answers
import pytest
from model_answers import CLASSES, IMAGES, ROWS, TOKENS, answers

from gpu_studio.contract.consent import allow_file
from gpu_studio.plan import ModelSettings, Named, Plan, Training
from gpu_studio.plan.values import OutputTraining

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_asker")]

STRUCTURES = {
    **ROWS,
    "inputs": [
        {"path": ["a"], "shape": [1], "dtype": "float32"},
        {"path": ["b"], "shape": [6], "dtype": "float32"},
    ],
    "targets": [
        {"path": ["kind"], "shape": [], "dtype": "int32", "ids": 4, "one_hot": False},
        {"path": ["size"], "shape": [1], "dtype": "float32", "ids": None, "one_hot": False},
    ],
    "weights": [],
}

VALUES = {
    **ROWS,
    "task": "values",
    "classes": None,
    "y_dtype": "float32",
    "inputs": [{"path": [], "shape": ROWS["x_shape"], "dtype": "float32"}],
}
TWO_LAYERS = ModelSettings(name="mlp", options={"hidden": [16]})


def plan(model: ModelSettings = TWO_LAYERS, **training) -> Plan:
    return Plan(model=model, training=Training(**training))


ASKED = {
    "adam": (plan(), ROWS),
    "sgd": (plan(optimizer="sgd"), ROWS),
    "momentum": (plan(optimizer="sgd", options={"momentum": 0.9}), ROWS),
    "adafactor": (plan(optimizer="adafactor"), ROWS),
    "averaged": (plan(options={"use_ema": True, "ema_overwrite_frequency": 10}), ROWS),
    "mixed": (plan(mixed_precision=True), ROWS),
    "dropout": (plan(ModelSettings(name="mlp", options={"hidden": [16], "dropout": 0.5})), ROWS),
    "cnn": (plan(ModelSettings(name="cnn")), IMAGES),
    "residual": (plan(ModelSettings(file="residual.keras")), IMAGES),
    "transformer": (plan(ModelSettings(name="transformer", options={"depth": 1})), TOKENS),
    "nested": (plan(ModelSettings(file="nested.keras")), ROWS),
    "scaled again": (
        plan(ModelSettings(file="scaling.keras")),
        {**ROWS, "lowest": 0.0, "highest": 1.0},
    ),
    "scaled once": (
        plan(ModelSettings(file="scaling.keras")),
        {**ROWS, "lowest": 0.0, "highest": 255.0},
    ),
    "far": (plan(), {**VALUES, "targets": [{"path": [], "shape": [], "between": [1e5, 5e5]}]}),
    "missing targets": (plan(), {**VALUES, "targets": [{"path": [], "shape": [], "missing": 17}]}),
    "misfit": (plan(ModelSettings(file="nested.keras")), IMAGES),
    "no images": (plan(ModelSettings(name="cnn")), ROWS),
    "python": (plan(ModelSettings(python="models.py:build")), ROWS),
    "structures": (
        plan(
            ModelSettings(python="parity_structures.py:dicts_model"),
            outputs={"size": OutputTraining(loss=Named("mae"), metrics=())},
        ),
        STRUCTURES,
    ),
    "an output without a target": (
        plan(ModelSettings(python="parity_structures.py:dicts_model")),
        {**STRUCTURES, "targets": STRUCTURES["targets"][:1]},
    ),
    "texts": (
        plan(ModelSettings(python="texts.py:build")),
        {**CLASSES, "x_shape": [], "x_dtype": "string"},
    ),
    "loops": (plan(ModelSettings(python="loops.py:build")), ROWS),
    "broken": (plan(ModelSettings(python="broken.py:build")), ROWS),
    "named ä": (plan(ModelSettings(python="named.py:build")), ROWS),
    "too large": (
        plan(ModelSettings(name="mlp", options={"hidden": [3_000_000, 3_000_000]})),
        ROWS,
    ),
    "impossible": (plan(ModelSettings(name="mlp", options={"hidden": [-3]})), ROWS),
    "unknown optimizer": (plan(optimizer="adamm"), ROWS),
    "unknown loss": (plan(loss=Named("mean_square")), ROWS),
}


TEXTS = """
import keras

def build():
    texts = keras.Input((), dtype="string")
    words = keras.layers.TextVectorization(max_tokens=5, output_sequence_length=2)
    words.adapt(["a b"])
    x = keras.layers.Flatten()(keras.layers.Embedding(5, 2)(words(texts)))
    return keras.Model(texts, keras.layers.Dense(3)(x))
"""


LOOPS = """
import keras

def build():
    rows = keras.Input((8,))
    x = keras.layers.Reshape((4, 2))(rows)
    x = keras.layers.LSTM(2, return_sequences=True, name="first")(x)
    return keras.Model(rows, keras.layers.Dense(3)(keras.layers.LSTM(2, name="second")(x)))
"""


NAMED = """
import keras

def build():
    rows = keras.Input((8,))
    return keras.Model(rows, keras.layers.Dense(3, name="wei\\u00dfe_schicht")(rows))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    (folder / "broken.py").write_text(
        "def build():\n    return deeper()\n\ndef deeper():\n    raise ValueError('no')\n"
    )
    (folder / "texts.py").write_text(TEXTS)
    (folder / "loops.py").write_text(LOOPS)
    (folder / "named.py").write_text(NAMED)
    for name in ("broken.py", "texts.py", "loops.py", "named.py"):
        allow_file(folder / name, (folder / name).read_bytes())
    structures = folder / "parity_structures.py"
    structures.write_bytes((Path(model_answers.__file__).parent / structures.name).read_bytes())
    allow_file(structures, structures.read_bytes())
    return answers(folder, ASKED)


def test_that_a_model_of_several_inputs_and_outputs_is_told_by_their_names(told) -> None:
    facts = told["structures"]
    assert not facts.model_error + facts.training_error
    assert facts.learnt is None
    assert {
        name: (each.kind, each.loss, each.metrics) for name, each in facts.learners.items()
    } == {
        "kind": ("classes", "sparse_categorical_crossentropy", ("accuracy",)),
        "size": ("values", "mean_absolute_error", ()),
    }
    ends = (*facts.inputs, *facts.outputs)
    assert [(end.name, end.shape) for end in ends] == [
        ("a", (1,)),
        ("b", (6,)),
        ("kind", (4,)),
        ("size", (1,)),
    ]
    assert facts.graph.input_bytes == 4 * 7
    assert facts.steps["CPU"]
    texts = told["texts"]
    assert not texts.model_error + texts.training_error
    assert [(end.shape, end.dtype) for end in texts.inputs] == [((), "string")]
    without = told["an output without a target"]
    assert "output size has no target" in without.training_error
    assert without.advice
    assert [end.name for end in without.outputs] == ["kind", "size"]


def layers(facts):
    return {layer.name: layer for layer in facts.graph.layers}


def test_that_layers_are_listed_with_class_shape_and_parameters(told) -> None:
    graph = told["adam"].graph
    assert [(layer.name, layer.kind, layer.output_shape) for layer in graph.layers] == [
        ("dense", "Dense", (16,)),
        ("outputs", "Dense", (3,)),
    ]
    assert [layer.parameters for layer in graph.layers] == [8 * 16 + 16, 16 * 3 + 3]
    assert [layer.weight_bytes for layer in graph.layers] == [
        4 * layer.parameters for layer in graph.layers
    ]
    assert (graph.input_shape, graph.output_shape, graph.input_bytes) == ((8,), (3,), 32)


@pytest.mark.parametrize(
    ("name", "times"), [("adam", 2), ("sgd", 0), ("momentum", 1), ("averaged", 3)]
)
def test_that_slots_are_those_of_the_real_optimizer(told, name, times) -> None:
    facts = told[name]
    assert {path: size for path, size in facts.slots.items() if size} == {
        layer.name: times * layer.trainable_bytes for layer in facts.graph.layers if times
    }
    # The step counter in int64 and the learning rate in float32.
    assert facts.shared_slots == 12


def test_that_slots_that_belong_to_no_single_weight_are_counted_all_the_same(told) -> None:
    assert 12 < told["adafactor"].slot_bytes < told["adam"].slot_bytes


def test_that_a_dense_layer_costs_a_multiplication_and_an_addition_for_each_weight(told) -> None:
    dense, outputs = told["adam"].graph.layers
    assert dense.flops_forward == pytest.approx(2 * 8 * 16 + 16 + 16, rel=0.01)
    assert outputs.flops_forward == pytest.approx(2 * 16 * 3 + 3, rel=0.1)
    # The gradient of the kernel and that of the input; the first layer's input has none.
    assert outputs.flops_backward == pytest.approx(2 * 2 * 16 * 3, rel=0.1)
    assert dense.flops_backward == pytest.approx(2 * 8 * 16, rel=0.2)


def test_that_a_convolution_costs_two_for_each_weight_at_each_place(told) -> None:
    conv = layers(told["cnn"])["conv"]
    places = 32 * 10 * 10
    # Nine weights at each place of the output; its bias and its rectifier.
    assert conv.flops_forward == pytest.approx(2 * 9 * places + places + places, rel=0.01)


def test_that_what_the_backward_pass_needs_is_kept_once(told) -> None:
    dense, outputs = told["adam"].graph.layers
    # The rectified output is what both the rectifier's gradient and the next kernel's gradient
    # take.
    assert (dense.kept_bytes, dense.output_bytes) == (16 * 4, 16 * 4)
    assert outputs.kept_bytes == 0


def test_that_half_precision_keeps_half_as_much(told) -> None:
    assert told["mixed"].policy == "mixed_bfloat16"
    # Its output, and its input as it was cast for it.
    assert layers(told["mixed"])["dense"].kept_bytes == 16 * 2 + 8 * 2
    assert layers(told["mixed"])["dense"].weight_bytes == layers(told["adam"])["dense"].weight_bytes


def test_that_random_state_is_counted_beside_the_weights(told) -> None:
    assert told["dropout"].state_bytes > 0
    assert told["adam"].state_bytes == 0


def test_that_branches_join_where_the_model_joins_them(told) -> None:
    found = layers(told["residual"])
    assert set(found["block_add"].inputs) == {"block_b_norm", "first_relu"}
    assert sum(layer.parameters for layer in found.values()) == told["residual"].graph.parameters


def test_that_tokens_are_looked_up_in_a_vocabulary_of_all_of_them(told) -> None:
    embedding = layers(told["transformer"])["embedding"]
    assert (embedding.kind, embedding.parameters) == ("Embedding", 20 * 64)


def test_that_the_gradients_of_rows_that_are_looked_up_grow_with_the_batch(told) -> None:
    found = layers(told["texts"])
    assert found["embedding"].row_bytes == 2 * 2 * 4
    assert sum(each.row_bytes for each in found.values()) == 2 * 2 * 4


def test_that_loops_keep_a_shape_in_each_turn_where_micro_batches_are_of_any_size(told) -> None:
    """As traced in a run on cards: each of them lies in a piece of its own."""
    found = layers(told["loops"])
    turns, piece = 4, 256
    assert found["first"].shape_bytes == turns * piece * (4 + 1)  # the number of the turn, too
    # A gradient goes back through what it takes: the shape and the number of these elements.
    assert found["second"].shape_bytes == turns * piece * (4 + 1 + 2)
    assert not any(each.shape_bytes for each in layers(told["transformer"]).values())


def test_that_a_nested_and_a_shared_layer_are_listed_once(told) -> None:
    found = layers(told["nested"])
    assert list(found) == ["twice", "inner/deep", "last"]
    # Twice called, so twice the work and twice the output.
    assert found["twice"].flops_forward == pytest.approx(2 * (2 * 64 + 8), rel=0.1)
    assert found["twice"].output_bytes == 2 * 8 * 4
    assert found["twice"].parameters == 72


@pytest.mark.parametrize("name", ["adam", "cnn", "residual", "transformer", "nested", "mixed"])
def test_that_a_step_holds_at_least_what_it_keeps(told, name) -> None:
    facts = told[name]
    kept = sum(layer.kept_bytes for layer in facts.graph.layers)
    for kind in ("CPU", "GPU"):
        assert facts.steps[kind].peak(1000) >= 1000 * (kept + facts.graph.input_bytes)
        # The loss keeps the gradient of its logits.
        assert max(moment.kept for moment in facts.steps[kind].moments) <= kept + 3 * 4 + 4


def test_that_every_layer_that_computes_costs_something_both_ways(told) -> None:
    for layer in told["residual"].graph.layers:
        if layer.kind in ("Conv2D", "BatchNormalization", "Dense"):
            assert layer.flops_backward > 0.9 * layer.flops_forward > 0


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("misfit", "takes samples of shape (8,)"),
        ("no images", "cnn needs samples of shape"),
        ("python", "There is no Python file"),
        ("too large", "Out of memory on CPU:0"),
        ("impossible", "Keras cannot build this model"),
    ],
)
def test_that_a_model_that_cannot_be_had_is_a_sentence_with_advice(told, name, words) -> None:
    assert told[name].graph is None
    assert words in told[name].model_error
    assert told[name].advice


def test_that_code_of_the_user_s_own_which_fails_is_told_with_its_own_traceback(told) -> None:
    assert told["broken"].model_error == "broken.py stopped in line 5 with ValueError: no"
    assert "line 2, in build" in told["broken"].details
    assert "line 5, in deeper" in told["broken"].details
    assert "gpu_studio" not in told["broken"].details
    assert told["python"].details == ""
    assert told["too large"].of_the_moment
    assert not told["broken"].of_the_moment
    assert "Traceback" in told["impossible"].details


def test_that_a_name_which_tensorflow_does_not_take_is_told_with_the_letters_that_it_takes(
    told,
) -> None:
    refused = told["named ä"]
    assert "'weiße_schicht' is not a valid scope name" in refused.model_error
    assert "Exception encountered" not in refused.model_error
    assert "names of layers in the letters A to Z" in " ".join(refused.advice)


def test_that_a_model_that_scales_what_is_small_already_is_told(told) -> None:
    [note] = told["scaled again"].notes
    assert note.name == "scaled again"
    assert note.text == "scaling.keras divides its samples by 255, but they are in 0…1 already."
    assert told["scaled once"].notes == ()


def test_that_targets_for_which_a_loss_is_not_made_are_told_before_a_run(told) -> None:
    [note] = told["far"].notes
    assert "go from 100,000 to 500,000" in note.text
    assert note.why.endswith("keras.layers.Rescaling(100000).")
    assert told["adam"].notes == ()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("unknown optimizer", "adamm"),
        ("unknown loss", "mean_square"),
        ("missing targets", "not finite (nan), first in sample 17: the loss mean_squared_error of"),
    ],
)
def test_that_layers_are_told_although_their_training_is_refused(told, name, words) -> None:
    facts = told[name]
    assert words in facts.training_error
    assert [layer.name for layer in facts.graph.layers] == ["dense", "outputs"]
    assert (facts.model_error, facts.steps, facts.slots) == ("", {}, {})
