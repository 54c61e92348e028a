"""Runs have short, permanent numbers, and are found by them."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from patience import PATIENCE_S

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.runs import catalogue, labels
from gpu_studio.runs.catalogue import UnknownRunError, deleted, find, list_runs
from gpu_studio.runs.labels import NUMBERS_FILE, number_all, number_of, numbers_in, title_of


def add(runs: Path, second: int) -> RunDirectory:
    """A run that was begun in this second, of a plan called `digits`."""
    run = RunDirectory(runs / f"20260101T0000{second:02}Z-digits-{second:04x}")
    run.path.mkdir(parents=True)
    run.plan_file.write_text('name = "digits"')
    return run


def numbers(runs: Path) -> dict[str, int | None]:
    return {summary.id: summary.number for summary in list_runs(runs)}


def test_that_runs_are_numbered_from_the_oldest_on_and_say_so_in_their_titles(
    tmp_path: Path,
) -> None:
    second, first = add(tmp_path, 2), add(tmp_path, 1)
    assert numbers(tmp_path) == {first.id: 1, second.id: 2}
    assert title_of(second) == "#2 digits"


def test_that_a_number_stays_when_others_are_deleted_and_is_never_given_again(
    tmp_path: Path,
) -> None:
    first, second = add(tmp_path, 1), add(tmp_path, 2)
    numbers(tmp_path)
    catalogue.delete(first)
    third = add(tmp_path, 3)
    assert numbers(tmp_path) == {second.id: 2, third.id: 3}
    catalogue.restore(tmp_path, first.id)
    assert numbers(tmp_path) == {first.id: 1, second.id: 2, third.id: 3}
    catalogue.delete(third)
    fourth = add(tmp_path, 4)
    assert numbers(tmp_path)[fourth.id] == 4


def test_that_a_run_copied_from_elsewhere_gets_a_number_and_stays_as_it_is(tmp_path: Path) -> None:
    known, copied = add(tmp_path, 9), RunDirectory(tmp_path / "from my colleague")
    numbers(tmp_path)
    copied.path.mkdir()
    copied.plan_file.write_text('name = "hers"')
    before = sorted(path.name for path in copied.path.iterdir())
    assert numbers(tmp_path) == {known.id: 1, copied.id: 2}
    assert sorted(path.name for path in copied.path.iterdir()) == before


def test_that_runs_begun_at_once_by_many_get_each_a_number_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The lock is not given in the order in which it was asked for.
    monkeypatch.setattr(labels, "_WAIT_SECONDS", PATIENCE_S)
    runs = [add(tmp_path, second) for second in range(24)]
    begin = threading.Barrier(len(runs))

    def launch(run: RunDirectory) -> None:
        begin.wait()
        number_all(tmp_path, [run])

    threads = [threading.Thread(target=launch, args=[run]) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(number_of(run) or 0 for run in runs) == list(range(1, 25))


@pytest.mark.parametrize("make", [lambda path: path.symlink_to("/dev/zero"), os.mkfifo, Path.mkdir])
def test_that_whatever_stands_in_the_place_of_the_numbers_keeps_no_list_from_being_read(
    tmp_path: Path, make
) -> None:
    first, second = add(tmp_path, 1), add(tmp_path, 2)
    make(tmp_path / NUMBERS_FILE)
    assert numbers(tmp_path) == {first.id: 1, second.id: 2}


@given(st.binary(max_size=60))
def test_that_whatever_the_file_holds_no_two_runs_share_a_number(
    tmp_path_factory, data: bytes
) -> None:
    runs = tmp_path_factory.mktemp("runs")
    made = [add(runs, 1), add(runs, 2), add(runs, 3)]
    (runs / NUMBERS_FILE).write_bytes(data + made[1].id.encode())
    given_ = numbers(runs)
    assert len(set(given_.values())) == 3
    assert given_ == numbers(runs)
    assert numbers_in(runs)[made[1].id] == given_[made[1].id]


def test_that_a_run_is_found_by_its_number(tmp_path: Path) -> None:
    first, second = add(tmp_path, 1), add(tmp_path, 2)
    assert [find(tmp_path, text) for text in ("1", "#1", "2", "#2")] == [
        first,
        first,
        second,
        second,
    ]


def test_that_the_number_of_a_run_that_is_gone_is_never_taken_for_a_part_of_another_id(
    tmp_path: Path,
) -> None:
    first, second = add(tmp_path, 1), add(tmp_path, 2)
    numbers(tmp_path)
    catalogue.delete(first)
    assert "1" in second.id
    with pytest.raises(
        UnknownRunError, match=f"Run #1, {first.id}, is not .* runs restore {first.id}"
    ):
        find(tmp_path, "1")
    with pytest.raises(UnknownRunError, match="There is no run #7"):
        find(tmp_path, "#7")
    assert deleted(tmp_path, "1") == deleted(tmp_path, "#1") == first.id
    # No run was ever given so great a number, so it can only be a part of an id.
    assert find(tmp_path, "000002") == second


def test_that_a_run_is_found_by_the_path_that_the_shell_completes(
    tmp_path: Path, monkeypatch
) -> None:
    runs = tmp_path / "runs"
    run = add(runs, 1)
    add(runs, 2)
    link = tmp_path / "link"
    link.symlink_to(runs)
    monkeypatch.chdir(runs)
    for text in (
        f"{run.id}/",
        f"./{run.id}",
        str(run.path),
        f"{run.path}/",
        f"../runs/{run.id}",
        f"{link}/{run.id}/",
    ):
        assert find(runs, text) == run
    monkeypatch.chdir(run.path)
    assert find(runs, ".") == run
    run.checkpoints.mkdir()
    monkeypatch.chdir(run.checkpoints)
    assert find(runs, "..") == run


def test_that_a_run_that_is_kept_elsewhere_can_only_be_looked_at(
    tmp_path: Path, monkeypatch
) -> None:
    runs, other = tmp_path / "runs", add(tmp_path / "elsewhere", 1)
    add(runs, 2)
    assert find(runs, f"{other.path}/", elsewhere=True) == other
    with pytest.raises(
        UnknownRunError, match=f"only be looked at .* --runs-dir {other.path.parent}"
    ):
        find(runs, str(other.path))
    monkeypatch.chdir(other.path.parent)
    assert find(runs, other.id, elsewhere=True) == other
    assert not (other.path.parent / NUMBERS_FILE).exists()


def test_that_a_folder_without_a_run_says_so(tmp_path: Path) -> None:
    with pytest.raises(UnknownRunError, match="not the folder of a run: there is no run in it"):
        find(tmp_path, f"{tmp_path}/", elsewhere=True)
    with pytest.raises(UnknownRunError, match="there is no such folder"):
        find(tmp_path, "./nothing/", elsewhere=True)


def test_that_a_line_that_is_no_name_of_a_folder_numbers_no_run(tmp_path):
    (tmp_path / NUMBERS_FILE).write_bytes(b"a\n" + b"x" * 1_000_000 + b"\n\nb\n")
    assert dict(numbers_in(tmp_path)) == {"a": 1, "b": 4}
