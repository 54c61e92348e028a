from __future__ import annotations

import fcntl
import json
import os
import shutil
import threading
from dataclasses import replace

import pytest
from made_images import put
from patience import PATIENCE_S
from real_runs import eventually, fake_trainer, has_trained, kill_trainers, told

from gpu_studio import plan as plans
from gpu_studio.contract.directory import checkpoints, resumed_from
from gpu_studio.runs.catalogue import directories
from gpu_studio.runs.launch import launch
from gpu_studio.runs.lineage import read_history
from gpu_studio.runs.results.run_facts import CHECKPOINTS, facts
from gpu_studio.runs.results.run_figures import figures_of
from gpu_studio.runs.resume import ResumeError, choose, resume


@pytest.fixture
def lost(ended):
    """A run killed after seven of ten steps of epoch 2, with checkpoints at steps 2, 4 and 6."""
    return ended("--vanish-at", "7", "--checkpoint-every", "2").directory


def changed(run, setting):
    return plans.with_absolute_files(plans.with_settings(run.load_plan(), [setting]), run.path)


def resumed(run, *, flags=(), **options):
    launched = resume(run, trainer=fake_trainer(*flags), **options)
    launched.process.wait(PATIENCE_S)
    return launched


def test_that_checkpoints_are_listed_from_the_first_to_the_newest(lost):
    found = checkpoints(lost)
    assert [(saved.name, saved.step, saved.epoch) for saved in found] == [
        ("step-00000002", 2, 0), ("step-00000004", 4, 0), ("step-00000006", 6, 1),
    ]  # fmt: skip


def with_end(run):
    """The run, whose end has left other weights than those that were trained last."""
    last = checkpoints(run)[-1].path
    left = last.with_name(f"{last.name}-end")
    shutil.copytree(last, left)
    state = json.loads((left / "state.json").read_text()) | {"at_end": True}
    (left / "state.json").write_text(json.dumps(state))
    return run


def test_that_what_the_end_left_stands_above_what_was_trained_last(lost):
    found = [fact.of for fact in facts(figures_of(with_end(lost))) if fact.group == CHECKPOINTS]
    assert list(dict.fromkeys(found)) == [
        "step-00000006-end", "step-00000006", "step-00000004", "step-00000002",
    ]  # fmt: skip


def test_that_an_unfinished_or_unreadable_checkpoint_is_none(lost):
    (lost.checkpoints / ".tmp-step-00000008").mkdir()
    (lost.checkpoints / "step-00000007").mkdir()
    (lost.checkpoints / "step-00000006" / "state.json").write_text('{"epoch": ')
    (lost.checkpoints / "step-00000004" / "weights.npz").unlink()
    assert choose(lost).checkpoint.name == "step-00000002"


def test_that_the_new_run_goes_on_where_the_newest_checkpoint_stands(lost):
    launched = resumed(lost)
    started = told(launched)[0]
    assert (started.resumed_from, started.from_step, started.from_epoch) == (lost.id, 6, 1)
    note = resumed_from(launched.directory)
    assert (note.run, note.checkpoint, note.step, note.epoch) == (lost.id, "step-00000006", 6, 1)
    assert launched.directory.path.parent == lost.path.parent
    assert plans.load(launched.directory.plan_file) == plans.load(lost.plan_file)


def test_that_the_weights_are_shared_and_the_state_is_each_runs_own(lost):
    launched = resumed(lost)
    [new], old = checkpoints(launched.directory)[:1], checkpoints(lost)[-1]
    assert (new.path / "weights.npz").samefile(old.path / "weights.npz")
    assert not (new.path / "state.json").samefile(old.path / "state.json")
    assert (new.path / "state.json").read_text() == (old.path / "state.json").read_text()


def test_that_a_run_whose_images_moved_is_not_gone_on_with_until_they_are_back(lost, tmp_path):
    folder = put(tmp_path / "pets", {"cats/1.png": b"", "dogs/1.png": b""})
    plan = replace(plans.load(lost.plan_file), data=plans.Data(folder=str(folder)))
    plans.save(plan, lost.plan_file)
    moved = folder.rename(tmp_path / "pets-2")
    with pytest.raises(plans.PlanError, match="there is no such folder") as refused:
        resumed(lost)
    assert f"did you mean {moved}?" in str(refused.value)
    with pytest.raises(
        plans.PlanError, match="the checkpoint stands in the middle of the run's own data"
    ):
        resumed(lost, plan=changed(lost, f"data.folder={moved}"))
    moved.rename(folder)
    assert resumed(lost).process.returncode == 0


