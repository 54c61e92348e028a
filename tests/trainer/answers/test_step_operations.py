"""A traced step in the form that memory is rehearsed from: loops, and what kernels need."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE_S

pytestmark = pytest.mark.slow

SAMPLES = 1009


def test_that_gradients_wait_in_the_turns_of_a_loop_on_a_cpu_but_not_on_a_card():
    """One thread launches all operations of a card, in turn."""
    import keras
    import tensorflow as tf

    from gpu_studio.placement.liveness import Size
    from gpu_studio.trainer.answers.graph_tensors import LOOPS
    from gpu_studio.trainer.answers.rewritten_graph import rewritten
    from gpu_studio.trainer.answers.step_operations import Graph, added_up_bytes

    layer = keras.layers.LSTM(6)
    layer.build((None, 7, 5))

    @tf.function(autograph=False)
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(x, training=True))
        return tape.gradient(loss, [weight.value for weight in layer.trainable_variables])

    graph = Graph(step.get_concrete_function(tf.TensorSpec((SAMPLES, 7, 5))).graph, SAMPLES)
    assert graph.rewritten(rewritten) is None  # what turns hold is known as traced only

    def beside(kind):
        return [size for each in graph.as_on(kind) for number, size in each.makes if number < 0]

    gradients = sum(4 * math.prod(weight.shape) for weight in layer.trainable_variables)
    # Of each turn but the oldest, with the four rows of units that they are computed from. What it
    # took from lists is free meanwhile: seven rows of units, and the row of the input, which is a
    # copy of its part of it.
    (waiting,) = (size for size in beside("CPU") if size != Size(0, 0, size.pieces))
    # One gradient more is for a block that is larger than what is asked for.
    assert waiting == Size(7 * gradients, 6 * (4 * 6 - (7 * 6 + 5)) * 4, pieces=7)
    assert beside("GPU") == []
    forward = next(op for op in graph.operations if op.type in LOOPS)
    lists = [size for x in forward.outputs if (size := graph.size(x)).pieces > 1]
    assert sorted(lists) == [Size(0, 7 * 5 * 4, 7), *[Size(0, 7 * 6 * 4, 7)] * 7]

    def in_a_turn(kind):
        return [
            each.scratch
            for op, each in zip(graph.operations, graph.as_on(kind), strict=True)
            if op.type in LOOPS
        ][-1]

    # What a turn hands on takes the place of what it was given, the sums of gradients too: no more
    # is held than seven rows of units.
    assert in_a_turn("CPU") == in_a_turn("GPU") == Size(0, 7 * 6 * 4)

    turns, ahead = (
        [each.scratch for each in operations]
        for operations in (graph.as_on("GPU"), graph.with_turns_ahead())
    )
    # On the way back each turn but the first has zeros for a row of units ahead; on the way there
    # what is ahead is less than what lists hold later.
    more = [b.per_sample - a.per_sample for a, b in zip(turns, ahead, strict=True) if a != b]
    assert more == [6 * 6 * 4]
    assert sum(added_up_bytes(op, SAMPLES) for op in graph.operations) == gradients


def test_that_a_card_without_weights_is_sent_them_for_each_read_and_in_each_turn_of_a_loop():
    """Central storage: traces showed two copies of a table, and forty of a GRU's kernels."""
    import keras
    import tensorflow as tf

    from gpu_studio.placement.liveness import NOTHING, Size
    from gpu_studio.trainer.answers.graph_tensors import LOOPS, READING
    from gpu_studio.trainer.answers.step_operations import Graph

    table, layer = keras.layers.Embedding(30, 5), keras.layers.SimpleRNN(6)
    table.build((None, 7))
    layer.build((None, 7, 5))
    weights = [x.value for x in (*table.trainable_variables, *layer.trainable_variables)]

    @tf.function(autograph=False)
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(table(x) + table(y), training=True))
        read = tf.raw_ops.ReadVariableOp(resource=weights[0].handle, dtype=tf.float32)
        found = [tf.convert_to_tensor(each) for each in tape.gradient(loss, weights)]
        return [*found, tf.raw_ops.Shape(input=read)]

    kinds = [tf.TensorSpec((SAMPLES, 7), tf.int32)] * 2
    graph = Graph(step.get_concrete_function(*kinds).graph, SAMPLES)
    here, sent = graph.with_turns_ahead(), graph.with_weights_sent()

    def made(operations, types):
        some = zip(graph.operations, operations, strict=True)
        return [size for op, each in some if op.type in types for _, size in each.makes]

    # None for who asks for the shape of the table.
    assert made(sent, {READING}).count(Size(30 * 5 * 4)) == 2
    assert made(sent, {READING}).count(NOTHING) == 1
    assert set(made(here, {READING})) == {NOTHING}
    kernels = [Size(7 * 5 * 6 * 4, pieces=7), Size(7 * 6 * 6 * 4, pieces=7)]
    assert sorted({*made(sent, LOOPS)} - {*made(here, LOOPS)}) == kernels
    assert sum(each.reads is not None for each in sent) == 1


