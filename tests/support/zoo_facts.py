"""What a look at programs of the zoo finds, in short, and their scripts for Keras' `fit`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import tomli_w
import zoo_scripts
from zoo_table import programs

from gpu_studio import plan as plans
from gpu_studio.export import python_script
from gpu_studio.placement.plan_facts import (
    ArrayFacts,
    DataFacts,
    GraphLayer,
    Learnt,
    ModelFacts,
    ModelGraph,
    PlanFacts,
)


def graph(*names: str) -> ModelGraph:
    """A model of these layers, one after another."""
    inputs = [(), *((each,) for each in names)]
    layers = [
        GraphLayer(name, "", of, weight_bytes=1) for name, of in zip(names, inputs, strict=False)
    ]
    return ModelGraph("", tuple(layers))


COMPILED = ModelFacts(learnt=Learnt("values", True, "mse", ("mae",), compiled=True))
OWN_STEPS = ModelFacts(own_steps=("compute_loss",))
ARRAYS = DataFacts("load", "values", None, 80, x_shape=(5,), y_shape=(1,), arrays=("x", "y"))
ENDLESS = DataFacts("load", "values", None, 0, streamed="batches of 16, without end")
NESTED = replace(
    ARRAYS,
    inputs=(ArrayFacts(),),
    targets=(ArrayFacts(("depth",)), ArrayFacts(("edge",))),
    arrays=("x", "y/depth", "y/edge"),
)
SECTIONS = Learnt("classes", False, "", ("accuracy",), compiled=True)
GENRE, STARS = ArrayFacts(("genre",), name="genre"), ArrayFacts(("stars",), (1,), name="stars")
WEIGHED = ("x", "y/genre", "y/stars", "sample_weight/genre", "sample_weight/stars")
FACTS = {
    "plateau": PlanFacts(ARRAYS, replace(COMPILED, graph=graph("dense", "dense_1"))),
    "headlines": PlanFacts(
        replace(ARRAYS, x_shape=(12,), y_shape=(), classes=4),
        ModelFacts(graph("places", "block", "dense_2"), SECTIONS),
    ),
    "ratings": PlanFacts(
        replace(NESTED, targets=(GENRE, STARS), weights=(GENRE, STARS), arrays=WEIGHED),
        ModelFacts(
            outputs=(GENRE, STARS),
            learners={"genre": SECTIONS, "stars": replace(SECTIONS, kind="values")},
        ),
    ),
    "rare_fault": PlanFacts(ARRAYS, COMPILED),
    "masked_steps": PlanFacts(
        replace(
            ARRAYS,
            x_shape=(7, 3),
            y_shape=(7, 1),
            weights=(ArrayFacts((), (7,)),),
            arrays=("x", "y", "sample_weight"),
        ),
        replace(
            COMPILED, learnt=Learnt("values", True, "mse", ("mae",), masked=True, compiled=True)
        ),
    ),
    "ticker": PlanFacts(ENDLESS, COMPILED),
    "two_tasks": PlanFacts(NESTED, OWN_STEPS),
    "delivery_time": PlanFacts(
        ARRAYS, replace(COMPILED, learnt=Learnt("values", True, "", ("mae",)))
    ),
}


def script(name: str, way: str = "none", facts: PlanFacts | None = None, *settings: str) -> str:
    """The script of a program, with what is known of it by `facts` or by `FACTS`."""
    facts = facts or FACTS[name]
    document = programs()[name].document(way)
    plan = zoo_scripts.with_places(plans.loads(tomli_w.dumps(document)), facts)
    plan = plans.with_settings(plan, settings)
    return python_script(plan, None, Path("/nowhere"), facts.data, facts.model)


def sources(names: Iterable[str]) -> list[str]:
    """What programs of the zoo train: their files, and what the table says of their plans."""
    found = [programs()[name] for name in names]
    return [f"{each.file.read_text()}\n{each.document('none')['training']}" for each in found]