def test_that_without_hard_links_the_checkpoint_is_copied(lost, monkeypatch):
    def refuse(*_arguments, **_options):
        raise PermissionError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    new = checkpoints(resumed(lost).directory)[0]
    assert (new.path / "weights.npz").read_bytes() == (
        checkpoints(lost)[-1].path / "weights.npz"
    ).read_bytes()
    assert (new.path / "weights.npz").stat().st_mode & 0o777 == 0o600


def test_that_a_checkpoint_can_be_named_and_the_plan_changed(lost):
    launched = resumed(lost, checkpoint="step-00000002", plan=changed(lost, "training.epochs=5"))
    assert told(launched)[0].from_step == 2
    assert plans.load(launched.directory.plan_file).training.epochs == 5


def test_that_best_means_the_newest_that_was_best(lost):
    for name in ("step-00000002", "step-00000004"):
        path = lost.checkpoints / name / "state.json"
        path.write_text(
            json.dumps(
                json.loads(path.read_text()) | {"best": True, "monitor": "val_loss", "value": 1.5}
            )
        )
    chosen = choose(lost, "best").checkpoint
    assert (chosen.name, chosen.monitor, chosen.value) == ("step-00000004", "val_loss", 1.5)


def test_that_best_is_the_newest_to_go_on_from_where_nothing_was_monitored(lost):
    for run in (lost, with_end(lost)):
        assert choose(run, "best").checkpoint.name == "step-00000006"
    assert choose(lost, "step-00000006-end").checkpoint.at_end


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("step-00000005", "did you mean step-0000000"),
        ("xyz", "it has step-00000002, step-00000004"),
    ],
)
def test_that_a_checkpoint_which_is_not_there_is_refused_with_those_that_are(lost, name, advice):
    with pytest.raises(ResumeError, match=advice):
        choose(lost, name)


def test_that_a_living_run_is_not_resumed(start):
    launched = start("--hold-at", "3", "--checkpoint-every", "2")
    eventually(has_trained(launched, 3))
    with pytest.raises(ResumeError, match="still training: stop it first"):
        choose(launched.directory)


