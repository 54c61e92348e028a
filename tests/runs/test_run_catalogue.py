from __future__ import annotations

import os

import pytest
from made_runs import Script, make_run
from real_runs import eventually, has_trained

from gpu_studio.contract.directory import RunDirectory, send
from gpu_studio.contract.events import Epoch, Steps
from gpu_studio.runs import catalogue
from gpu_studio.runs.catalogue import Catalogue, LiveRunError, UnknownRunError, find, list_runs
from gpu_studio.runs.reading.epochs import BestValue
from gpu_studio.runs.reading.summary import headline, summarise


def test_that_a_directory_which_is_not_there_has_no_runs(tmp_path):
    assert list_runs(tmp_path / "nothing") == []
    with pytest.raises(UnknownRunError, match=r"no runs in .* yet"):
        find(tmp_path / "nothing", "latest")


def test_that_a_summary_says_what_the_whole_history_says(ended, runs_dir):
    run = ended("--checkpoint-every", "4").directory
    [summary] = list_runs(runs_dir)
    assert (summary.id, summary.plan, summary.state, summary.reason) == (
        run.id,
        "a plan",
        "finished",
        "completed",
    )
    assert (summary.epoch, summary.epochs_total, summary.step, summary.steps_total) == (
        2,
        2,
        10,
        10,
    )
    assert summary.best == BestValue("val_accuracy", 0.9, 2)
    assert summary.curve == (0.8, 0.9)
    assert summary.peaks == {"CPU:0": 2 << 20}
    assert (summary.strategy, summary.resumed_from, summary.live) == ("none", None, False)
    assert summary.seconds > 0


def test_that_runs_are_listed_newest_first_whatever_their_state(ended, start, runs_dir):
    runs = [ended(), ended("--fail-at", "2"), ended("--crash-at", "2"), start("--hold-at", "2")]
    eventually(has_trained(runs[-1], 2))
    found = list_runs(runs_dir)
    assert [summary.id for summary in found] == [
        launched.directory.id for launched in reversed(runs)
    ]
    assert [summary.state for summary in found] == ["running", "lost", "failed", "finished"]
    assert [summary.step for summary in found] == [2, 2, 2, 10]


def test_that_a_run_started_when_its_trainer_did_though_its_id_is_ahead_of_the_clock(tmp_path):
    def started(ago: float) -> tuple[float, float]:
        run = make_run(tmp_path, Script(trained=1, ago=ago))
        summary = summarise(run)
        return summary.started, summary.created

    ahead, by_its_id = started(3600.0)
    assert 3500 < by_its_id - ahead < 3700
    # It was made before its trainer began, as every run whose clock was left alone.
    usual, by_its_id = started(-3600.0)
    assert usual == by_its_id


def test_that_a_run_whose_end_met_a_full_disk_is_lost_for_that_reason(tmp_path):
    run = RunDirectory.create(tmp_path, "x")
    assert summarise(run).reason == "the trainer ended without a word"
    words = "The last events of this run could not be written: No space left on device."
    run.lock_file.write_text(f"1 elsewhere\n{words}\n")
    assert (summarise(run).state, summarise(run).reason) == (
        "lost",
        "the last events of this run could not be written: No space left on device",
    )


def test_that_what_is_no_run_is_not_listed(ended, runs_dir):
    run = ended().directory
    RunDirectory.prepare(runs_dir, "not yet")
    (runs_dir / "notes").mkdir()
    (runs_dir / "file").touch()
    assert [summary.id for summary in list_runs(runs_dir)] == [run.id]


def test_that_a_run_whose_files_are_garbage_is_listed_as_far_as_it_can_be_read(ended, runs_dir):
    run = ended().directory
    run.plan_file.write_bytes(b"\xff\x00")
    run.events_file.write_bytes(b"\xff\x00\n" * 10)
    [summary] = list_runs(runs_dir)
    assert (summary.plan, summary.state, summary.step) == (run.id, "lost", 0)


