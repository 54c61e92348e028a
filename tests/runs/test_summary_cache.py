"""What is kept of a folder of runs between two programs that list it."""

from __future__ import annotations

import os
import stat

import pytest
from made_runs import Script, make_run, tell

from gpu_studio.contract import RunDirectory, events
from gpu_studio.runs.catalogue import Catalogue
from gpu_studio.runs.reading import summary
from gpu_studio.runs.reading.summary import Skimmer


@pytest.fixture
def read(monkeypatch):
    """The ids of the runs whose events are read."""
    found = []
    summary = Skimmer.summary

    def watched(skimmer):
        found.append(skimmer.run.id)
        return summary(skimmer)

    monkeypatch.setattr(Skimmer, "summary", watched)
    return found


def kept_file(runs_dir):
    return summary.cache_file(runs_dir)


def two_runs(runs_dir):
    script = Script(trained=2, epochs=2, ending="completed")
    return [
        make_run(runs_dir, script),
        make_run(runs_dir, Script(trained=1, nan_at=3, epochs=2, ending="failed")),
    ]


def test_that_the_next_program_reads_no_run_that_has_ended_and_says_the_same(runs_dir, read):
    two_runs(runs_dir)
    before = Catalogue(runs_dir).summaries()
    assert len(read) == 2
    assert Catalogue(runs_dir).summaries() == before
    assert len(read) == 2
    assert stat.S_IMODE(kept_file(runs_dir).stat().st_mode) == 0o600


def not_utf8(run):
    return RunDirectory(run.path.rename(run.path.with_name(os.fsdecode(b"\xff\xfe-run"))))


def of_the_far_future(run):
    os.utime(run.events_file, (1e12, 1e12))
    return run


@pytest.mark.parametrize("spoil", [not_utf8, of_the_far_future])
def test_that_a_run_that_cannot_be_kept_hides_no_other_and_keeps_none_from_being_kept(
    runs_dir, read, spoil
):
    sound, odd = two_runs(runs_dir)
    odd = spoil(odd)
    before = Catalogue(runs_dir).summaries()
    assert {each.id for each in before} == {sound.id, odd.id}
    del read[:]
    assert {each.id for each in Catalogue(runs_dir).summaries()} == {sound.id, odd.id}
    assert read == [odd.id]


def test_that_a_folder_whose_name_is_no_utf8_is_listed(tmp_path):
    runs = tmp_path / os.fsdecode(b"r\xff")
    run, _ = two_runs(runs)
    assert run.id in {each.id for each in Catalogue(runs).summaries()}
    assert len(Catalogue(runs).summaries()) == 2


def test_that_a_run_whose_events_have_changed_is_read_again(runs_dir, read):
    changed, _ = two_runs(runs_dir)
    Catalogue(runs_dir).summaries()
    tell(changed, events.Warned(message="late"))
    Catalogue(runs_dir).summaries()
    assert read[2:] == [changed.id]


@pytest.mark.parametrize("spoil", [b"", b"garbage", b"\x93\x91\xa11\xa1x\x80", None])
def test_that_a_file_which_is_none_or_another_versions_is_as_good_as_none(
    runs_dir, read, spoil, monkeypatch
):
    two_runs(runs_dir)
    before = Catalogue(runs_dir).summaries()
    if spoil is None:
        monkeypatch.setattr(summary, "__version__", "another")
    else:
        kept_file(runs_dir).write_bytes(spoil)
    assert Catalogue(runs_dir).summaries() == before
    assert len(read) == 4


def test_that_runs_which_are_gone_are_forgotten_when_it_is_written_next(runs_dir):
    gone, _ = two_runs(runs_dir)
    Catalogue(runs_dir).summaries()
    gone.path.rename(runs_dir / ".gone")
    make_run(runs_dir, Script(trained=1, epochs=1, ending="completed"))
    Catalogue(runs_dir).summaries()
    assert len(summary.load_summaries(runs_dir)) == 2
    assert gone.id not in summary.load_summaries(runs_dir)


def test_that_little_is_kept_for_the_next_program_but_not_written_anew_by_the_same(runs_dir):
    first, second = two_runs(runs_dir)
    catalogue = Catalogue(runs_dir)
    catalogue.summaries()
    later = make_run(runs_dir, Script(trained=1, epochs=1, ending="completed"))
    assert later.id in {each.id for each in catalogue.summaries()}
    assert set(summary.load_summaries(runs_dir)) == {first.id, second.id}


def test_that_where_nothing_can_be_kept_runs_are_listed_all_the_same(runs_dir):
    two_runs(runs_dir)
    folder = kept_file(runs_dir).parent
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_bytes(b"a file in its place")
    assert len(Catalogue(runs_dir).summaries()) == 2
    folder.unlink()
