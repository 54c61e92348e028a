"""The largest batch: sizes, the order in which they are tried, words, and its place in files."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import pytest

from gpu_studio.lab.largest_batch import LargestBatch, in_words, search, sizes_of
from gpu_studio.lab.learning_rates import rule_of_thumb
from gpu_studio.lab.study import Study, dumps_study, loads_study
from gpu_studio.lab.templates import study_from
from gpu_studio.lab.verdict import PointGroup, verdict_of
from gpu_studio.plan import Machine, PlanError, loads

MACHINE = Machine(cpu_cores=4, memory_mib=8192)
PLAN = loads(
    'version = 1\nname = "digits"\n[model]\nname = "mlp"\n[data]\nname = "digits"\n'
    '[training]\nbatch_size = 64\noptimizer = "adam"\n'
)
FOUND = LargestBatch(
    ("GPU:0",), 448, 512, "it found no memory when it was tried", ("GPU:1",), 400 << 20, 512 << 20
)


@pytest.mark.parametrize("unit", [1, 3, 8])
def test_that_sizes_are_multiples_a_quarter_apart_at_most_and_end_with_all_samples(unit):
    sizes = sizes_of(unit, 1200)
    assert (sizes[0], sizes[-1]) == (unit, 1200)
    assert all(each % unit == 0 for each in sizes)
    steps = list(pairwise(sizes))
    assert all(low < high for low, high in steps)
    assert all(high <= low * 1.25 for low, high in steps if low >= 4 * unit)
    assert sizes_of(7, 5) == []
    assert sizes_of(4, 1455)[-2:] == [1280, 1452]


@pytest.mark.parametrize("seed", range(20))
def test_that_what_is_found_runs_and_the_next_size_does_not_whatever_was_predicted(seed):
    drawn = random.Random(seed)
    sizes, tried = sizes_of(1, 3000), list[int]()
    true, foreseen = (drawn.choice([0, *sizes]) for _ in range(2))

    def runs(batch: int) -> bool:
        tried.append(batch)
        return batch <= true

    found = search(sizes, lambda batch: batch <= foreseen, runs, beyond=True)
    assert found.batch == true
    assert (found.above == 0) == (true == sizes[-1])
    assert found.above == 0 or (found.above > true and found.above in found.failed)
    assert true == 0 or true in found.ran
    assert len(tried) == len(set(tried)) <= 14


def test_that_a_good_prediction_is_proven_by_two_tries():
    sizes, tried = sizes_of(1, 3000), list[int]()

    def runs(batch: int) -> bool:
        tried.append(batch)
        return batch <= 448

    assert search(sizes, lambda batch: batch <= 448, runs, beyond=True).batch == 448
    assert tried == [448, 512]


def test_that_nothing_beyond_the_prediction_is_tried_where_that_would_harm():
    tried = list[int]()

    def runs(batch: int) -> bool:
        tried.append(batch)
        return batch <= 100

    found = search(sizes_of(1, 3000), lambda batch: batch <= 128, runs, beyond=False)
    assert (found.batch, found.above) == (96, 112)
    assert max(tried) == 128
    nothing = search([4, 8], lambda _batch: False, runs, beyond=False)
    assert (nothing.batch, nothing.above, nothing.ran, nothing.failed) == (0, 4, (), ())


def test_that_it_is_said_what_ran_what_did_not_and_what_was_predicted_wrongly():
    assert in_words(FOUND) == (
        "GPU:0 (and GPU:1, just like it): 448 is the largest batch. It ran, and held 400 MiB of "
        "512 MiB; 512 does not: it found no memory when it was tried."
    )
    wrong = LargestBatch(("GPU:0", "GPU:1"), 96, 112, "it found no memory", failed=(112, 128))
    assert in_words(wrong).startswith("GPU:0 and GPU:1: 96 is the largest batch. It ran; 112 does")
    assert in_words(wrong).endswith("Predicted to fit, but out of memory when tried: 128.")
    assert "\x1b" not in in_words(LargestBatch(("\x1b[2J",), 1, 2, "\x1b[2J"))
    none = LargestBatch(("GPU:0",), 0, 1, "it found no memory")
    assert in_words(none) == "GPU:0: not even a batch of 1 fits: it found no memory."
    every = LargestBatch(("CPU:0",), 1437, 0, "there are no more samples to train with")
    assert in_words(every).endswith("It ran; there are no more samples to train with.")


def test_that_a_study_has_batches_up_to_the_largest_and_its_file_says_what_was_found():
    study = study_from("batch", PLAN, "digits.plan.toml", MACHINE, (FOUND,))
    assert [each.x for each in study.axes[0].choices] == [16, 32, 64, 128, 256, 448]
    text = dumps_study(study)
    assert loads_study(text) == study
    assert text.startswith("version = 2")
    assert dumps_study(replace(study, largest=())).startswith("version = 1")
    small = study_from("batch", PLAN, "p", MACHINE, (LargestBatch(("GPU:0",), 8, 10, "no"),))
    assert [each.x for each in small.axes[0].choices] == [8]


@pytest.mark.parametrize(
    "wrong", ["batch = -1", 'batch = "many"', "batch = 1\nmore = 2", 'batch = 1\nheld = "x"', ""]
)
def test_that_what_is_no_largest_batch_is_refused_with_what_to_do(wrong):
    text = f'version = 2\nname = "a"\nplan = "b"\n[[largest]]\ndevices = ["GPU:0"]\n{wrong}\n'
    with pytest.raises(PlanError, match=r"largest\[0\] is .*search anew with"):
        loads_study(text)
    with pytest.raises(PlanError, match=r"write \[\[largest\]\]"):
        loads_study('version = 2\nname = "a"\nplan = "b"\nlargest = 3\n')


@pytest.mark.parametrize(
    ("optimizer", "said"),
    [
        ("adam", "as the square root of the batch (Malladi et al. 2022"),
        ("sgd", "as the batch does, with a warm-up over the first epochs (Goyal et al. 2017"),
        ("lion", "For another optimizer a sweep of learning rates tells."),
    ],
)
def test_that_the_learning_rate_of_another_batch_follows_a_rule_with_its_source(optimizer, said):
    training = replace(PLAN.training, optimizer=optimizer, learning_rate=0.001)
    rule = rule_of_thumb(replace(PLAN, training=training), 1024)
    assert said in rule
    becomes = {"adam": "becomes 0.004 at 1,024.", "sgd": "becomes 0.016 at 1,024."}
    assert rule.endswith(becomes.get(optimizer, "tells."))
    assert "becomes" not in rule_of_thumb(replace(PLAN, training=training), 64)


def test_that_the_verdict_says_what_fits_before_and_after_anything_is_measured():
    study = Study("a", "b", "batch", largest=(FOUND,))
    assert verdict_of(study, []).more == (in_words(FOUND),)
    groups = [PointGroup(f"batch size {b}", b, (float(b),) * 2, (1.0,) * 2) for b in (64, 256)]
    verdict = verdict_of(study, groups, plan=PLAN)
    assert verdict.headline.startswith("Batch size 256 is the fastest")
    assert verdict.more[0] == in_words(FOUND)
    assert any("becomes" in line for line in verdict.more)
