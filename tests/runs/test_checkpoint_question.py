"""Questions about a checkpoint and their answers, without TensorFlow."""

from __future__ import annotations

import sys
import threading

import fake_checkpoint_asker
import pytest
from made_runs import Script, make_run
from real_runs import eventually

from gpu_studio.contract import lock
from gpu_studio.contract.directory import checkpoints
from gpu_studio.runs.questions.ask import AskCancelledError, AskError
from gpu_studio.runs.questions.checkpoint_question import (
    AskOptions,
    CheckpointError,
    chosen,
    evaluate,
    save_model,
)


def asking(*flags, **options) -> AskOptions:
    return AskOptions((sys.executable, fake_checkpoint_asker.__file__, *flags), **options)


@pytest.fixture
def run(runs_dir):
    return make_run(runs_dir, Script(trained=3, ending="stopped"))


def test_that_the_newest_the_best_or_a_named_checkpoint_can_be_meant(run) -> None:
    names = [saved.name for saved in checkpoints(run)]
    assert [chosen(run).name, chosen(run, "best").name, chosen(run, names[0]).name] == [
        names[-1],
        names[-1],
        names[0],
    ]


def test_that_a_checkpoint_that_is_not_there_is_refused_with_the_nearest(run) -> None:
    with pytest.raises(CheckpointError, match="did you mean step-00000600"):
        chosen(run, "step-00000601")


def test_that_a_run_without_checkpoints_says_so(runs_dir) -> None:
    with pytest.raises(CheckpointError, match="has no complete checkpoint"):
        chosen(make_run(runs_dir, Script(trained=0.5)))


def test_that_a_checkpoint_of_a_live_run_can_be_evaluated_and_leaves_it_its_cards(run) -> None:
    held = lock.take(run.lock_file)
    try:
        found = evaluate(run, chosen(run), asking())
    finally:
        held.release()
    assert (found.checkpoint, found.split, found.device) == (chosen(run).name, "test", "CPU:0")
    assert found.metrics == fake_checkpoint_asker.METRICS


def test_that_once_no_run_trains_a_card_is_used_with_what_a_replica_has_held(run) -> None:
    found = evaluate(run, chosen(run), asking())
    assert (found.device, found.samples) == ("GPU:0", 64)


def test_that_a_problem_is_told_with_what_to_do(run) -> None:
    with pytest.raises(CheckpointError, match=r"no longer there\. Choose another\."):
        evaluate(run, chosen(run), asking("problem"))


def test_that_a_model_is_put_in_its_place_whole_and_for_its_owner_only(run, tmp_path) -> None:
    path = tmp_path / "digits.keras"
    assert save_model(run, chosen(run), path, asking()) == 5
    assert path.read_bytes() == b"model"
    assert [each.name for each in tmp_path.iterdir()] == ["digits.keras"]


@pytest.mark.parametrize("flag", ["problem", "half"])
def test_that_a_model_that_could_not_be_written_leaves_the_old_one_and_nothing_else(
    run, tmp_path, flag
) -> None:
    path = tmp_path / "digits.keras"
    path.write_bytes(b"old")
    with pytest.raises((CheckpointError, AskError)):
        save_model(run, chosen(run), path, asking(flag), replace=True)
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["digits.keras"]


def test_that_a_model_is_replaced_only_if_that_is_said(run, tmp_path) -> None:
    path = tmp_path / "digits.keras"
    path.write_bytes(b"old")
    with pytest.raises(CheckpointError, match="there already"):
        save_model(run, chosen(run), path, asking())
    save_model(run, chosen(run), path, asking(), replace=True)
    assert path.read_bytes() == b"model"


@pytest.mark.parametrize(
    ("name", "why"), [("a.h5", "end in .keras"), ("not/there.keras", "no folder")]
)
def test_that_a_place_where_no_model_can_be_is_refused_before_anybody_is_asked(
    run, tmp_path, name, why
) -> None:
    with pytest.raises(CheckpointError, match=why):
        save_model(run, chosen(run), tmp_path / name, AskOptions(("/nowhere",)))


def test_that_an_evaluation_is_cancelled_while_it_goes_on(run) -> None:
    cancel, said = threading.Event(), []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            evaluate(run, chosen(run), asking("hold", progress=said.append, cancel=cancel))
        except AskError as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    eventually(lambda: said)
    cancel.set()
    thread.join()
    assert said == ["building the model"]
    assert [type(error) for error in errors] == [AskCancelledError]