def test_that_gradients_of_the_turn_that_runs_are_among_those_that_wait():
    """With a few samples they are more than all else that a turn holds, and were there twice."""
    import keras
    import tensorflow as tf

    from gpu_studio.placement.liveness import Size
    from gpu_studio.trainer.answers.graph_tensors import LOOPS
    from gpu_studio.trainer.answers.step_operations import Graph

    layer = keras.layers.SimpleRNN(64)
    layer.build((None, 7, 5))

    @tf.function(autograph=False)
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(x, training=True))
        return tape.gradient(loss, [weight.value for weight in layer.trainable_variables])

    graph = Graph(step.get_concrete_function(tf.TensorSpec((SAMPLES, 7, 5))).graph, SAMPLES)
    loops = [op.type in LOOPS for op in graph.operations]
    (_, turn) = (each for each, loop in zip(graph.as_on("CPU"), loops, strict=True) if loop)
    (waiting,) = (size for number, size in turn.makes if number < 0)
    gradients = sum(4 * math.prod(weight.shape) for weight in layer.trainable_variables)
    assert turn.scratch.fixed == gradients
    assert waiting == Size(6 * gradients, waiting.per_sample, pieces=6)


def test_that_a_turn_of_a_recurrent_layer_has_its_gradients_before_they_are_added_up():
    """It has them beside the sums on the card that has the layer, as a kernel's scratch memory."""
    import keras
    import tensorflow as tf

    from gpu_studio.trainer.answers.step_trace import StepTrace, costs_of

    layer = keras.layers.SimpleRNN(64)
    layer.build((None, 7, 5))
    weights = [weight.value for weight in layer.trainable_variables]

    @tf.function(autograph=False)
    def step(x):
        with tf.GradientTape() as tape:
            with tf.name_scope("loop"):
                made = layer(x, training=True)
            loss = tf.reduce_sum(made * made)
        return tape.gradient(loss, weights)

    graph = step.get_concrete_function(tf.TensorSpec((SAMPLES, 7, 5))).graph
    made = [op for op in graph.get_operations() if op.name.startswith("loop/")]
    outputs = {"loop": [[made[-1].outputs[0]]]}
    layer_of = {op.name: "loop" for op in made}
    costs = costs_of(StepTrace(graph, SAMPLES, layer_of, outputs, [])).layers["loop"]
    gradients = sum(4 * math.prod(weight.shape) for weight in weights)
    assert costs.added_up_bytes == gradients
    assert [each.scratch for each in costs.kernels] == [gradients]


