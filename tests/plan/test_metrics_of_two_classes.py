"""Which metrics of two classes are those of class 1."""

from __future__ import annotations

import pytest

from gpu_studio.plan.keras_objects import is_of_class_1


@pytest.mark.parametrize(
    ("metric", "given", "of_class_1"),
    [
        ("precision", (), True),
        ("Recall", ("thresholds",), True),
        ("sensitivity_at_specificity", ("specificity",), True),
        ("AUC", ("curve",), True),
        ("precision", ("class_id",), False),
        ("auc", ("multi_label",), False),
        ("f1_score", (), False),
        ("accuracy", (), False),
        ("auto", (), False),
    ],
)
def test_that_they_are_unless_their_options_speak_of_classes(metric, given, of_class_1):
    assert is_of_class_1(metric, given) is of_class_1
