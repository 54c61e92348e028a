"""Which Python code of a user's own may run: what is written down, and what it means for a file."""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from patience import PATIENCE_S
from real_runs import PLAN

from gpu_studio.contract import consent
from gpu_studio.contract.consent import Standing, allowances, standing
from gpu_studio.contract.user_files import code_files
from gpu_studio.plan import Data, ModelSettings, with_absolute_files
from gpu_studio.plan.local_modules import LONGEST_CODE, read_code


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "models.py"
    path.write_text("def build(): ...\n")
    return path


def allow(path: Path) -> None:
    consent.allow_file(path, path.read_bytes())


def of(path: Path) -> Standing:
    return standing(path, read_code(path))


def test_that_nothing_is_allowed_at_first(file: Path) -> None:
    assert of(file) is Standing.NEW
    assert allowances() == consent.Allowances()
    assert not consent.allowances_file().exists()


def test_that_a_file_is_allowed_as_it_is_and_no_other_way(file: Path) -> None:
    allow(file)
    assert of(file) is Standing.ALLOWED
    file.write_text("def build(): return 1\n")
    assert of(file) is Standing.CHANGED
    allow(file)
    assert of(file) is Standing.ALLOWED


def test_that_the_same_code_elsewhere_is_another_file(file: Path) -> None:
    allow(file)
    copy = file.with_name("copy.py")
    copy.write_bytes(file.read_bytes())
    assert of(copy) is Standing.NEW


def test_that_a_folder_allows_all_that_is_in_and_below_it_and_nothing_beside_it(file: Path) -> None:
    inner = file.parent / "nets" / "deep" / "models.py"
    inner.parent.mkdir(parents=True)
    beside = file.parent / "nets-of-others" / "models.py"
    beside.parent.mkdir()
    for path in (inner, beside):
        path.write_text("1\n")
    consent.allow_folder(file.parent / "nets")
    assert (of(inner), of(beside), of(file)) == (Standing.ALLOWED, Standing.NEW, Standing.NEW)
    inner.write_text("2\n")
    assert of(inner) is Standing.ALLOWED


def test_that_links_lead_to_the_file_that_would_run(file: Path, tmp_path: Path) -> None:
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    consent.allow_folder(allowed)
    link = allowed / "link.py"
    link.symlink_to(file)
    assert of(link) is Standing.NEW
    allow(link)
    assert of(file) is Standing.ALLOWED
    (tmp_path / "elsewhere").symlink_to(allowed)
    inside = allowed / "own.py"
    inside.write_text("1\n")
    assert of(tmp_path / "elsewhere" / "own.py") is Standing.ALLOWED
    assert (
        of(allowed / ".." / "models.py") is Standing.ALLOWED
    )  # by its own word, not by the folder's
    assert standing(allowed / ".." / "other.py", b"") is Standing.NEW


def test_that_links_in_a_circle_are_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.py").symlink_to(tmp_path / "b.py")
    (tmp_path / "b.py").symlink_to(tmp_path / "a.py")
    assert standing(tmp_path / "a.py", b"") is Standing.NEW
    with pytest.raises(OSError, match="symbolic links"):
        read_code(tmp_path / "a.py")


def test_that_a_pipe_and_a_device_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    for path in (tmp_path / "pipe.py", Path("/dev/zero")):
        with pytest.raises(OSError, match="no file"):
            read_code(path)
    with pytest.raises(IsADirectoryError):
        read_code(tmp_path)


def test_that_what_is_too_long_for_a_program_is_not_read(file: Path) -> None:
    file.write_bytes(b"#" * LONGEST_CODE)
    assert len(read_code(file)) == LONGEST_CODE
    file.write_bytes(b"#" * (LONGEST_CODE + 1))
    with pytest.raises(OSError, match="larger than 1 MiB"):
        read_code(file)


def test_that_allowances_are_for_their_owner_s_eyes(file: Path) -> None:
    allow(file)
    kept = consent.allowances_file()
    for path, mode in ((kept, 0o600), (kept.with_suffix(".lock"), 0o600), (kept.parent, 0o700)):
        assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.parametrize(
    "held", [b"", b"{", b"[]", b'{"files": 3}', b"\xff", b'{"files": {"/a": 1}}', b"[" * 100_000]
)
def test_that_a_damaged_file_allows_nothing_says_so_and_is_not_overwritten(
    file: Path, held: bytes
) -> None:
    allow(file)
    consent.allowances_file().write_bytes(held)
    assert of(file) is Standing.NEW
    assert "no Python file is allowed: remove it" in allowances().problem
    with pytest.raises(OSError, match="remove it"):
        allow(file)
    assert consent.allowances_file().read_bytes() == held


def test_that_a_folder_in_the_place_of_the_allowances_is_told(file: Path) -> None:
    consent.allowances_file().mkdir(parents=True)
    assert of(file) is Standing.NEW
    assert "Is a directory" in allowances().problem


