"""Facts about the open plan.

Asked in the background, for exactly that plan, and nothing is left behind.
"""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path

import fake_plan_asker
import psutil
import pytest
from made_plan_facts import MODEL

from gpu_studio.contract.consent import allow_folder
from gpu_studio.placement.correction import MeasuredPeak
from gpu_studio.plan import (
    AbsolutePlan,
    Data,
    ModelSettings,
    Plan,
    Training,
    with_absolute_files,
)
from gpu_studio.ui.plan.plan_facts import FactsReader


def plan(samples: int = 100, **training) -> Plan:
    data = Data(name="synthetic", options={"samples": samples})
    return Plan(model=ModelSettings(name="mlp"), data=data, training=Training(**training))


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """What the fake asker was asked, in order: question and process."""
    path = tmp_path / "asked"
    monkeypatch.setenv("FAKE_ASKER_STARTS", str(path))
    return lambda: [line.split() for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def reading(qtbot, asked):
    """Make readers that ask the fake asker with these flags, and close them in the end."""
    made: list[FactsReader] = []

    def read(*flags: str, command: list[str] | None = None) -> FactsReader:
        made.append(FactsReader(command or [*fake_plan_asker.COMMAND, *flags]))
        return made[-1]

    yield read
    for reader in made:
        reader.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "plan-facts"]


def done(qtbot, reader: FactsReader) -> FactsReader:
    qtbot.waitUntil(lambda: not reader.asking)
    return reader


def test_that_data_and_model_are_told(qtbot, reading) -> None:
    reader = reading()
    reader.follow(plan(321))
    assert (reader.asking, reader.facts) == (True, None)
    assert reader.waiting_for

    done(qtbot, reader)
    assert reader.facts is not None
    assert reader.facts.data is not None
    assert (reader.facts.data.train, reader.facts.model) == (321, MODEL)
    assert (reader.error, reader.waiting_for) == ("", "")


def test_that_the_data_are_told_while_the_model_is_still_asked_for(qtbot, reading) -> None:
    reader = reading("hang")
    reader.follow(plan(55))
    qtbot.waitUntil(lambda: reader.waiting_for == "building the model")
    assert reader.asking
    assert reader.facts is not None
    assert reader.facts.data is not None
    assert (reader.facts.data.train, reader.facts.model) == (55, None)


def test_that_an_edit_that_changes_no_fact_asks_nothing(qtbot, reading, asked) -> None:
    reader = reading()
    reader.follow(plan())
    known = done(qtbot, reader).facts
    reader.follow(replace(plan(epochs=9, batch_size=7, learning_rate=0.5), name="another"))
    assert not reader.asking
    assert reader.facts is known
    assert [question for question, _ in asked()] == ["data", "model"]


def test_that_the_facts_of_a_plan_that_comes_back_are_there_at_once(qtbot, reading, asked) -> None:
    reader = reading("forgetful")
    for samples in (100, 200):
        reader.follow(plan(samples))
        done(qtbot, reader)
    count = len(asked())
    reader.follow(plan(100))
    assert not reader.asking
    assert reader.facts is not None
    assert reader.facts.data is not None
    assert reader.facts.data.train == 100
    assert len(asked()) == count


def test_that_another_reader_finds_the_answer_on_disk(qtbot, reading, asked) -> None:
    for _ in range(2):
        reader = reading()
        reader.follow(plan())
        assert done(qtbot, reader).facts is not None
    assert len(asked()) == 2


def test_that_edits_in_a_row_are_asked_about_once(qtbot, reading, asked) -> None:
    reader = reading()
    for samples in range(100, 110):
        reader.follow(plan(samples))
    done(qtbot, reader)
    assert reader.facts is not None
    assert reader.facts.data is not None
    assert reader.facts.data.train == 109
    assert len(asked()) == 2


def test_that_an_edit_ends_the_process_that_was_asked_before(qtbot, reading, asked) -> None:
    reader = reading("hang")
    reader.follow(plan(100))
    qtbot.waitUntil(lambda: reader.waiting_for == "building the model")
    pid = int(asked()[-1][1])
    reader.follow(plan(200))
    assert reader.facts is None
    qtbot.waitUntil(lambda: not psutil.pid_exists(pid))


def test_that_an_error_in_the_data_asks_for_no_model(qtbot, reading, asked) -> None:
    reader = reading()
    reader.follow(plan(13))
    facts = done(qtbot, reader).facts
    assert facts is not None
    assert (facts.data_error, facts.advice) == ("There are 13 samples.", ("Give more.",))
    assert [question for question, _ in asked()] == ["data"]


