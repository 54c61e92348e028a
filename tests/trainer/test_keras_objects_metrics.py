"""Metrics.

Named as Keras names them, shown what they want to see, and sums that replicas can share.
"""

from __future__ import annotations

import made_data
import numpy as np
import pytest

from gpu_studio.plan.keras_objects import BETWEEN_VALUES, LOSSES_OF, METRICS_OF, result_name
from gpu_studio.plan.values import Named, Training
from gpu_studio.trainer.errors import PlanRefused

pytestmark = pytest.mark.slow

CLASSES, VALUES = made_data.classes((8,), 3), made_data.values((1,))
LOGITS = np.random.default_rng(1).normal(size=(12, 3)).astype(np.float32)
IDS = CLASSES.train.y
PROBABILITIES = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
PREDICTED = np.linspace(-1, 3, 12, dtype=np.float32)[:, None]
PAIRS = {
    "precision_at_recall": {"recall": 0.5},
    "recall_at_precision": {"precision": 0.3},
    "sensitivity_at_specificity": {"specificity": 0.5},
    "specificity_at_sensitivity": {"sensitivity": 0.5},
}
NEEDED = {
    **PAIRS,
    "iou": {"target_class_ids": [0, 1]},
    "one_hot_iou": {"target_class_ids": [1]},
}


def metrics_of(*metrics, dataset=CLASSES, last=None):
    import keras

    from gpu_studio.trainer.keras_objects import OutputForm, make_metrics

    model = keras.Sequential(
        [keras.Input(dataset.sample_shape), keras.layers.Dense(dataset.outputs, activation=last)]
    )
    named = tuple(metric if isinstance(metric, Named) else Named(metric) for metric in metrics)
    return make_metrics(Training(metrics=named), dataset, OutputForm.of(dataset, model))


def result(metric, targets, outputs) -> float:
    metric.reset_state()
    metric.update_state(targets, outputs)
    return float(metric.result())


def all_of(dataset):
    """Every metric that fits the data, with the options that it cannot do without."""
    # The values have one number a sample, of which nothing can be compared with another.
    names = [name for name in METRICS_OF[dataset.task] if name not in BETWEEN_VALUES]
    return [Named(name, NEEDED.get(name, {})) for name in names]


def test_that_auto_is_accuracy_for_classes_and_the_absolute_error_for_values():
    (accuracy,), (error,) = metrics_of("auto"), metrics_of("auto", dataset=VALUES)
    assert (accuracy.name, error.name) == ("accuracy", "mean_absolute_error")
    assert result(accuracy, IDS, LOGITS) == pytest.approx((LOGITS.argmax(axis=1) == IDS).mean())
    expected = np.abs(PREDICTED - VALUES.train.y).mean()
    assert result(error, VALUES.train.y, PREDICTED) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("last", [None, "softmax"])
def test_that_metrics_see_ids_or_one_hot_labels_and_logits_or_probabilities(last):
    outputs = LOGITS if last is None else PROBABILITIES
    got = {
        metric.name: result(metric, IDS, outputs)
        for metric in metrics_of(
            *[named for named in all_of(CLASSES) if named.name != "categorical_hinge"], last=last
        )
    }
    right = PROBABILITIES[np.arange(12), IDS]
    chosen = PROBABILITIES > 0.5
    one_hot = np.eye(3)[IDS].astype(bool)
    assert got["categorical_accuracy"] == got["sparse_categorical_accuracy"] == got["accuracy"]
    assert got["categorical_crossentropy"] == pytest.approx(-np.log(right).mean(), rel=1e-4)
    assert got["sparse_categorical_crossentropy"] == pytest.approx(-np.log(right).mean(), rel=1e-4)
    assert got["precision"] == pytest.approx((chosen & one_hot).sum() / chosen.sum(), rel=1e-4)
    assert got["recall"] == pytest.approx((chosen & one_hot).sum() / one_hot.sum(), rel=1e-4)
    wins = [(p > q) + (p == q) / 2 for p in PROBABILITIES[one_hot] for q in PROBABILITIES[~one_hot]]
    assert got["auc"] == pytest.approx(np.mean(wins), abs=0.02)