@pytest.mark.parametrize("folder", ["", ".", "tmp", "..", "/nowhere/../nowhere"])
def test_that_a_folder_that_somebody_wrote_by_hand_must_be_whole(file: Path, folder: str) -> None:
    consent.allow_folder(file.parent / "nets")
    kept = consent.allowances_file()
    kept.write_text(kept.read_text().replace(str(file.parent / "nets"), folder))
    assert of(file) is Standing.NEW


def test_that_what_was_allowed_can_be_withdrawn_once(file: Path) -> None:
    allow(file)
    consent.allow_folder(file.parent)
    assert consent.withdraw(file.parent)
    assert of(file) is Standing.ALLOWED
    assert consent.withdraw(file)
    assert of(file) is Standing.NEW
    assert not consent.withdraw(file)
    assert allowances() == consent.Allowances()


def test_that_a_file_that_is_gone_can_be_withdrawn(file: Path) -> None:
    allow(file)
    file.unlink()
    assert consent.withdraw(file)
    assert not allowances().files


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a disk may be slow, and a lock is not given in the order in which it was asked for."""
    monkeypatch.setattr(consent, "LONGEST_WAIT", PATIENCE_S)


@pytest.mark.usefixtures("patient")
def test_that_two_windows_at_once_lose_nothing(tmp_path: Path) -> None:
    def allow_many(writer: int) -> None:
        for number in range(20):
            consent.allow_file(tmp_path / f"{writer}-{number}.py", b"1")

    writers = [threading.Thread(target=allow_many, args=(writer,)) for writer in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(allowances().files) == 80


def test_that_two_processes_at_once_lose_nothing(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from gpu_studio.contract import consent\n"
        f"consent.LONGEST_WAIT = {PATIENCE_S}\n"
        "for number in range(20): consent.allow_file(Path(sys.argv[1]) / "
        "f'{sys.argv[2]}-{number}.py', b'1')"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path), str(name)])
        for name in range(2)
    ]
    assert [writer.wait(PATIENCE_S) for writer in writers] == [0, 0]
    assert len(allowances().files) == 40


def test_that_a_program_that_never_ends_writing_is_not_waited_for_for_ever(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow(file)
    monkeypatch.setattr(consent, "LONGEST_WAIT", 0.05)
    with consent.allowances_file().with_suffix(".lock").open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(OSError, match="another program holds"):
            consent.withdraw(file)
    assert of(file) is Standing.ALLOWED


def test_that_a_path_that_cannot_be_written_down_is_said_and_changes_nothing(file: Path) -> None:
    allow(file)
    odd = Path(os.fsdecode(os.fsencode(file.parent) + b"/\xff.py"))
    odd.write_text("1\n")
    with pytest.raises(OSError, match="no UTF-8"):
        allow(odd)
    assert of(file) is Standing.ALLOWED
    assert of(odd) is Standing.NEW


def test_that_a_plan_s_files_are_named_once_and_start_at_its_folder(tmp_path: Path) -> None:
    both = replace(PLAN, model=ModelSettings(python="m.py:build"), data=Data(python="m.py:load"))
    assert code_files(with_absolute_files(both, tmp_path)) == [tmp_path / "m.py"]
    apart = replace(both, data=Data(python="/d/x.py:load"))
    assert code_files(with_absolute_files(apart, tmp_path)) == [tmp_path / "m.py", Path("/d/x.py")]
    none = replace(PLAN, model=ModelSettings(python="no function"))
    assert code_files(with_absolute_files(none, tmp_path)) == []


SEGMENTS = st.sampled_from(["a", "b", "a.py", "b.py", "ä ö"])
PATHS = st.lists(SEGMENTS, min_size=1, max_size=3).map(
    lambda parts: Path("/nowhere-at-all", *parts)
)
CODE = st.sampled_from([b"", b"1", b"2"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("file"), PATHS, CODE),
        st.tuples(st.just("folder"), PATHS, CODE),
        st.tuples(st.just("withdraw"), PATHS, CODE),
    ),
    max_size=8,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS, PATHS, CODE)
def test_that_after_any_words_a_file_runs_if_the_last_word_on_it_or_a_folder_above_said_so(
    steps: list[tuple[str, Path, bytes]], asked: Path, code: bytes
) -> None:
    consent.allowances_file().unlink(missing_ok=True)
    files: dict[Path, bytes] = {}
    folders: set[Path] = set()
    for kind, path, held in steps:
        if kind == "file":
            consent.allow_file(path, held)
            files[path] = held
        elif kind == "folder":
            consent.allow_folder(path)
            folders.add(path)
        else:
            assert consent.withdraw(path) is (path in files or path in folders)
            files.pop(path, None)
            folders.discard(path)
    expected = (
        Standing.ALLOWED
        if files.get(asked) == code or any(asked.is_relative_to(folder) for folder in folders)
        else Standing.CHANGED
        if asked in files
        else Standing.NEW
    )
    assert standing(asked, code) is expected
