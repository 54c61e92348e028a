"""What one run came to."""

from __future__ import annotations

from dataclasses import replace

import made_recordings as made
import pytest
from made_runs import TESTED, Script, make_run, tell

from gpu_studio import plan as plans
from gpu_studio.contract import events
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.samples import Cards, FastFigures
from gpu_studio.runs.results import prediction
from gpu_studio.runs.results.comparison import compare
from gpu_studio.runs.results.prediction import Prediction
from gpu_studio.runs.results.run_facts import facts, run_document
from gpu_studio.runs.results.run_figures import NO_CARD, NO_RECORDING, figures_of

EIGHT = made.cards("8xH100")
MIB = 1024 * 1024


def recorded(runs, script=None, facts=EIGHT):
    """The figures of a run on four of eight cards."""
    script = script or Script(
        identities=made.identities(EIGHT), ending="completed", epochs=4, trained=4
    )
    run = make_run(runs, script)
    spans = figures_of(run).times.spans
    made.record(run, facts, spans[0].begin, round(spans[-1].end - spans[0].begin))
    return figures_of(run)


def test_that_a_finished_run_has_all_its_figures(tmp_path):
    found = recorded(tmp_path)
    assert (found.summary.state, found.summary.step, found.why) == ("finished", 800, None)
    assert {name: found.metrics[name] for name in TESTED} == TESTED
    assert found.metrics["val_loss"] == found.epochs[-1].metrics["val_loss"]
    assert found.best.metric == "val_sparse_categorical_accuracy"
    assert found.samples_per_second == pytest.approx(2560 / 0.098)
    assert found.step_seconds == pytest.approx(0.0098)
    assert found.input_share + found.compute_share == pytest.approx(1.0)
    assert 0.03 < found.input_share < 0.06
    assert list(found.peaks) == ["GPU:0", "GPU:1", "GPU:2", "GPU:3"]
    assert found.limits == dict.fromkeys(found.peaks, 1024 * MIB)
    assert found.counted == dict.fromkeys(found.peaks, "allocator")
    assert [saved.step for saved in found.checkpoints] == [400, 600, 800]
    assert found.environment == {
        "computer": "here",
        "GPU Studio": "0",
        "Python": "3.11",
        "TensorFlow": "2.21",
    }


def test_that_the_phases_of_a_run_are_told_and_whether_they_were_reached(tmp_path):
    found = figures_of(make_run(tmp_path, Script(epochs=9, trained=4, ending="stopped")))
    phases = [plans.values.Phase(3, 1e-4, ("base", "!base/b*")), plans.values.Phase(6, 1e-5)]
    training = replace(plans.Training(), phases=tuple(phases))
    plan = replace(found.plan or plans.Plan(), training=training)
    told = {fact.name: fact.words for fact in facts(replace(found, plan=plan))}
    assert told["phase 2"] == "after epoch 3, learning rate 0.0001, frozen: base, !base/b*"
    assert told["phase 3"] == "after epoch 6, learning rate 1e-05, not reached"


def test_that_what_xla_did_in_the_end_is_a_fact_of_the_run(tmp_path):
    found = recorded(tmp_path)
    tell(found.summary.directory, events.Xla(compiles=True, words="XLA compiles each step."))
    by_xla = figures_of(found.summary.directory)
    tell(found.summary.directory, events.Xla(compiles=False))
    given_up = figures_of(found.summary.directory)
    told = [{fact.name: fact.words for fact in facts(each)} for each in (found, by_xla, given_up)]
    words = [each.get("XLA") for each in told]
    assert words == [None, "compiled each training step", "not used"]
    assert run_document(found.summary.directory)["xla"] is False
    (row,) = [row for row in compare([found, by_xla, given_up]).rows if row.label == "XLA"]
    assert row.texts == ("–", "compiled each training step", "not used")