@pytest.mark.parametrize("dataset", [CLASSES, VALUES], ids=["classes", "values"])
def test_that_what_replicas_add_to_any_metric_can_be_summed(dataset):
    targets = dataset.train.y
    outputs = LOGITS if dataset is CLASSES else PREDICTED
    for metric in metrics_of(*all_of(dataset), dataset=dataset):
        whole = result(metric, targets, outputs)
        metric.reset_state()
        start = [np.asarray(v) for v in metric.variables]
        parts = [
            metric.stateless_update_state(
                start, targets[part], outputs[part], sample_weight=np.ones(6, np.float32)
            )
            for part in (slice(0, 6), slice(6, 12))
        ]
        joint = [
            a + sum(np.asarray(p) - a for p in changed)
            for a, *changed in zip(start, *parts, strict=True)
        ]
        expected = pytest.approx(whole, rel=1e-4, abs=1e-6, nan_ok=True)
        assert float(metric.stateless_result(joint)) == expected, metric.name


RARE = made_data.classes((8,), 2, samples=400)
IS_RARE = (np.random.default_rng(2).random(400) < 0.06).astype(np.int32)
RARE_LOGITS = (
    np.random.default_rng(3).normal(size=(400, 2)).astype(np.float32)
    + [[0.9, 1.2]] * IS_RARE[:, None]
)
RARE_LOGITS = RARE_LOGITS.astype(np.float32) + np.float32([1.5, 0])
SHARE = 1 / (1 + np.exp(RARE_LOGITS[:, 0] - RARE_LOGITS[:, 1]))


def by_hand() -> dict[str, float]:
    """Precision and recall of class 1, and the share of pairs that its score puts in order."""
    said, is_so = SHARE > 0.5, IS_RARE == 1
    pairs = SHARE[is_so][:, None] - SHARE[~is_so][None, :]
    return {
        "precision": (said & is_so).sum() / said.sum(),
        "recall": (said & is_so).sum() / is_so.sum(),
        "auc": ((pairs > 0) + (pairs == 0) / 2).mean(),
    }


@pytest.mark.parametrize("last", [None, "softmax"])
def test_that_precision_recall_and_auc_of_two_classes_are_those_of_class_1(last):
    import keras

    outputs = (
        RARE_LOGITS if last is None else np.stack([1 - SHARE, SHARE], axis=1).astype(np.float32)
    )
    for metric in metrics_of("precision", "recall", "auc", dataset=RARE, last=last):
        got = result(metric, IS_RARE, outputs)
        assert got == pytest.approx(by_hand()[metric.name], abs=5e-3), metric.name
        binary = {
            "precision": keras.metrics.Precision,
            "recall": keras.metrics.Recall,
            "auc": keras.metrics.AUC,
        }
        assert got == pytest.approx(result(binary[metric.name](), IS_RARE, SHARE), rel=1e-6), (
            metric.name
        )


def test_that_pairs_of_two_metrics_of_two_classes_are_those_of_class_1():
    import keras

    for name, needed in PAIRS.items():
        (metric,) = metrics_of(Named(name, needed), dataset=RARE)
        binary = type(metric).__mro__[1](**needed)
        assert isinstance(binary, keras.metrics.Metric)
        assert result(metric, IS_RARE, RARE_LOGITS) == pytest.approx(
            result(binary, IS_RARE, SHARE), rel=1e-6
        ), name


def test_that_a_class_can_be_chosen():
    (of_0,) = metrics_of(Named("recall", {"class_id": 0}), dataset=RARE)
    assert result(of_0, IS_RARE, RARE_LOGITS) == pytest.approx(
        (SHARE[IS_RARE == 0] < 0.5).mean(), rel=1e-6
    )


