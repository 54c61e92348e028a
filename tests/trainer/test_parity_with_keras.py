"""Every strategy trains what plain Keras `fit` trains.

Losses of epochs, of validation and test, and weights, to 1e-5, each plan by each strategy.

The reference is `fit` itself, given the samples in the plan's order. 90 samples in batches of 20
leave a last batch of 10, over two replicas or two micro-batches.

Random numbers cannot be those of `fit`, which numbers its draws from the first step to the last:
here they follow from the step, so that a run can be resumed. Where a batch is in one part (`none`,
`one_device`, `placed` without micro-batches), what is compared is `fit` with its random states put
where each step's begin. Where a batch is in two parts, each draws by itself: shown are that the
draws differ between steps and parts, that they repeat with the seed and after a resume, and that
they have the mean and the variance that they should.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from parity_jobs import CLOSE, TESTED, VALIDATED, WAYS, Case, Trained

pytestmark = pytest.mark.slow

REPLICAS = ("mirrored", "central_storage")


def by(name: str, rate: float, *settings: str, **options: Any) -> Case:
    """The plain model with this optimizer of Keras', and settings that ask for the same."""
    given = ", ".join(f"{key} = {str(value).lower()}" for key, value in options.items())
    asked = [f"training.optimizer={name.lower()}", f"training.learning_rate={rate}", *settings]
    if options:
        asked.append(f"training.options={{ {given} }}")
    config = {"learning_rate": rate, **options}
    return {"model": "mlp", "settings": asked, "fit": {"class_name": name, "config": config}}


CASES: dict[str, Case] = {
    **{
        name: {"model": name}
        for name in ("orthogonal", "tied", "nested", "own", "embedded", "recurrent")
    },
    **{
        name: {"model": name}
        for name in ("attentive", "convolutional", "softmax", "dictionary", "listed")
    },
    **{
        name: {"model": name, "settings": VALIDATED}
        for name in ("spectral_convolution", "codebook", "counting", "metered")
    },
    **{
        name: {"model": name, "settings": VALIDATED}
        for name in ("constrained", "frozen", "divergence_of_each", "untrained")
    },
    **{
        name: {"model": name, "settings": TESTED}
        for name in ("penalised", "active", "divergence", "spectral")
    },
    "adam": by("Adam", 0.01),
    "adamw": by("AdamW", 0.01, weight_decay=0.1),
    "sgd with momentum, clipped": by("SGD", 0.1, momentum=0.9, nesterov=True, global_clipnorm=0.05),
    "adam, positions": by("Adam", 0.01) | {"model": "positions"},
    "rmsprop, clipped by value": by("RMSprop", 0.01, clipvalue=0.001),
    "accumulated": by("SGD", 0.1, gradient_accumulation_steps=2, global_clipnorm=0.05),
    "ema, overwritten": by("SGD", 0.1, use_ema=True, ema_overwrite_frequency=3),
    "nadam": by("Nadam", 0.01),
}
BY_XLA = "training.jit_compile=true"
COMPILED: dict[str, Case] = {
    "adam, by XLA": by("Adam", 0.01, BY_XLA),
    "convolutional, by XLA": {"model": "convolutional", "settings": [BY_XLA]},
    "adam, on a card": by("Adam", 0.01) | {"card": True},
    "spelled, on a card": {"model": "spelled", "card": True},
}
NORMALISED: dict[str, Case] = {
    "normalised_together": {"model": "normalised_together", "settings": VALIDATED}
}
IN_ONE_PART: dict[str, Case] = {
    name: {"model": name, "settings": VALIDATED, "micro_batches": 1}
    for name in (
        *("normalised", "codebook_read_again", "dropping", "noise", "autoencoder_noise"),
        *("watched", "heeded"),
    )
}
NOISE: dict[str, Case] = {
    "noise alone": {"model": "pure_noise", "resumed": True},
    "noise alone by another seed": {
        "model": "pure_noise",
        "settings": [*VALIDATED, "training.seed=4"],
    },
}


NOISE_BY_XLA: dict[str, Case] = {
    "noise by XLA": {"model": "pure_noise", "resumed": True, "settings": [BY_XLA]},
    "noise on a card": {"model": "pure_noise", "left_after": 5, "card": True},
    "noise, later on a card": {"model": "pure_noise", "left_after": 5, "card": "later"},
}

SIZED: dict[str, Case] = {
    "recurrent, of a size": {"model": "recurrent", "settings": TESTED, "sized": True},
    "forgetful, of a size": {"model": "forgetful", "settings": VALIDATED, "sized": True},
}

APART: dict[str, Case] = {
    "normalised apart": {"model": "normalised"},
    "watched apart": {"model": "watched"},
    "heeded apart": {"model": "heeded"},
}


def cases_of(way: str) -> dict[str, Case]:
    """What is trained one way."""
    together = {} if way == "placed" else dict(NORMALISED)
    in_one_part = {} if way in REPLICAS else IN_ONE_PART
    together |= APART if way == "mirrored" else {}
    together |= COMPILED | NOISE_BY_XLA | SIZED if way == "none" else {}
    return CASES | together | in_one_part | NOISE