@pytest.mark.parametrize(
    ("flag", "words"),
    [("die", "crashed"), ("nonsense", "cannot be read"), ("refuse", "no TensorFlow here")],
)
def test_that_a_failure_is_said_and_can_be_tried_again(qtbot, reading, asked, flag, words) -> None:
    reader = reading(flag)
    reader.follow(plan())
    done(qtbot, reader)
    assert words in reader.error
    assert reader.facts is not None
    assert reader.facts.model is None

    before = len(asked())
    reader.retry()
    assert (reader.asking, reader.error) == (True, "")
    done(qtbot, reader)
    assert words in reader.error
    assert len(asked()) > before


def later_fit(folder: Path) -> AbsolutePlan:
    (folder / "train.py").write_text("model.fit(x, epochs=1)\nmodel.fit(x, epochs=2)\n")
    allow_folder(folder)
    script = "train.py:fit_2"
    todo = Plan(model=ModelSettings(python=script), data=Data(python=script))
    return with_absolute_files(todo, folder)


def test_that_a_script_trains_before_a_look_only_once_that_is_asked_for(
    qtbot, reading, asked, tmp_path
) -> None:
    reader, todo = reading(), later_fit(tmp_path)
    reader.follow(todo)
    done(qtbot, reader)
    assert [question for question, _ in asked()] == ["data"]
    assert reader.facts is not None
    assert reader.facts.not_looked_at[0].startswith("What train.py gives call 2 of fit")
    assert reader.wants_training
    reader.retry(trains=True)
    assert done(qtbot, reader).facts is not None
    assert (reader.facts.data.train, reader.facts.model) == (800, MODEL)
    assert not reader.wants_training


def test_that_what_a_look_trained_for_is_known_to_all_later_looks(
    qtbot, reading, asked, tmp_path
) -> None:
    first, todo = reading(), later_fit(tmp_path)
    first.follow(todo)
    done(qtbot, first).retry(trains=True)
    done(qtbot, first)
    count = len(asked())
    later = reading()
    later.follow(todo)
    assert done(qtbot, later).facts.model == MODEL
    assert len(asked()) == count


def test_that_a_command_that_cannot_be_started_is_said(qtbot, reading) -> None:
    reader = reading(command=["/nowhere/at-all"])
    reader.follow(plan())
    assert "could not be started" in done(qtbot, reader).error


def test_that_cancelling_ends_the_asking_and_keeps_what_is_known(qtbot, reading) -> None:
    reader = reading("hang")
    reader.follow(plan())
    qtbot.waitUntil(lambda: reader.facts is not None)
    reader.cancel()
    assert not reader.asking
    assert reader.facts is not None
    reader.retry()
    assert reader.asking


def test_that_closing_leaves_no_process(qtbot, reading, asked) -> None:
    reader = reading("hang")
    reader.follow(plan())
    qtbot.waitUntil(lambda: reader.waiting_for == "building the model")
    reader.close()
    assert not psutil.pid_exists(int(asked()[-1][1]))
    assert os.getpid() in psutil.pids()


def test_that_a_changed_file_is_another_plan(qtbot, reading, tmp_path) -> None:
    reader = reading()
    path = tmp_path / "data.npz"
    own = with_absolute_files(replace(plan(), data=Data(file="data.npz")), tmp_path)
    for text in ("a", "longer"):
        path.write_text(text)
        reader.follow(own)
        assert reader.asking
        done(qtbot, reader)


def test_that_what_a_step_held_corrects_the_facts_of_that_model_whatever_its_batch(
    qtbot, reading
) -> None:
    reader = reading()
    reader.follow(plan(batch_size=32))
    done(qtbot, reader)
    foreseen = MODEL.steps["CPU"].peak(32)
    with qtbot.waitSignal(reader.changed):
        reader.correct({"CPU:0": MeasuredPeak(32, 2 * foreseen)})
    assert reader.facts.model.corrections == {"CPU": 2.0}

    reader.follow(plan(batch_size=64))
    done(qtbot, reader)
    assert reader.facts.model.corrections == {"CPU": 2.0}
    reader.follow(plan(999))
    done(qtbot, reader)
    assert reader.facts.model.corrections == {}
    reader.follow(plan(batch_size=32))
    assert reader.facts.model.corrections == {"CPU": 2.0}