def test_that_names_are_keras_names_without_a_running_number():
    wanted = [
        Named("AUC"),
        Named("F1Score"),
        Named("PrecisionAtRecall", {"recall": 0.5}),
        Named("acc"),
    ]
    for _ in range(2):
        names = [metric.name for metric in metrics_of(*wanted)]
        assert names == ["auc", "f1_score", "precision_at_recall", "accuracy"]


@pytest.mark.parametrize("dataset", [CLASSES, VALUES], ids=["classes", "values"])
def test_that_the_names_are_those_that_a_plan_can_monitor(dataset):
    metrics = metrics_of(*all_of(dataset), dataset=dataset)
    assert [metric.name for metric in metrics] == [
        result_name(named.name) for named in all_of(dataset)
    ]


def test_that_only_metrics_of_the_plans_vocabulary_have_wants():
    from gpu_studio.trainer.keras_objects import compiled

    assert set(compiled.METRIC_WANTS) < {*METRICS_OF["classes"], *METRICS_OF["binary"]}
    assert set(compiled.LOSS_WANTS) < set(LOSSES_OF["classes"])


def test_that_options_reach_keras():
    (top,) = metrics_of(Named("sparse_top_k_categorical_accuracy", {"k": 1}))
    assert result(top, IDS, LOGITS) == pytest.approx((LOGITS.argmax(axis=1) == IDS).mean())


@pytest.mark.parametrize(
    ("metrics", "words"),
    [
        (["auto", "accuracy"], r"training\.metrics names accuracy twice"),
        ([Named("AUC", {"name": "mine"})], r"options\.name is not an option of auc"),
        (
            ["auto", "mse"],
            r'training\.metrics\[1\]\.name is "mse", which does not fit made classes',
        ),
        (["PearsonCorrelation"], r'name is "PearsonCorrelation"'),
        (["acuracy"], r'name is "acuracy"'),
        (["PrecisionAtRecall"], "precision_at_recall needs the option recall"),
        ([Named("AUC", {"curve": "x"})], "Keras does not take the options of auc"),
        ([Named("AUC", {"from_logits": True})], "from_logits is not an option of auc"),
        ([Named("top_k_categorical_accuracy", {"k": 0})], r"options\.k is 0"),
        ([Named("F1Score", {"average": 1})], r"options\.average is 1"),
    ],
)
def test_that_a_wrong_metric_is_refused_in_words(metrics, words):
    with pytest.raises(PlanRefused, match=words) as refused:
        metrics_of(*metrics)
    assert refused.value.suggestions


def test_that_accuracy_of_values_is_refused():
    with pytest.raises(
        PlanRefused, match=r'"accuracy", which does not fit made values: .* measured values'
    ):
        metrics_of("accuracy", dataset=VALUES)


def test_that_what_counts_batches_counts_a_part_by_its_share() -> None:
    import keras
    import tensorflow as tf

    from gpu_studio.trainer.keras_objects.given import given_metric

    class Batches(keras.metrics.Metric):
        """Counts batches, samples, and adds up the batches' mean distances."""

        def __init__(self) -> None:
            super().__init__(name="batches")
            names = ("batches", "samples", "means")
            self.kept = [self.add_variable((), "zeros", name=each) for each in names]

        def update_state(self, y, outputs, sample_weight=None) -> None:
            size = keras.ops.cast(keras.ops.shape(outputs)[0], "float32")
            distance = keras.ops.mean(keras.ops.abs(outputs - y))
            for each, more in zip(self.kept, (1.0, size, distance), strict=True):
                each.assign_add(more)

        def result(self):
            return self.kept[0]

    random = np.random.default_rng(3)
    batches = [tuple(random.normal(size=(2, size, 1)).astype("float32")) for size in (5, 3)]
    found = given_metric(Batches(), lambda work, *_doing: work(), batches)
    found.look_at_parts()
    assert list(found.by_share) == [True, False, True]
    assert not found.sequential
    y, outputs = batches[0]
    start = [tf.zeros(())] * 3
    parts = [
        found.added(start, y[some], outputs[some], None, share)
        for some, share in ((slice(2), 0.4), (slice(2, None), 0.6))
    ]
    whole = [float(one + other) for one, other in zip(*parts, strict=True)]
    assert whole == pytest.approx([1, 5, np.abs(outputs - y).mean()])


