"""The one way to open a file that someone else may have replaced."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.common.safe_files import NotRegularError, open_regular, read_regular, read_text
from gpu_studio.contract.failure_texts import refusal_of_disk


def a_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def a_link_to(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(target)


IRREGULAR: dict[str, tuple[Callable[[Path], object], str]] = {
    "pipe": (os.mkfifo, "a pipe"),
    "socket": (a_socket, "a socket"),
    "link to a device that never ends": (a_link_to("/dev/zero"), "a link"),
    "link to another file": (a_link_to("/etc/hostname"), "a link"),
    "link to nothing": (a_link_to("nothing"), "a link"),
    "link to itself": (a_link_to("x"), "a link"),
}


@pytest.mark.parametrize(
    "flags", [os.O_RDONLY, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, os.O_RDWR | os.O_CREAT]
)
@pytest.mark.parametrize("kind", IRREGULAR)
def test_that_what_is_no_file_is_neither_waited_for_nor_written(
    tmp_path: Path, kind: str, flags: int
) -> None:
    make, words = IRREGULAR[kind]
    path = tmp_path / "x"
    make(path)
    with pytest.raises(NotRegularError, match=words) as refused:
        open_regular(path, flags)
    assert refused.value.filename == str(path)
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize("target", ["/dev/zero", "/dev/null", "pipe"])
def test_that_a_link_that_is_followed_must_lead_to_a_file(tmp_path: Path, target: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "x").symlink_to(target)
    with pytest.raises(NotRegularError):
        read_regular(tmp_path / "x", 10, follow=True)


def test_that_what_was_swapped_after_the_look_is_refused_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "x")
    monkeypatch.setattr("gpu_studio.common.safe_files._refuse_irregular", lambda path, follow: None)
    with pytest.raises(NotRegularError):
        open_regular(tmp_path / "x")
    (tmp_path / "y").symlink_to("/etc/hostname")
    with pytest.raises(OSError, match="symbolic links"):
        open_regular(tmp_path / "y")


def test_that_links_above_a_file_are_the_users_own(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x").write_text("here")
    (tmp_path / "runs").symlink_to("data")
    assert read_regular(tmp_path / "runs" / "x", 10) == b"here"
    (tmp_path / "link").symlink_to("data/x")
    assert read_text(tmp_path / "link", 10, follow=True) == "here"


@given(st.binary(max_size=64), st.integers(0, 64))
def test_that_a_file_is_read_whole_or_not_at_all(
    tmp_path_factory: pytest.TempPathFactory, held: bytes, most: int
) -> None:
    path = tmp_path_factory.mktemp("read") / "x"
    path.write_bytes(held)
    if len(held) <= most:
        assert read_regular(path, most) == held
    else:
        with pytest.raises(OSError, match="larger than"):
            read_regular(path, most)


def test_that_a_folder_and_nothing_are_told_as_ever(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        open_regular(tmp_path)
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "x")


def test_that_a_file_that_is_made_is_the_owners_only(tmp_path: Path) -> None:
    os.close(open_regular(tmp_path / "x", os.O_WRONLY | os.O_CREAT))
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o600


def test_that_a_file_too_large_to_be_read_is_not_told_as_a_limit_on_writing(tmp_path):
    (tmp_path / "large").write_bytes(b"1234")
    with pytest.raises(OSError, match="this is larger") as refused:
        read_regular(tmp_path / "large", 3)
    assert refusal_of_disk(refused.value) == ""