@pytest.mark.parametrize(
    ("side", "channels", "filters", "of_filter", "of_input"),
    [(32, 16, 16, 27.0, 0.5625), (16, 32, 32, 24.46875, 24.46875), (8, 64, 64, 14.34375, 14.34375)],
)
def test_that_practice_cards_need_what_eigen_unrolls_for_gradients_of_convolutions(
    monkeypatch, side, channels, filters, of_filter, of_input
):
    """The MiB were measured: the peak of a practice card's allocator, beyond what the kernel makes.

    cuDNN chooses its algorithms as it runs: nothing is reckoned for a real card.
    """
    import tensorflow as tf

    from gpu_studio.trainer.answers import kernel_scratch

    monkeypatch.setattr(kernel_scratch, "cores", lambda: 2)
    monkeypatch.setenv("GPU_STUDIO_PRACTICE_LIBRARY", "/anywhere")
    with tf.Graph().as_default() as graph:
        image, made = (tf.zeros((32, side, side, depth)) for depth in (channels, filters))
        window = (3, 3, channels, filters)
        same = {"strides": [1] * 4, "padding": "SAME", "out_backprop": made}
        tf.raw_ops.Conv2DBackpropFilter(input=image, filter_sizes=window, **same)
        tf.raw_ops.Conv2DBackpropInput(input_sizes=image.shape, filter=tf.zeros(window), **same)
    needed = {
        each.type: kernel_scratch.scratch_on_card(each, [], []).fixed / 2**20
        for each in graph.get_operations()
        if each.type.startswith("Conv2DBackprop")
    }
    assert needed == {"Conv2DBackpropFilter": of_filter, "Conv2DBackpropInput": of_input}
    monkeypatch.delenv("GPU_STUDIO_PRACTICE_LIBRARY")
    assert not any(
        kernel_scratch.scratch_on_card(each, [], []).fixed for each in graph.get_operations()
    )