def of_batches(root: bool, counts: str, least: int = 1):
    """A metric that means over batches their mean squares, or the roots of them."""
    import keras

    class OfBatches(keras.metrics.Metric):
        def __init__(self) -> None:
            super().__init__(name="of_batches")
            self.total = self.add_variable((), "zeros", name="total")
            self.batches = self.add_variable((), "zeros", counts, name="batches")

        def update_state(self, y, outputs, sample_weight=None) -> None:
            if len(outputs) < least:
                raise ValueError("too few samples")
            mean = keras.ops.mean(keras.ops.square(outputs - y))
            self.total.assign_add(keras.ops.sqrt(mean) if root else mean)
            self.batches.assign_add(1)

        def result(self):
            return self.total / keras.ops.cast(self.batches, "float32")

    return OfBatches()


@pytest.mark.parametrize("root", [True, False])
@pytest.mark.parametrize("counts", ["float32", "int32"])
def test_that_the_states_of_a_metric_count_alike_in_parts(root: bool, counts: str) -> None:
    import tensorflow as tf

    from gpu_studio.trainer.keras_objects.given import given_metric

    random = np.random.default_rng(3)
    batches = [tuple(random.normal(size=(2, size, 1)).astype("float32")) for size in (3, 2)]
    found = given_metric(of_batches(root, counts), lambda work, *_doing: work(), batches)
    found.look_at_parts()
    assert list(found.by_share) == [True, True]
    assert found.splits is not root
    y, outputs = random.normal(size=(2, 64, 1)).astype("float32")
    start = [tf.zeros(()), tf.zeros((), counts)]
    for parts in (1, 2, 4):
        added = [
            found.added(start, *each, None, 1 / parts, number)
            for number, each in enumerate(
                zip(np.split(y, parts), np.split(outputs, parts), strict=True)
            )
        ]
        state = [sum(each[1:], start=each[0]) for each in zip(*added, strict=True)]
        means = (np.square(outputs - y)).reshape(parts, -1).mean(axis=1)
        wanted = np.sqrt(means) if root else means
        assert float(found.stateless_result(state)) == pytest.approx(wanted.mean(), rel=1e-5)


def test_that_a_metric_of_at_least_two_samples_is_seen_with_no_fewer() -> None:
    from gpu_studio.trainer.keras_objects.given import given_metric

    random = np.random.default_rng(3)
    batches = [tuple(random.normal(size=(2, size, 1)).astype("float32")) for size in (3, 2)]
    least = of_batches(root=False, counts="float32", least=2)
    found = given_metric(least, lambda work, *_doing: work(), batches)
    assert list(found.by_share) == [False, False]  # one device asks nothing of parts
    found.look_at_parts()
    assert list(found.by_share) == [True, True]


def test_that_what_takes_no_other_number_of_samples_is_a_plain_sum_in_parts() -> None:
    from gpu_studio.trainer.keras_objects.given import given_metric

    class Few:
        def __call__(self, y, outputs):
            if len(outputs) > 3:
                raise ValueError("too many samples")
            return (outputs - y)[:, 0]

    random = np.random.default_rng(3)
    batches = [tuple(random.normal(size=(2, size, 1)).astype("float32")) for size in (3, 2)]
    found = given_metric(Few(), lambda work, *_doing: work(), batches, "few")
    found.look_at_parts()
    assert list(found.by_share) == [False, False]
    assert found.splits