def test_that_of_two_that_resume_a_run_alike_at_once_one_wins_and_the_other_is_told(lost, runs_dir):
    trainer = fake_trainer("--hold-at", "7")
    won, told_why = [], []

    def press():
        try:
            won.append(resume(lost, trainer=trainer, wait=PATIENCE_S))
        except ResumeError as refused:
            told_why.append(str(refused))

    both = [threading.Thread(target=press) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    [first] = won
    which = first.directory.id
    said = f"{which} goes on from step-00000006 of {lost.id} already, with the same plan: watch it,"
    assert told_why == [f"{said} with: gpu-studio runs attach {which}"]
    other = resume(lost, plan=changed(lost, "training.epochs=9"), trainer=fake_trainer())
    other.process.wait(PATIENCE_S)
    kill_trainers(runs_dir)
    first.process.wait(PATIENCE_S)
    resumed(lost)
    assert len(directories(runs_dir)) == 4


def test_that_none_resumes_beside_another_program_and_a_window_does_not_wait_for_it(lost, runs_dir):
    with (lost.checkpoints / "step-00000006" / "state.json").open("rb") as state:
        fcntl.flock(state, fcntl.LOCK_EX)
        with pytest.raises(ResumeError, match=f"just now resuming {lost.id} from step-00000006"):
            resume(lost, trainer=fake_trainer(), wait=0.0)
    assert directories(runs_dir) == [lost]


def test_that_a_run_without_checkpoints_is_not_resumed(ended):
    with pytest.raises(ResumeError, match="no complete checkpoint"):
        resume(ended().directory)


def test_that_a_run_trained_to_its_end_needs_more_epochs(ended, runs_dir):
    run = ended("--checkpoint-every", "5").directory
    with pytest.raises(ResumeError, match=r"2 of 2 epochs.*training\.epochs=3"):
        resume(run)
    assert len(directories(runs_dir)) == 1
    launched = resumed(run, plan=changed(run, "training.epochs=3"), flags=("--epochs", "3"))
    assert told(launched)[0].from_step == 10


def test_that_a_wrong_setting_is_refused_with_nothing_written(lost, runs_dir):
    with pytest.raises(plans.PlanError):
        resume(lost, plan=changed(lost, "training.epoch=3"))
    with pytest.raises(plans.PlanError):
        resume(lost, plan=changed(lost, "training.batch_size=0"))
    assert len(directories(runs_dir)) == 1


def test_that_the_history_of_a_resumed_run_is_one_curve_from_the_first_step(lost):
    first = resumed(
        lost, checkpoint="step-00000004", flags=("--vanish-at", "9", "--checkpoint-every", "4")
    )
    second = resumed(first.directory, flags=("--checkpoint-every", "0"))
    history = read_history(second.directory)
    assert history.state == "finished"
    assert history.losses.column("step").tolist() == list(range(1, 11))
    assert history.losses.column("loss").tolist() == pytest.approx(
        [1 / step for step in range(1, 11)]
    )
    assert history.epochs.numbers.tolist() == [1, 2]
    assert history.started.from_step == 8


def test_that_an_ancestor_which_was_deleted_is_missing_and_nothing_else(lost, runs_dir):
    launched = resumed(lost)
    lost.path.rename(runs_dir / ".gone")
    assert read_history(launched.directory).losses.column("step").tolist() == [7, 8, 9, 10]


def test_that_runs_which_name_each_other_as_ancestors_do_not_go_round_for_ever(lost):
    launched = resumed(lost)
    lost.resume_file.write_text(
        json.dumps({"run": launched.directory.id, "checkpoint": "x", "epoch": 0, "step": 5})
    )
    assert read_history(launched.directory).losses.column("step").tolist() == list(range(1, 11))


def test_that_an_ancestor_is_only_looked_for_beside_the_run(lost, tmp_path):
    launched = resumed(lost)
    launched.directory.resume_file.write_text(
        json.dumps({"run": "../../etc", "checkpoint": "x", "step": 6})
    )
    assert read_history(launched.directory).losses.column("step").tolist() == [7, 8, 9, 10]


def test_that_a_launch_which_cannot_take_the_checkpoint_over_leaves_nothing_behind(lost, runs_dir):
    chosen = choose(lost)
    (chosen.checkpoint.path / "weights.npz").unlink()
    (chosen.checkpoint.path / "weights.npz").symlink_to("/no/such/file")
    (chosen.checkpoint.path / "state.json").unlink()
    (chosen.checkpoint.path / "state.json").symlink_to("/no/such/file")
    with pytest.raises(OSError, match="a link, which is not followed"):
        launch(plans.load(lost.plan_file), runs_dir, resume=chosen)
    assert [run.id for run in directories(runs_dir)] == [lost.id]


def test_that_nothing_but_the_two_files_of_a_checkpoint_is_taken_over(lost, tmp_path):
    """Links to folders were once copied with all that they held, and one to itself 40 times."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "id_rsa").write_text("key")
    checkpoint = checkpoints(lost)[-1].path
    (checkpoint / "tree").symlink_to(tmp_path / "secret")
    (checkpoint / "again").symlink_to(".")
    (checkpoint / "key").symlink_to(tmp_path / "secret" / "id_rsa")
    os.mkfifo(checkpoint / "pipe")
    new = checkpoints(resumed(lost).directory)[0]
    assert sorted(path.name for path in new.path.iterdir()) == ["state.json", "weights.npz"]


def test_that_a_run_goes_on_with_another_plan_whose_files_are_looked_for_beside_it(lost, tmp_path):
    other = plans.with_settings(
        plans.load(lost.plan_file), ["training.epochs=4", "distribution.strategy=mirrored"]
    )
    launched = resumed(lost, plan=other, base=tmp_path)
    assert plans.load(launched.directory.plan_file) == other
    assert told(launched)[0].from_step == 6


def test_that_another_model_is_refused_before_anything_is_written(lost, runs_dir):
    with pytest.raises(plans.PlanError, match=r"model\.options\.hidden.*holds the weights"):
        resume(lost, plan=changed(lost, "model.options={ hidden = [3] }"))
    assert len(directories(runs_dir)) == 1
