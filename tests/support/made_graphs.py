"""Random models with all that is known of layers, and what is predicted of parts of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from gpu_studio.placement import memory
from gpu_studio.placement.apart import Apart
from gpu_studio.placement.layer_holds import Kernel, MetOutputs
from gpu_studio.placement.plan_facts import GraphLayer, ModelFacts, ModelGraph
from gpu_studio.placement.stage_memory import Step, at_once
from gpu_studio.placement.step_memory import MemoryMoment, StepMemory
from gpu_studio.placement.work import Device, Work, by_flops, work_of
from gpu_studio.plan import Placed


def model_of(random: np.random.Generator) -> ModelFacts:
    """Layers with branches and skips, some without weights, or without memory of their own."""

    def layer(place: int) -> GraphLayer:
        weights, kept, output, flops = (
            int(each) for each in random.integers(0, 40_000, 4) * random.integers(0, 2, 4)
        )
        before = (
            {place - 1, *(int(each) for each in random.integers(0, place, random.integers(0, 3)))}
            if place
            else ()
        )
        inputs = tuple(f"layer_{each}" for each in before)
        return GraphLayer(
            f"layer_{place}", "Dense", inputs, weight_bytes=weights, trainable_bytes=weights // 2,
            output_bytes=output, kept_bytes=kept, flops_forward=float(flops),
            flops_backward=2.0 * flops,
        )  # fmt: skip

    layers = tuple(layer(place) for place in range(int(random.integers(2, 12))))
    graph = ModelGraph("made", layers, input_bytes=int(random.integers(0, 20_000)))
    slots = {each.name: 2 * each.trainable_bytes for each in layers}
    # Of some the step that was rehearsed holds more than the formula says.
    rehearsed = MemoryMoment(
        *(int(each) for each in random.integers(1, 400_000, 2) * random.integers(0, 2))
    )
    return ModelFacts(graph, slots=slots, shared_slots=12, steps={"GPU": StepMemory((rehearsed,))})


def with_kernels(model: ModelFacts, random: np.random.Generator) -> ModelFacts:
    """The model, as it is known to be computed on a card: of some layers more, of some less."""

    assert model.graph is not None
    every = model.graph.layers

    def known(layer: GraphLayer) -> GraphLayer:
        scratch, kernels = int(random.integers(0, 2_000_000)), int(random.integers(0, 3))
        least = scratch % 100
        return replace(
            layer,
            passing_bytes=int(random.integers(0, 40_000)),
            around_bytes=int(random.integers(0, 2)) * (layer.kept_bytes + layer.output_bytes),
            kernels=tuple(
                each._replace(apart=_apart(layer, every, beside))
                for each in (
                    Kernel(layer.kept_bytes // 2, scratch, least, scratch % 7_000),
                    Kernel(layer.kept_bytes, scratch // 3),
                )[:kernels]
            ),
            outlived_bytes=int(random.integers(0, 20_000)),
            behind_bytes=scratch % 9_000,
            spared_bytes=int(random.integers(0, 2)) * bool(layer.inputs) * layer.output_bytes // 2,
            lent_bytes=int(random.integers(0, 2)) * layer.kept_bytes // 3,
            output_kept_bytes=int(random.integers(0, 2))
            * min(layer.kept_bytes, layer.output_bytes),
            forward_bytes=int(random.integers(0, 2)) * int(random.integers(0, 40_000)),
            let_go_bytes=scratch % 2 * layer.kept_bytes // 2,
            made_bytes=scratch % 3 * layer.output_bytes // 2,
            gives_back=int(random.integers(0, 4)),
            apart=_apart(layer, every, beside),
            added_up_bytes=layer.trainable_bytes // 2,
            row_bytes=scratch % 3 // 2 * layer.output_bytes,
            shape_bytes=scratch % 5 // 4 * layer.kept_bytes,
            keeps_inputs=bool(random.integers(0, 2)),
            meets=tuple(pair for pair in pairwise(_in_order(layer)) if random.integers(0, 2)),
        )

    beside = np.random.default_rng(len(model.graph.layers))
    layers = tuple(known(each) for each in every)
    met: dict[str, MetOutputs] = {}
    for layer in layers:
        # Which of them comes first in an operation has nothing to do with the order of the layers.
        first, *others = random.permutation(_in_order(layer)).tolist() or [layer.name]
        if others and random.integers(0, 2):
            kept, made = bool(random.integers(0, 2)), int(random.integers(0, 40_000))
            met[first] = MetOutputs(tuple(others), kept, made)
    layers = tuple(
        replace(each, met_outputs=met.get(each.name, each.met_outputs)) for each in layers
    )
    return replace(model, graph=replace(model.graph, layers=layers))


def _apart(
    layer: GraphLayer, layers: Sequence[GraphLayer], random: np.random.Generator
) -> tuple[Apart, ...]:
    """What is less at some moments of a layer where any of some others are elsewhere."""
    names = [each.name for each in layers if each is not layer]

    def moment() -> Apart:
        some = [
            tuple(sorted(random.choice(names, int(random.integers(1, 4))).tolist()))
            for _ in range(int(random.integers(0, 4)))
        ]
        return Apart(
            int(random.integers(0, 1 + layer.kept_bytes + layer.output_bytes)),
            tuple((each, int(random.integers(0, 10_000))) for each in dict.fromkeys(some)),
        )

    return tuple(moment() for _ in range(int(random.integers(0, 3)) if names else 0))


def _in_order(layer: GraphLayer) -> list[str]:
    return sorted(layer.inputs, key=lambda name: int(name.removeprefix("layer_")))


def work_on(
    model: ModelFacts, devices: Sequence[Device], batch: int, random: np.random.Generator
) -> Work:
    """The work of a model on unlike devices, whose times are random."""
    assert model.graph is not None
    times = {each.name: by_flops(model.graph) for each in devices}
    work = work_of(model, devices, batch, times)
    devices_and_layers, layers = work.fixed.shape, work.fixed.shape[1:]
    return replace(
        work,
        fixed=random.random(devices_and_layers) * 1e-3,
        per_sample=random.random(devices_and_layers) * 1e-4,
        forward_share=random.random(layers),
    )


def held_as_predicted(
    model: ModelFacts, devices: Sequence[Device], batch: int, count: int, *, recompute: bool
) -> Callable[[Sequence[int], int], float]:
    """What is predicted of a device in a plan with a placement, device by device.

    No table of blocks is made for it. As a search does, it takes all devices behind one as used.
    """
    graph = model.graph
    assert graph is not None
    names = [layer.name for layer in graph.layers]

    def held(placement: Sequence[int], place: int) -> float:
        on = {name: (devices[at].name,) for name, at in zip(names, placement, strict=True)}
        loads = memory._loads(Placed(count, on, recompute), on, model, graph, batch)
        load, device = loads[devices[place].name], devices[place].name
        under_way = min(at_once(len(devices)), len(devices) - place)
        step = Step(batch, count, under_way, in_turn=True)
        known = memory._placed_step(device, step, model, graph, 1)
        shared = model.shared_slots * (next(iter(loads)) == device)
        step_bytes = load.stage().step_bytes(known, load.going_back(known))
        return load.weights + load.slots + shared + float(step_bytes)

    return held