def test_that_a_catalogue_reads_again_only_what_changed(ended, start, runs_dir):
    catalogue = Catalogue(runs_dir)
    ended()
    live = start("--hold-at", "2")
    eventually(has_trained(live, 2))
    before = catalogue.summaries()
    live.process.kill()
    live.process.wait()
    after = catalogue.summaries()
    assert after[1] is before[1]
    assert (before[0].step, after[0].step) == (2, 2)
    assert (before[0].state, after[0].state) == ("running", "lost")


@pytest.mark.parametrize(("names", "chosen"), [
    (["loss", "val_loss", "accuracy", "val_accuracy"], "val_accuracy"),
    (["loss", "accuracy"], "accuracy"),
    (["loss", "mean_squared_error", "val_loss"], "val_loss"),
    (["loss"], "loss"),
    (["something"], "something"),
    ([], None),
])  # fmt: skip
def test_that_the_metric_which_says_most_is_shown(names, chosen):
    from gpu_studio.runs.reading.epochs import EpochTable

    table = EpochTable()
    table.add(
        Epoch(epoch=1, step=1, metrics=dict.fromkeys(names, 1.0), seconds=1, samples_per_second=1)
    )
    assert headline(table) == chosen


def test_that_a_catalogue_goes_on_where_it_stopped_reading(start, runs_dir):
    catalogue = Catalogue(runs_dir)
    live = start("--hold-at", "2")
    eventually(lambda: catalogue.summaries()[0].step == 2, "two steps")
    send(live.directory, "stop")
    live.process.wait()
    [summary] = catalogue.summaries()
    assert (summary.state, summary.reason, summary.step) == ("stopped", "stopped", 2)
    assert summary == summarise(live.directory)


def test_that_runs_that_are_gone_are_forgotten(ended, runs_dir):
    catalogue = Catalogue(runs_dir)
    run = ended().directory
    assert len(catalogue.summaries()) == 1
    run.path.rename(runs_dir / ".elsewhere")
    assert catalogue.summaries() == []


def test_that_a_run_is_found_by_id_by_its_beginning_by_any_part_and_as_the_latest(ended, runs_dir):
    first, second = ended().directory, ended().directory
    assert find(runs_dir, first.id) == first
    # With some of the plan's name: four digits alone may be in the time of another run.
    assert find(runs_dir, first.id[-7:]) == first
    assert find(runs_dir, second.id[:-1]) == second
    assert find(runs_dir, "latest") == second


def test_that_a_whole_name_goes_before_a_part_of_another(runs_dir):
    together, alone = (make_run(runs_dir, Script(name=name)) for name in ("sync", "async"))
    assert find(runs_dir, "sync") == together
    assert find(runs_dir, "async") == alone
    with pytest.raises(UnknownRunError, match="may mean any of"):
        find(runs_dir, "syn")


def test_that_what_means_several_runs_or_none_is_refused_with_their_names(ended, runs_dir):
    first, second = ended().directory, ended().directory
    with pytest.raises(UnknownRunError, match="may mean any of") as refused:
        find(runs_dir, "a-plan")
    assert first.id in str(refused.value)
    assert second.id in str(refused.value)
    with pytest.raises(UnknownRunError, match=f"nearest is {first.id}"):
        find(runs_dir, first.id + "x")
    with pytest.raises(UnknownRunError):
        find(runs_dir, "")
    with pytest.raises(UnknownRunError, match="there is no such folder"):
        find(runs_dir, "~nobody-of-this-name/run")


def test_that_a_deleted_run_can_be_taken_back_whole(ended, runs_dir):
    run = ended().directory
    before = run.events_file.read_bytes()
    catalogue.delete(run)
    assert list_runs(runs_dir) == []
    assert catalogue.purge(runs_dir) == []
    assert catalogue.restore(runs_dir, run.id) == run
    assert run.events_file.read_bytes() == before
    assert len(list_runs(runs_dir)) == 1