@pytest.mark.parametrize("least", [1, 2])
def test_that_batches_of_other_shapes_show_in_pieces_how_a_metric_counts(least: int) -> None:
    from gpu_studio.trainer.keras_objects.given import given_metric

    random = np.random.default_rng(3)
    batches = [tuple(random.normal(size=(2, 3, width)).astype("float32")) for width in (1, 2)]
    found = given_metric(of_batches(False, "float32", least), lambda work, *_doing: work(), batches)
    found.look_at_parts()
    known = least == 1  # a piece of one sample is none that it takes: then nobody knows
    assert list(found.by_share) == [known, known]
    assert (found.splits, found.is_mean) == (known, known)


@pytest.mark.parametrize(
    ("states", "by_share", "splits"),
    [
        ([(3, 2, 5), (1, 1, 1)], (False, True), True),  # a sum over samples, and a count of batches
        ([(0, 0, 0), (1, 1, 1)], (True, True), True),  # nothing yet: in the end as the count
        # or as the sum: not known
        ([(0, 0, 0), (3, 2, 5), (1, 1, 1)], (False, False, True), False),
        ([(3, 2, 4), (3, 2, 5)], (False, False), True),
        ([(3, 2, 4), (1, 1, 1), (3, 2, 5)], (True, True, False), False),
    ],
)
def test_that_one_state_is_not_multiplied_beside_another(states, by_share, splits) -> None:
    from gpu_studio.trainer.batch_parts import Counting, counting_of

    added = [tuple(np.float32(each) for each in state) for state in states]
    is_mean = splits or (0, 0, 0) not in states
    assert counting_of(added, (3, 2)) == Counting(by_share, splits, is_mean)


def test_that_what_is_undecided_leaves_the_others_as_they_are_proved() -> None:
    from gpu_studio.trainer.batch_parts import Counting, counting_of

    def added(*states, kind=np.float32):
        return [tuple(map(kind, state)) for state in states]

    undecided = {"splits": False, "is_mean": False}
    seldom = added((1, 1, 1)) + added((0, 0, 0), kind=np.int64)
    assert counting_of(seldom, (3, 2)) == Counting((True, False), **undecided)
    # What random numbers change is a sum beside one, and else as much as a count of batches.
    drawn = added((3, 2, 4), (1, 1, 1), (3, 2, 5))
    assert counting_of(drawn, (3, 2), {0}) == Counting((False, True, False), **undecided)
    assert counting_of(drawn[:2], (3, 2), {0}) == Counting((False, False), **undecided)


def test_that_whole_numbers_that_cannot_be_shared_leave_plain_sums() -> None:
    from gpu_studio.trainer.batch_parts import Counting, counting_of

    added = [tuple(map(np.int32, (3, 2, 4))), tuple(map(np.float32, (1, 1, 1)))]
    assert counting_of(added, (3, 2)) == Counting((False, False), splits=False)


def f1_of(**options):
    import keras

    from gpu_studio.trainer.keras_objects.given import given_metric

    random = np.random.default_rng(4)
    targets = random.integers(0, 2, (5, options.pop("classes"))).astype(np.float32)
    outputs = random.random(targets.shape).astype(np.float32)
    pairs = [(targets[:3], outputs[:3]), (targets[3:], outputs[3:])]
    metric = keras.metrics.F1Score(threshold=0.5, **options)
    return given_metric(metric, lambda work, *_doing: work(), pairs), targets, outputs > 0.5


def test_that_one_number_may_come_in_a_list():
    from gpu_studio.trainer.curves import logged

    found, targets, said = f1_of(classes=1)
    state = found.metric.stateless_update_state(
        [each.value for each in found.variables], targets, said.astype(np.float32)
    )
    both = (targets > 0) & said
    expected = 2 * both.sum() / (targets.sum() + said.sum())
    found_now = logged({"f1": found.stateless_result(state)})
    assert found_now == {"f1": pytest.approx(expected, rel=1e-5)}
    assert not found.gives_several


def test_that_a_metric_gives_a_number_for_each_class():
    assert f1_of(classes=3)[0].gives_several
    found, _, _ = f1_of(classes=3, average="macro")
    assert found.name == "f1_score"
    assert not found.gives_several
