"""Runs side by side."""

from __future__ import annotations

import json

import made_recordings as made
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import Script, make_run
from reported_runs import tell_communication

from gpu_studio import plan as plans
from gpu_studio.runs.results import prediction
from gpu_studio.runs.results.comparison import LEFT_OUT, _best, compare, metric_names
from gpu_studio.runs.results.run_figures import figures_of, joules_of

EIGHT = made.cards("8xH100")


def figures(runs, settings="", *, recorded=False, **script):
    """The figures of a run of this plan."""
    run = make_run(
        runs,
        Script(
            **{
                "identities": made.identities(EIGHT),
                "ending": "completed",
                "epochs": 4,
                "trained": 4,
            }
            | script
        ),
    )
    plan = plans.Plan(
        name="p", model=plans.ModelSettings(name="mlp"), data=plans.Data(name="digits")
    )
    plans.save(plans.with_settings(plan, settings.split()), run.plan_file)
    if recorded:
        made.record(run, EIGHT, figures_of(run).times.spans[0].begin, 20)
    return figures_of(run)


def row(comparison, label):
    [found] = [row for row in comparison.rows if row.label == label]
    return found


def test_that_only_what_differs_in_the_plans_is_shown(tmp_path):
    runs = [
        figures(tmp_path, "training.batch_size=64 distribution.strategy=mirrored"),
        figures(tmp_path, "training.batch_size=128"),
        figures(tmp_path, "training.batch_size=128 training.loss=mse"),
    ]
    found = compare(runs).plans
    assert [row.label for row in found] == [
        "training.batch_size",
        "training.loss",
        "distribution.strategy",
    ]
    assert found[0].texts == ("64", "128", "128")
    assert found[1].texts == ('"auto"', '"auto"', '"mse"')
    assert all(row.best is None and row.differs for row in found)


def test_that_a_field_that_a_plan_does_not_have_is_left_out_there(tmp_path):
    runs = [figures(tmp_path), figures(tmp_path, "training.options.beta_1=0.8")]
    [found] = compare(runs).plans
    assert (found.label, found.values, found.texts) == (
        "training.options.beta_1",
        (None, "0.8"),
        (LEFT_OUT, "0.8"),
    )


def test_that_long_values_that_differ_at_their_end_differ(tmp_path):
    hidden = ",".join(["64"] * 40)
    runs = [
        figures(tmp_path, f"model.options.hidden=[{hidden},{last}]", trained=1) for last in (1, 2)
    ]
    assert [row.label for row in compare(runs).plans] == ["model.options.hidden"]


def test_that_a_plan_that_cannot_be_read_is_not_taken_for_another(tmp_path):
    runs = [figures(tmp_path, trained=1), figures(tmp_path, trained=1)]
    spoilt = make_run(tmp_path, Script(trained=1))
    spoilt.plan_file.write_text("")
    assert compare([*runs, figures_of(spoilt)]).plans == ()


def test_that_the_best_is_marked_by_what_is_better(tmp_path):
    slow = figures(tmp_path, call_seconds=0.2, seed=1)
    fast = figures(tmp_path, call_seconds=0.1, seed=2, trained=3)
    found = compare([slow, fast])
    assert row(found, "val_loss").best == 0
    assert row(found, "sparse_categorical_accuracy").best == 0
    assert row(found, "throughput").best == 1
    assert row(found, "time of a step").best == 1


def test_that_communication_stands_beside_its_reason_and_is_never_best(tmp_path):
    runs = [figures(tmp_path, trained=1, devices=devices) for devices in (2, 4, 1)]
    assert [each.label for each in compare(runs).figures if each.label == "communication"] == []
    tell_communication(runs[0].summary.directory)
    found = row(compare([figures_of(runs[0].summary.directory), *runs[1:]]), "communication")
    assert found.texts == ("21 %", "not measured", "none: one device")
    assert found.best is None


def test_that_what_grows_with_training_has_no_best_unless_all_trained_as_much(tmp_path):
    slow, fast = (figures(tmp_path, call_seconds=seconds) for seconds in (0.2, 0.1))
    short = figures(tmp_path, trained=1)
    assert row(compare([slow, fast]), "time").best == 1
    assert row(compare([slow, fast, short]), "time").best is None