def test_that_of_two_that_delete_a_run_the_second_is_told_and_shown_the_way_back(ended, runs_dir):
    run = ended().directory
    catalogue.delete(run)
    back = f"gpu-studio runs restore {run.id}"
    with pytest.raises(UnknownRunError, match=f"was deleted or moved meanwhile.*{back}$"):
        catalogue.delete(run)
    with pytest.raises(UnknownRunError, match=f"{run.id} is not in .* any more.*{back}$"):
        find(runs_dir, run.id)


def test_that_what_was_deleted_long_ago_goes_for_good(ended, runs_dir):
    old, new = ended().directory, ended().directory
    os.utime(catalogue.delete(old), (1e9, 1e9))
    catalogue.delete(new)
    assert catalogue.purge(runs_dir) == [old.id]
    with pytest.raises(UnknownRunError, match="no longer in the trash"):
        catalogue.restore(runs_dir, old.id)
    catalogue.restore(runs_dir, new.id)


def test_that_nothing_in_the_trash_keeps_runs_from_being_deleted(ended, runs_dir, tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    trash = runs_dir / catalogue.TRASH
    trash.mkdir(parents=True)
    for name, to in (("nothing", "missing"), ("loop", "loop"), ("leads", tmp_path / "kept")):
        (trash / name).symlink_to(to)
        os.utime(trash / name, (1, 1), follow_symlinks=False)
    (trash / "file").touch()
    os.mkfifo(trash / "pipe")
    for name in ("file", "pipe"):
        os.utime(trash / name, (1, 1))
    (runs_dir / ".new-nothing").symlink_to("missing")
    run = ended().directory
    catalogue.purge(runs_dir)
    assert list(trash.iterdir()) == []
    assert (tmp_path / "kept" / "file").exists()
    assert catalogue.delete(run).is_dir()


@pytest.mark.parametrize("name", ["../../victim", "..", ".", "", "x/../../../victim"])
def test_that_only_what_is_in_the_trash_is_taken_out_of_it(tmp_path, name):
    """A name was once taken for a path, and a folder elsewhere moved."""
    victim = tmp_path / "victim"
    victim.mkdir()
    runs = tmp_path / "restore" / "runs"
    (runs / catalogue.TRASH / "x").mkdir(parents=True)
    for given in (name, str(victim)):
        with pytest.raises(UnknownRunError, match="no longer in the trash"):
            catalogue.restore(runs, given)
    assert victim.is_dir()


def test_that_a_trash_that_leads_elsewhere_takes_nothing_and_gives_nothing(
    ended, runs_dir, tmp_path
):
    run = ended().directory
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "old").mkdir(parents=True)
    os.utime(elsewhere / "old", (1, 1))
    (runs_dir / catalogue.TRASH).symlink_to(elsewhere)
    with pytest.raises(OSError, match="this is a link"):
        catalogue.delete(run)
    with pytest.raises(OSError, match="this is a link"):
        catalogue.purge(runs_dir)
    with pytest.raises(UnknownRunError):
        catalogue.restore(runs_dir, "old")
    assert (run.exists(), (elsewhere / "old").is_dir()) == (True, True)


def test_that_a_living_run_is_not_deleted(start, runs_dir):
    launched = start("--hold-at", "2")
    with pytest.raises(LiveRunError, match="stop it first"):
        catalogue.delete(launched.directory)
    assert launched.directory.exists()


def test_that_the_frequent_events_skipped_for_speed_change_no_figure(ended, runs_dir):
    from gpu_studio.runs.lineage import read_history

    run = ended("--epochs", "3", "--steps", "7").directory
    history = read_history(run)
    [summary] = list_runs(runs_dir)
    assert history.losses.total == 21
    assert isinstance(next(event for event in _events(run) if isinstance(event, Steps)), Steps)
    assert (summary.step, summary.epoch, summary.seconds) == (
        history.step,
        history.epoch,
        history.seconds,
    )
    assert summary.peaks == {device: memory.peak for device, memory in history.memory.items()}


def _events(run):
    from gpu_studio.runs.lineage import events_of

    return events_of(run)