def test_that_a_cpu_without_onednn_needs_what_eigen_unrolls_for_gradients_of_convolutions():
    """As its allocator counts it, in a region in which every piece is cut to size.

    A small convolution in a row of sequences needs sixteen MiB, ten times what else a step holds.
    Of volumes there are as many as fill the last cache, but none where those taken are few. Of a
    volume that comes alone the gradient of the input has that one.
    """
    program = Path(__file__).parent / "programs" / "eigen_scratch.py"
    done = subprocess.run(
        [sys.executable, str(program)],
        env={**os.environ, "TF_ENABLE_ONEDNN_OPTS": "0", "TF_CPU_ALLOCATOR_USE_BFC": "true"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert {name: each["foreseen"] for name, each in found.items()} == {
        name: pytest.approx(each["held"], abs=1024) for name, each in found.items()
    }
    assert found["filter of a row"]["held"] > 15 << 20
    assert found["filter of small volumes"]["held"] < 1024 < found["input of volumes"]["held"]
    assert found["filter of one volume"]["held"] < 1024 < found["input of one volume"]["held"]


def test_that_a_product_of_attention_needs_what_it_transposes():
    """As the CPU's allocator counts it: both of what it takes, or one and the product, or all."""
    program = Path(__file__).parent / "programs" / "einsum_scratch.py"
    done = subprocess.run(
        [sys.executable, str(program)],
        # oneDNN's would have some KiB more of its own.
        env={**os.environ, "TF_ENABLE_ONEDNN_OPTS": "0", "TF_CPU_ALLOCATOR_USE_BFC": "true"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert {name: each["foreseen"] for name, each in found.items()} == {
        name: each["held"] for name, each in found.items()
    }
    assert len({each["held"] for each in found.values()}) > 2


def test_that_the_gradient_of_a_filter_is_rehearsed_before_that_of_the_input_on_a_card():
    """As the trainer orders them there; of gradients of gradients none waits for a later one."""
    import tensorflow as tf

    from gpu_studio.placement.liveness import in_one_queue
    from gpu_studio.trainer.answers.step_operations import Graph

    @tf.function(autograph=False)
    def step(x, weights):
        with tf.GradientTape() as outer:
            outer.watch(weights)
            with tf.GradientTape() as inner:
                inner.watch([x, weights])
                loss = tf.reduce_sum(tf.nn.conv2d(x, weights, 1, "SAME") ** 2)
            to_input, to_filter = inner.gradient(loss, [x, weights])
            penalty = tf.reduce_sum(to_input**2)
        return to_input, to_filter, outer.gradient(penalty, weights)

    kinds = tf.TensorSpec((SAMPLES, 8, 8, 2)), tf.TensorSpec((3, 3, 2, 2))
    graph = Graph(step.get_concrete_function(*kinds).graph, SAMPLES)
    types = [op.type for op in graph.operations]
    on_card, on_cpu = graph.with_turns_ahead(), graph.as_on("CPU")
    first_input = types.index("Conv2DBackpropInput")
    filters = [place for place, each in enumerate(types) if each == "Conv2DBackpropFilter"]
    assert len(filters) > 1
    assert on_card[first_input].after == (filters[0],)
    assert on_cpu[first_input].after == ()
    order = [turn.place for turn in in_one_queue(on_card) if turn.begins]
    assert len(order) == len(types)  # no circle
    assert order.index(filters[0]) < order.index(first_input)


def test_that_a_depthwise_filter_s_gradient_comes_before_that_of_the_input_too():
    """Its shape is a constant that TensorFlow makes after the gradient of the input."""
    import tensorflow as tf

    from gpu_studio.trainer.step_gradients import filters_before

    @tf.function(autograph=False)
    def step(x, weights):
        with tf.GradientTape() as tape:
            tape.watch([x, weights])
            made = tf.nn.depthwise_conv2d(x, weights, [1, 1, 1, 1], "SAME")
            loss = tf.reduce_sum(made**2)
        return tape.gradient(loss, [x, weights])

    kinds = tf.TensorSpec((SAMPLES, 8, 8, 2)), tf.TensorSpec((3, 3, 2, 1))
    [(op, filters)] = filters_before(
        step.get_concrete_function(*kinds).graph.get_operations()
    ).items()
    assert op.type == "DepthwiseConv2dNativeBackpropInput"
    assert [each.type for each in filters] == ["DepthwiseConv2dNativeBackpropFilter"]


def test_that_practice_cards_pool_again_in_memory_that_nobody_else_takes(monkeypatch):
    """As their allocator was seen to: positions of 8 bytes, but no second output.

    cuDNN does not pool again.
    """
    import tensorflow as tf

    from gpu_studio.placement.liveness import history, in_one_queue
    from gpu_studio.trainer.answers.step_operations import Graph

    @tf.function(autograph=False)
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(tf.nn.max_pool2d(x, 2, 2, "VALID"))
        return tape.gradient(loss, x)

    graph = Graph(step.get_concrete_function(tf.TensorSpec((SAMPLES, 8, 8, 1))).graph, SAMPLES)

    def most(kind):
        operations = graph.as_on(kind)
        turns = list(in_one_queue(operations))
        held = history(operations, turns, results=graph.results).moments
        return max(moment.per_sample for moment in held)

    whole, pooled = 64 * 4, 16 * 4
    real = most("GPU")
    monkeypatch.setenv("GPU_STUDIO_PRACTICE_LIBRARY", "/anywhere")
    # Beside input, gradient, output, and what comes back of it: positions.
    assert most("GPU") - real == 2 * pooled
    assert real == 2 * whole + 2 * pooled


def test_that_a_layer_knows_what_a_card_holds_around_it_and_whether_it_needs_its_inputs(
    monkeypatch,
):
    """A gradient of weights is computed when that of the output has taken the output's memory."""
    import tensorflow as tf

    from gpu_studio.trainer.answers.step_trace import StepTrace, costs_of

    monkeypatch.setenv("GPU_STUDIO_PRACTICE_LIBRARY", "/anywhere")
    image, matrix = tf.Variable(tf.ones((3, 3, 3, 4))), tf.Variable(tf.ones((256, 10)))

    @tf.function(autograph=False)
    def step(x):
        with tf.GradientTape() as tape:
            with tf.name_scope("conv"):
                made = tf.nn.relu(tf.nn.conv2d(x, image, 1, "SAME"))
            with tf.name_scope("flat"):
                flat = tf.reshape(made, (SAMPLES, 256))
            with tf.name_scope("dense"):
                last = tf.matmul(flat, matrix)
            loss = tf.reduce_sum(last * last)
        return tape.gradient(loss, [image, matrix])

    graph = step.get_concrete_function(tf.TensorSpec((SAMPLES, 8, 8, 3))).graph
    names = ("conv", "flat", "dense")
    layer_of = {each.name: each.name.partition("/")[0] for each in graph.get_operations()}
    layer_of = {name: layer for name, layer in layer_of.items() if layer in names}
    ends = ("conv/Relu", "flat/Reshape", "dense/MatMul")
    outputs = {
        layer: [[graph.get_operation_by_name(end).outputs[0]]]
        for layer, end in zip(names, ends, strict=True)
    }
    costs = costs_of(StepTrace(graph, SAMPLES, layer_of, outputs, [])).layers
    assert [costs[name].keeps_inputs for name in names] == [True, False, True]
    assert [costs[name].kept_bytes for name in names] == [1024, 0, 40]
    assert [costs[name].convolves for name in names] == [True, False, False]
    (kernel,) = costs["conv"].kernels
    # The output and its gradient; then only the latter.
    assert (costs["conv"].around_bytes, kernel.beside) == (2048, 1024)
    assert kernel.scratch > 0
    assert costs["dense"].kernels == ()
    # The loss needs the last one's output; the gradient of relu is written over what it comes from.
    assert [costs[name].lent_bytes for name in names] == [0, 0, 0]
    # What comes back to it outlives that beside the kernel; before, the output makes room for it.
    assert (costs["conv"].outlived_bytes, kernel.outlived) == (0, 1024)


@pytest.mark.parametrize(
    ("takes", "expected"),
    [
        (("first", "second"), ()),
        (("sum",), (("first", "second"),)),
        # What is taken by itself too comes by itself; one name stands for one tensor.
        (("sum", "first"), ()),
        (("sum", "second"), ()),
        (("larger",), ()),
    ],
)
def test_that_a_layer_knows_which_outputs_it_takes_in_one_tensor(takes, expected):
    import tensorflow as tf

    from gpu_studio.trainer.answers.sent_tensors import meets_of
    from gpu_studio.trainer.answers.step_operations import Graph

    @tf.function(autograph=False)
    def step(x):
        made = {}
        with tf.name_scope("first"):
            made["first"] = tf.exp(x)
        with tf.name_scope("second"):
            made["second"] = tf.sin(made["first"])
        made["sum"] = made["first"] + made["second"]
        made["larger"] = tf.concat([made["first"], made["second"]], 1)
        with tf.name_scope("last"):
            return [tf.cos(made[name]) for name in takes]

    graph = step.get_concrete_function(tf.TensorSpec((SAMPLES, 6))).graph
    layers = {each.name: each.name.partition("/")[0] for each in graph.get_operations()}
    outputs = dict.fromkeys(("first", "second", "last"), 4 * 6)
    layer_of = {name: layer for name, layer in layers.items() if layer in outputs}
    found = meets_of(Graph(graph, SAMPLES), layer_of, outputs, lambda _: False)
    assert found.get("last", ()) == expected


def test_that_a_term_of_a_gradient_is_rehearsed_where_tensorflow_computes_it():
    """Of gelu's gradient what needs only its input waits for nothing once it is rewritten."""
    import keras
    import tensorflow as tf

    from gpu_studio.placement.built_memory import variables_of
    from gpu_studio.trainer.answers import rewritten_graph
    from gpu_studio.trainer.answers.step_operations import Graph

    weight = tf.Variable(tf.ones((4, 4)))

    @tf.function(autograph=False)
    def step(x):
        with tf.name_scope("while"), tf.GradientTape() as tape:
            y = keras.activations.gelu(tf.matmul(x, weight), approximate=False)
            loss = tf.reduce_sum(tf.matmul(tf.tanh(y), weight))
        weight.assign_sub(tape.gradient(loss, weight))
        return loss

    traced = Graph(step.get_concrete_function(tf.TensorSpec((SAMPLES, 4))).graph, SAMPLES)
    rewritten = traced.rewritten(rewritten_graph.rewritten)
    assert rewritten is not None

    assert (rewritten.given, rewritten.results) == (traced.given, traced.results)
    assert variables_of(rewritten.as_on("CPU")) == variables_of(traced.as_on("CPU"))

    def waits_for_the_way_back(graph):
        """Whether the exponential in gelu's gradient comes after what comes back."""
        waiting, seen = [op for op in graph.operations if op.type == "Exp"], set()
        assert waiting
        while waiting:
            op = waiting.pop()
            if op.name not in seen:
                seen.add(op.name)
                waiting += [*(x.op for x in op.inputs), *op.control_inputs]
        return any("TanhGrad" in name for name in seen)

    assert waits_for_the_way_back(traced)
    assert not waits_for_the_way_back(rewritten)


def test_that_the_work_of_a_loop_is_that_of_all_its_turns():
    import tensorflow as tf

    from gpu_studio.trainer.answers.step_operations import flops_with_loops

    weight = tf.ones((4, 4))

    @tf.function(autograph=False)
    def recur(x):
        rows = tf.TensorArray(tf.float32, 7).unstack(tf.transpose(x, (1, 0, 2)))
        return tf.while_loop(
            lambda turn, _: turn < 7,
            lambda turn, state: (turn + 1, tf.matmul(rows.read(turn) + state, weight)),
            (0, tf.zeros((SAMPLES, 4))),
        )[1]

    graph = recur.get_concrete_function(tf.TensorSpec((SAMPLES, 7, 4))).graph
    found = sum(map(flops_with_loops, graph.get_operations()))
    assert found == pytest.approx(7 * SAMPLES * (2 * 4 * 4 + 4), rel=0.01)


def test_that_the_scope_of_a_runs_loop_is_no_layers(monkeypatch):
    """A cast that Keras makes for a layer lies in it; gradients of the loss do too."""
    import tensorflow as tf

    from gpu_studio.placement.step_memory import StepMemory
    from gpu_studio.trainer.answers import step_trace

    monkeypatch.setattr(step_trace, "on_cpu", lambda *_, **_named: StepMemory())
    weight, outputs = tf.Variable(tf.ones((4, 4))), []

    @tf.function(autograph=False)
    def step(x):
        with tf.name_scope("while"), tf.GradientTape() as tape:
            cast = tf.cast(x, tf.float32)
            with tf.name_scope("dense"):
                outputs.append(tf.matmul(cast, weight))
            loss = tf.reduce_sum(tf.square(tf.sin(outputs[-1])))
        gradient = tape.gradient(loss, weight)
        weight.assign_sub(gradient)
        return loss, gradient

    graph = step.get_concrete_function(tf.TensorSpec((SAMPLES, 4), tf.float16)).graph
    inside = {"while/dense/MatMul": "dense", "while/dense/MatMul/ReadVariableOp": "dense"}

    def backward(layer_of):
        gradients = [graph.outputs[1]]
        trace = step_trace.StepTrace(graph, SAMPLES, layer_of, {"dense": [outputs]}, gradients)
        return step_trace.costs_of(trace).layers["dense"].flops_backward

    assert backward(inside | {"while/Cast": "dense"}) == backward(inside) > 0


@pytest.mark.parametrize(
    ("joined", "expected"),
    [
        # Not the order of the layers, but that of the operation's inputs.
        (lambda a, b, c: a + b, {"a": (("b",), False, 24)}),
        (lambda a, b, c: b + a, {"b": (("a",), False, 24)}),
        (lambda a, b, c: b * a, {"b": (("a",), True, 24)}),
        (lambda a, b, c: (c + a) + b, {"c": (("a", "b"), False, 24)}),
        (lambda a, b, c: 2.0 * a, {}),
    ],
)
def test_that_what_meets_is_made_where_the_first_of_it_is(joined, expected):
    import tensorflow as tf

    from gpu_studio.placement.layer_holds import MetOutputs
    from gpu_studio.trainer.answers.sent_tensors import met_outputs_of
    from gpu_studio.trainer.answers.step_operations import Graph

    @tf.function(autograph=False)
    def step(x):
        made = []
        for name in "abc":
            with tf.name_scope(name):
                made.append(tf.exp(x))
        taken = joined(*made)
        with tf.name_scope("last"):
            # What only the loss is made of goes to no layer.
            return tf.cos(taken), made[0] - made[1] - made[2]

    graph = step.get_concrete_function(tf.TensorSpec((SAMPLES, 6))).graph
    layers = {each.name: each.name.partition("/")[0] for each in graph.get_operations()}
    layer_of = {name: each for name, each in layers.items() if each in ("a", "b", "c", "last")}
    layer_of.pop("last/sub", None)
    layer_of.pop("last/sub_1", None)
    found = met_outputs_of(Graph(graph, SAMPLES), layer_of, lambda _: False)
    assert found == {layer: MetOutputs(*each) for layer, each in expected.items()}


def test_that_a_rewritten_graph_that_cannot_be_made_out_leaves_the_traced_one(monkeypatch):
    import tensorflow as tf

    from gpu_studio.placement.step_memory import StepMemory
    from gpu_studio.trainer.answers import step_trace

    rehearsed, asked = [], []
    monkeypatch.setattr(
        step_trace, "on_cpu", lambda *given, **_named: rehearsed.append(given[4:]) or StepMemory()
    )

    class Unknown:
        def known(self, _numbers):
            raise ZeroDivisionError("a size that no rule knows")

    def rewriting(_graph):
        asked.append(1)
        return Unknown()

    step = tf.function(lambda x: tf.sin(x) * x, autograph=False)
    graph = step.get_concrete_function(tf.TensorSpec((SAMPLES, 4))).graph
    trace = step_trace.StepTrace(graph, SAMPLES, {}, {}, [])
    assert step_trace.costs_of(trace, rewriting=rewriting).steps["CPU"] == StepMemory()
    assert (rehearsed, asked) == ([()], [1])
    assert step_trace.costs_of(trace, rewriting=None).steps["CPU"] == StepMemory()
    assert (rehearsed, asked) == ([(), ()], [1])


def test_that_weights_that_are_computed_in_a_loop_along_many_ways_are_looked_at_once():
    """Of a product with itself two ways lead back: of thirty in a row, as many as 2**30."""
    import keras
    import tensorflow as tf

    from gpu_studio.trainer.answers.step_operations import Graph

    class Cell(keras.layers.SimpleRNNCell):
        def call(self, x, states, training=False):
            kernel = self.recurrent_kernel
            for _ in range(30):
                kernel = kernel @ kernel
            return x @ self.kernel + states[0] @ kernel, [states[0]]

    layer = keras.layers.RNN(Cell(3))
    layer.build((None, 7, 5))

    @tf.function(autograph=False)
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(x))
        return tape.gradient(loss, [weight.value for weight in layer.trainable_variables])

    graph = Graph(step.get_concrete_function(tf.TensorSpec((SAMPLES, 7, 5))).graph, SAMPLES)
    makes = [size for each in graph.as_on("CPU") for number, size in each.makes if number < 0]
    assert max(size.fixed for size in makes) >= 4 * 3 * (5 + 3)


def test_that_zeros_that_a_loop_replaces_by_gradients_lie_there_from_the_way_forward_on():
    """Of what a recurrent layer takes from one behind which there are weights."""
    import keras
    import tensorflow as tf

    from gpu_studio.placement.liveness import Size
    from gpu_studio.trainer.answers.graph_tensors import LOOPS
    from gpu_studio.trainer.answers.step_operations import Graph
    from gpu_studio.trainer.answers.step_trace import StepTrace, costs_of

    layer = keras.layers.SimpleRNN(6)
    layer.build((None, 7, 5))

    def traced(*behind):
        @tf.function(autograph=False)
        def step(x):
            with tf.GradientTape() as tape:
                if behind:
                    tape.watch(x)
                with tf.name_scope("loop"):
                    made = layer(x, training=True)
                loss = tf.reduce_sum(made * made)
            return tape.gradient(loss, [*weights, *(x for _ in behind)])

        graph = step.get_concrete_function(tf.TensorSpec((SAMPLES, 7, 5))).graph
        made = [op for op in graph.get_operations() if op.name.startswith("loop/")]
        outputs = {"loop": [[made[-1].outputs[0]]]}
        return StepTrace(graph, SAMPLES, {op.name: "loop" for op in made}, outputs, [])

    weights, found = [weight.value for weight in layer.trainable_variables], []
    for given in (False, True):
        trace = traced(*["weights"] * given)
        graph = Graph(trace.graph, SAMPLES)
        zeros = [op for op in graph.operations if op.type == "ZerosLike"]
        assert len(zeros) == given
        # A row of the input for each turn, as in the list that the loop reads.
        assert [graph.size(op.outputs[0]) for op in zeros] == [Size(0, 7 * 5 * 4, 7)] * given
        loop = [op for op in graph.operations if op.type in LOOPS][-1]
        assert [graph.size(x) for x in loop.outputs].count(Size(0, 7 * 5 * 4, 7)) == given
        found.append(costs_of(trace).layers["loop"].kept_bytes)
    assert found[1] - found[0] == 7 * 5 * 4


def test_that_a_recurrent_layer_keeps_lists_and_neither_its_output_nor_what_it_takes():
    """On its way forward it turns its outputs round and joins them, as seen on practice cards."""
    import keras
    import tensorflow as tf

    from gpu_studio.trainer.answers.step_trace import StepTrace, costs_of

    turns, features, units, caught = 7, 5, 6, {}
    layer = keras.layers.Bidirectional(keras.layers.GRU(units, return_sequences=True))
    layer.build((None, turns, features))
    matrix = tf.Variable(tf.ones((features, features)))

    @tf.function(autograph=False)
    def step(x):
        with tf.GradientTape() as tape:
            with tf.name_scope("before"):
                caught["before"] = tf.matmul(x, matrix)
            with tf.name_scope("loop"):
                caught["loop"] = layer(caught["before"], training=True)
            with tf.name_scope("behind"):
                caught["behind"] = tf.reduce_sum(caught["loop"], axis=1)
            loss = tf.reduce_sum(caught["behind"] * caught["behind"])
        return tape.gradient(loss, [matrix, *(each.value for each in layer.trainable_variables)])

    graph = step.get_concrete_function(tf.TensorSpec((SAMPLES, turns, features))).graph
    names = [each.name for each in graph.get_operations()]
    layer_of = {name: name.partition("/")[0] for name in names if name.partition("/")[0] in caught}
    outputs = {name: [[x]] for name, x in caught.items()}
    costs = costs_of(StepTrace(graph, SAMPLES, layer_of, outputs, [])).layers
    taken, made = 4 * turns * features, 4 * turns * 2 * units
    assert not costs["loop"].keeps_inputs
    assert (costs["loop"].output_bytes, costs["loop"].output_kept_bytes) == (made, 0)
    assert costs["loop"].kept_bytes > 2 * made
    # Of one way the output is turned round; both are there when they are joined.
    assert costs["loop"].forward_bytes == 2 * made
    assert costs["before"].output_kept_bytes == 0
    assert costs["before"].forward_bytes == taken
    assert costs["behind"].output_kept_bytes == costs["behind"].output_bytes == 4 * 2 * units
