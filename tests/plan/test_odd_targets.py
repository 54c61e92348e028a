"""What is said of targets and outputs that a loss of Keras' takes, and is not made for."""

import pytest

from gpu_studio.plan import Target
from gpu_studio.plan.odd_targets import KerasLoss, Oddity, oddities

SPARSE = "sparse_categorical_crossentropy"
MSE = "mean_squared_error"


def between(lowest: float, highest: float, ids: int | None = None) -> Target:
    return Target(ids=ids, lowest=lowest, highest=highest)


def found(
    target: Target, loss: KerasLoss | str, units: int = 1, ending: str = "sigmoid"
) -> list[Oddity]:
    known = KerasLoss(loss) if isinstance(loss, str) else loss
    return list(oddities(target, "y in wine.npz", known, units, ending))


@pytest.mark.parametrize(
    ("target", "advice"),
    [
        (between(1, 2, 3), "Give 0 and 1: y - 1."),
        (between(-1, 1), "Give 0 and 1, (y + 1) / 2, or learn by the loss hinge."),
        (between(0, 255, 256), "Divide the targets by 255."),
        (between(0, 4, 5), "Give 0 and 1. For several classes, end the model in a softmax"),
    ],
)
@pytest.mark.parametrize("loss", ["binary_crossentropy", "binary_focal_crossentropy"])
def test_that_labels_other_than_0_and_1_are_told_with_the_way_to_them(target, advice, loss):
    [told] = found(target, loss)
    assert told.text.startswith(f"The targets y in wine.npz go from {target.lowest:g} to ")
    assert told.text.endswith(f"and the loss {loss} is made for 0 to 1.")
    assert told.advice.startswith(advice)


@pytest.mark.parametrize(
    ("target", "loss", "units", "ending"),
    [
        (between(0, 1, 2), "binary_crossentropy", 1, "sigmoid"),
        (between(0.1, 0.9), "binary_crossentropy", 1, "sigmoid"),
        (between(0, 1, 2), KerasLoss("binary_crossentropy", from_logits=True), 1, ""),
        (between(0, 2, 3), SPARSE, 3, "softmax"),
        (between(-1, 2), KerasLoss(SPARSE, ignored=-1), 3, "softmax"),
        (between(0, 255, 256), KerasLoss(SPARSE, ignored=255), 3, "softmax"),
        (between(-9_999, 9_999), MSE, 1, ""),
        (between(0, 500_000), "poisson", 1, ""),
    ],
)
def test_that_nothing_is_said_of_what_a_loss_is_made_for(target, loss, units, ending):
    assert found(target, loss, units, ending) == []


@pytest.mark.parametrize(
    ("target", "advice"),
    [
        (between(1, 3, 4), "Number the classes from 0: y - 1."),
        (between(0, 5, 6), "Give the last layer 6 units, or number the classes from 0."),
        (between(-1, 2), "Number the classes from 0. To leave one out, give the loss its ignore"),
    ],
)
def test_that_labels_without_an_output_are_told(target, advice):
    [told] = found(target, SPARSE, 3, "softmax")
    assert "and 3 outputs are for the classes 0 to 2." in told.text
    assert told.advice.startswith(advice)


@pytest.mark.parametrize(
    ("loss", "units", "ends"),
    [("binary_crossentropy", 1, "sigmoid"), (SPARSE, 2, "softmax")],
)
def test_that_scores_taken_for_shares_are_told_and_shares_taken_for_scores(loss, units, ends):
    target = between(0, 1, 2)
    [told] = found(target, loss, units, "")
    assert told.text == (
        f"The loss {loss} takes outputs for probabilities, and the model ends in no {ends}."
    )
    [told] = found(target, KerasLoss(loss, from_logits=True), units, ends)
    assert told.text == f"The model ends in a {ends}, and its loss {loss} has from_logits=True."


@pytest.mark.parametrize(
    ("highest", "scale"), [(10_000, "10000"), (512_000.5, "100000"), (-70_000, "10000")]
)
def test_that_values_far_from_0_are_told_with_a_scale(highest, scale):
    [told] = found(between(min(highest, 0), max(highest, 0)), MSE, 1, "")
    assert told.advice.endswith(f"keras.layers.Rescaling({scale}).")