def test_that_the_energy_is_that_of_the_run_s_own_cards(tmp_path):
    found = recorded(tmp_path)
    assert [card.key for card in found.cards] == [facts.card for facts in EIGHT[:4]]
    seconds = found.card_totals[0].seconds
    assert found.joules == pytest.approx(sum((300 + 10 * place) * seconds for place in range(4)))
    assert found.joules_per_thousand_samples == pytest.approx(found.joules / (800 * 256) * 1000)
    assert found.idle_seconds == 0.0
    assert found.throttled_seconds is None
    assert found.why_not("throttled_seconds") == "not recorded"


def test_that_energy_known_of_some_cards_only_is_not_known(tmp_path):
    script = Script(identities=made.identities(EIGHT), trained=3)
    run = make_run(tmp_path, script)
    begin = figures_of(run).times.spans[0].begin
    made.append(run, Cards(time=begin, cards=EIGHT))
    for second in range(4):
        quick = [
            FastFigures(card=EIGHT[place].card, power_w=100.0 if place else None)
            for place in range(4)
        ]
        quick[0] = FastFigures(card=EIGHT[0].card, why={"power_w": "no permission"})
        made.append(run, type(made.fast(EIGHT, begin))(time=begin + second, cards=quick))
    found = figures_of(run)
    assert found.card_totals[1].joules == pytest.approx(300.0)
    assert found.joules is None
    assert found.why_not("joules") == "no permission"


def test_that_a_run_on_the_cpu_took_no_energy_that_anybody_measured(tmp_path):
    found = figures_of(make_run(tmp_path, Script(kind="CPU", trained=1)))
    assert (found.joules, found.why_not("joules")) == (None, NO_CARD)


def test_that_a_run_beside_which_nothing_was_recorded_says_so(tmp_path):
    found = figures_of(make_run(tmp_path, Script(trained=1)))
    assert (found.machine, found.cards, found.why_not("joules")) == (None, (), NO_RECORDING)


def test_that_a_failure_is_explained(tmp_path):
    found = figures_of(make_run(tmp_path, Script(trained=1, ending="failed")))
    assert found.why.message.startswith("GPU:2 ran out of memory")
    assert len(found.why.suggestions) == 3


def test_that_a_prediction_stands_beside_the_peaks(tmp_path):
    run = make_run(tmp_path, Script(trained=1))
    assert figures_of(run).predicted == {}
    prediction.write(run, Prediction(bytes={"GPU:0": 7 * MIB}, step_seconds=0.01))
    found = figures_of(run)
    assert (found.predicted, found.prediction.step_seconds) == ({"GPU:0": 7 * MIB}, 0.01)


def test_that_every_field_of_the_plan_is_there_as_text(tmp_path):
    run = make_run(tmp_path, Script(trained=1))
    plans.save(
        plans.Plan(
            name="wide", model=plans.ModelSettings(name="mlp", options={"hidden": [64] * 40})
        ),
        run.plan_file,
    )
    found = figures_of(run)
    assert found.plan.name == "wide"
    assert found.plan_values["model.options.hidden"].count("64") == 40
    assert found.plan_values["training.epochs"] == str(plans.Training().epochs)


@pytest.mark.parametrize("text", ["", "version = ", "version = 9", "\x00"])
def test_that_a_plan_that_cannot_be_read_leaves_the_rest(tmp_path, text):
    run = make_run(tmp_path, Script(trained=1))
    run.plan_file.write_text(text)
    found = figures_of(run)
    assert (found.plan, found.plan_values) == (None, {})
    assert found.summary.step == 200


def test_that_a_run_of_which_nothing_was_written_yet_has_no_figures(tmp_path):
    found = figures_of(RunDirectory.create(tmp_path, "empty"))
    assert (found.metrics, found.peaks, found.epochs, found.environment) == ({}, {}, (), {})
    assert (found.joules, found.step_seconds, found.samples_per_second, found.best) == (
        None,
        None,
        None,
        None,
    )


def test_that_a_metric_that_is_no_number_is_left_out(tmp_path):
    run = make_run(tmp_path, Script(trained=1))
    row = {"loss": None, "sparse_categorical_accuracy": 0.5}
    tell(run, events.Epoch(epoch=2, step=400, metrics=row, seconds=1, samples_per_second=1))
    assert figures_of(run).metrics == {"sparse_categorical_accuracy": 0.5}