def test_that_figures_that_read_the_same_have_no_best(tmp_path):
    one, other = (figures(tmp_path, trained=3, seed=seed) for seed in (1, 2))
    throughput = row(compare([one, other]), "throughput")
    assert throughput.texts[0] == throughput.texts[1]
    assert throughput.best is None


def test_that_a_figure_that_only_one_run_has_says_why_the_other_lacks_it(tmp_path):
    card, cpu = figures(tmp_path, recorded=True), figures(tmp_path, kind="CPU")
    found = compare([card, cpu])
    energy = row(found, "energy")
    assert energy.values == (card.joules, None)
    assert energy.texts[1] == "trained on no card"
    assert energy.best is None
    assert "cards throttled" not in {row.label for row in found.rows}


def test_that_one_metric_can_be_asked_for(tmp_path):
    runs = [figures(tmp_path, trained=3), figures(tmp_path, trained=2)]
    names = metric_names(runs)
    assert "val_loss" in names
    rows = [row.label for row in compare(runs, "val_loss").figures]
    assert rows[0] == "val_loss"
    assert not (set(names) - {"val_loss"}) & set(rows)


def test_that_a_single_run_and_none_compare_with_nothing(tmp_path):
    alone = compare([figures(tmp_path)])
    assert alone.plans == ()
    assert all(row.best is None for row in alone.rows)
    assert compare([]).rows == ()


numbers = st.none() | st.floats(allow_nan=True, allow_infinity=True)


@pytest.mark.parametrize("higher", [True, False])
@given(values=st.lists(numbers, max_size=6))
def test_that_the_best_is_better_than_every_other(values, higher):
    best = _best(values, higher=higher)
    known = [value for value in values if value is not None and abs(value) < float("inf")]
    top = (max if higher else min)(known, default=None)
    if best is None:
        assert len(known) < 2 or known.count(top) > 1
    else:
        assert values[best] == top
        assert known.count(top) == 1


def test_that_a_peak_stands_beside_what_was_predicted_and_a_prediction_is_never_best(tmp_path):
    runs = [make_run(tmp_path, Script(trained=1)) for _ in range(2)]
    device = next(iter(figures_of(runs[0]).peaks))
    prediction.write(runs[0], prediction.Prediction(bytes={device: 3 << 20}))
    labels = [each.label for each in compare([figures_of(run) for run in runs]).figures]
    found = row(compare([figures_of(run) for run in runs]), f"predicted {device}")
    assert (found.values, found.texts[0], found.best) == ((float(3 << 20), None), "3 MiB", None)
    assert labels.index(f"peak memory {device}") == labels.index(f"predicted {device}") + 1


def on(run, replicas):
    """The run, told to have trained on these devices."""
    lines = run.events_file.read_text().splitlines(keepends=True)
    decoded = [json.loads(line) for line in lines]
    for each in decoded:
        if each["event"] == "devices":
            each["replicas"] = replicas
    run.events_file.write_text("".join(f"{json.dumps(each)}\n" for each in decoded))
    return figures_of(run)


def test_that_a_card_that_a_run_only_saw_wins_no_prize_and_gives_it_no_energy(tmp_path):
    cards = [figures(tmp_path, recorded=True, devices=1, trained=4) for _ in range(2)]
    idle = on(figures(tmp_path, recorded=True, devices=1).summary.directory, ["CPU:0"])
    found = row(compare([*cards, idle]), "peak memory GPU:0")
    assert (found.values[2], found.texts[2], found.best) == (None, "not trained on", None)
    assert found.values[0] == found.values[1] == cards[0].peaks["GPU:0"]
    assert (idle.joules, idle.why_not("joules")) == (None, "trained on no card")
    assert cards[0].joules is not None
    assert joules_of(idle.summary) is None
    assert idle.summary.peaks_at_work == {}


def test_that_the_card_behind_a_device_is_named_for_it_may_be_another(tmp_path):
    first = figures(tmp_path, recorded=True, devices=1)
    other = figures(tmp_path, recorded=True, devices=1, identities=made.identities(EIGHT[1:2]))
    found = row(compare([first, other]), "card of GPU:0")
    assert found.texts == tuple(f"{card.name} · {card.bus_id}" for card in (EIGHT[0], EIGHT[1]))
    assert found.differs
    assert found.best is None