COMPARED = [
    (way, name)
    for way in WAYS
    for name in cases_of(way)
    if name not in NOISE | APART | NOISE_BY_XLA
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return Trained(
        tmp_path_factory.mktemp("parity"), cases_of, left_out=NOISE | NOISE_BY_XLA | APART
    )


def test_that_there_are_thirty_plans_and_more() -> None:
    assert len(cases_of("none")) - len(NOISE | NOISE_BY_XLA) >= 30


@pytest.mark.parametrize(("way", "name"), COMPARED)
def test_that_a_strategy_trains_what_fit_trains(trained: Trained, way: str, name: str) -> None:
    mine, reference = trained[way][name], trained["fit"][name]
    assert "error" not in mine, mine["error"]
    for told, wanted in zip(mine["epochs"], reference["epochs"], strict=True):
        assert told == pytest.approx(wanted, rel=CLOSE)
    # Keras writes an exponential moving average over the weights when `fit` ends, and not only
    # every so many steps.
    if "ema" not in name:
        assert mine["test"] == pytest.approx(reference["test"], rel=CLOSE)
        for value, wanted in zip(mine["weights"], reference["weights"], strict=True):
            np.testing.assert_allclose(value, wanted, rtol=CLOSE, atol=CLOSE)


def test_that_replicas_that_normalise_apart_are_told_of_and_those_that_normalise_together_are_not(
    trained: Trained,
) -> None:
    (said,) = trained["mirrored"]["normalised apart"]["told"]
    assert "normalises each replica's part of about 10 samples by itself" in said
    for way in REPLICAS:
        assert trained[way]["normalised_together"]["told"] == []


def test_that_what_parts_of_a_batch_cannot_measure_together_is_refused(trained: Trained) -> None:
    assert trained["mirrored"]["watched apart"]["error"] == (
        "The metric highest within the model is no sum over the samples: it must see one batch "
        "after another, and here several parts of a batch are seen at once."
    )
    assert trained["mirrored"]["heeded apart"]["error"].startswith(
        "A layer asks its metric sum for its result while it is called"
    )


@pytest.mark.parametrize("way", WAYS)
def test_that_noise_without_a_seed_is_another_in_every_step_and_part(
    trained: Trained, way: str
) -> None:
    noise = trained[way]["noise alone"]
    assert "error" not in noise, noise["error"]
    assert len(set(noise["steps"])) == len(noise["steps"]) == 10
    mean = np.array(noise["steps"]) - np.log(4)
    square, of_all, of_first = (value for value in noise["weights"] if np.ndim(value) == 0)
    # Of 5,000 draws and more a step, so that these are five standard deviations.
    assert np.abs(mean).max() < 5 / np.sqrt(5_000)
    assert abs(square - 1) < 5 * np.sqrt(2 / 5_000)
    assert (of_all != of_first) == (way in (*REPLICAS, "placed"))


@pytest.mark.parametrize("way", WAYS)
def test_that_noise_repeats_with_the_seed_also_after_a_resume(trained: Trained, way: str) -> None:
    noise = trained[way]["noise alone"]
    assert noise["resumed"] == pytest.approx(noise["steps"][5:], rel=1e-6)
    other = trained[way]["noise alone by another seed"]
    assert not set(other["steps"]) & set(noise["steps"])


def test_that_noise_by_xla_repeats_after_a_resume_and_is_other_noise(trained: Trained) -> None:
    """It proves as well that XLA computed the step: what TensorFlow draws of the seed differs."""
    noise, without = trained["none"]["noise by XLA"], trained["none"]["noise alone"]
    assert noise["resumed"] == pytest.approx(noise["steps"][5:], rel=1e-6)
    assert not set(noise["steps"]) & set(without["steps"])


@pytest.mark.parametrize(
    ("case", "whole", "told"),
    [
        ("noise on a card", "noise by XLA", [True, True]),
        ("noise, later on a card", "noise alone", [False, False]),
    ],
)
def test_that_by_itself_a_run_goes_on_with_xla_or_without_it_as_it_began(
    trained: Trained, case: str, whole: str, told: list[bool]
) -> None:
    gone_on, whole_run = trained["none"][case], trained["none"][whole]
    assert gone_on["xla"] == told
    assert gone_on["told"] == []
    left = len(gone_on["steps"])
    assert 0 < left < len(whole_run["steps"])
    assert gone_on["steps"] == pytest.approx(whole_run["steps"][-left:], rel=1e-6)
    as_it_began = "The training steps go on without XLA, as they began"
    assert any(each.startswith(as_it_began) for each in gone_on["words"]) is (not told[0])


def test_that_a_step_goes_on_without_xla_where_that_cannot_compile_it(trained: Trained) -> None:
    spelled = trained["none"]["spelled, on a card"]
    assert trained["none"]["adam, on a card"]["xla"] == [True]
    assert trained["none"]["adam"]["xla"] == [False]
    assert spelled["xla"] == [True, False]
    (said,) = spelled["told"]
    assert said == (
        "XLA could not compile the training step, which goes on without it: on a CPU it has no way "
        "to compute AsString."
    )


@pytest.mark.parametrize("way", WAYS)
def test_that_noise_in_validation_is_the_same_in_each_epoch_and_this_is_told_once(
    trained: Trained, way: str
) -> None:
    noise = trained[way]["noise alone by another seed"]
    first, *later = (epoch["val_loss"] for epoch in noise["epochs"])
    assert later == [first] * len(later)
    assert first not in noise["steps"]
    assert sum("draw random numbers in validation" in each for each in noise["said"]) == 1
    silent = trained["none"]["adam"]
    assert not any("draw random numbers in validation" in each for each in silent["said"])
