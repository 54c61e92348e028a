"""The library of practice cards: built once, for the TensorFlow that loads it."""

import importlib.metadata
from pathlib import Path

import pytest

from gpu_studio.common.practice import (
    PracticeCards,
    PracticeError,
    chosen,
    identity,
    practice_cards,
)
from gpu_studio.hardware import practice


@pytest.mark.parametrize(
    ("text", "cards"),
    [
        ("4x2GiB", PracticeCards(4, 2048)),
        (" 2 × 512 MiB ", PracticeCards(2, 512)),
        ("8g", PracticeCards(1, 8192)),
        ("1X4gb", PracticeCards(1, 4096)),
    ],
)
def test_that_cards_are_read_as_people_write_them(text, cards):
    assert practice_cards(text) == cards
    assert practice_cards(str(cards)) == practice_cards(cards.title) == cards


@pytest.mark.parametrize("text", ["", "4", "H100", "0x2GiB", "17x2GiB", "1x100MiB", "1x2000GiB"])
def test_that_cards_that_cannot_be_are_refused_in_words(text):
    with pytest.raises(PracticeError, match=r"write 4x2GiB|choose"):
        practice_cards(text)


def test_that_a_process_without_the_variable_has_no_practice_cards():
    assert chosen({}) is None
    assert chosen({"GPU_STUDIO_PRACTICE": "2x1GiB"}) == PracticeCards(2, 1024)


def test_that_no_two_cards_share_an_identity():
    assert len({each for place in range(16) for each in identity(place)}) == 32


def test_that_the_library_was_tried_with_the_tensorflow_that_is_installed():
    """It stands on C++ that TensorFlow may change: with a new version, build, look, and add it."""
    version = importlib.metadata.version("tensorflow")
    assert version.startswith(tuple(f"{known}." for known in practice.KNOWN_TENSORFLOW))


def test_that_an_untried_tensorflow_is_refused_in_words(monkeypatch, tmp_path):
    monkeypatch.setattr(importlib.metadata, "version", lambda _name: "3.0.0")
    with pytest.raises(PracticeError, match=r"made for TensorFlow 2\.21, and this is 3\.0\.0"):
        practice.built(tmp_path)


def test_that_without_a_compiler_the_message_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PracticeError, match="apt-get install g"):
        practice.build(tmp_path / "cache")


def test_that_what_the_compiler_refuses_is_told_and_leaves_nothing(monkeypatch, tmp_path):
    compiler = tmp_path / "g++"
    compiler.write_text("#!/bin/sh\necho 'no such header' >&2\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(PracticeError, match="no such header"):
        practice.build(tmp_path / "cache")
    assert practice.built(tmp_path / "cache") is None
    assert [path.suffix for path in (tmp_path / "cache").iterdir()] == [".lock"]


def test_that_a_built_library_is_used_again(monkeypatch, tmp_path):
    assert practice.built(tmp_path) is None
    monkeypatch.setattr(practice, "COMPILERS", ("true",))
    monkeypatch.setattr(practice, "_compile", lambda command, _stop: _made(command))
    first = practice.build(tmp_path)
    monkeypatch.setattr(practice, "_compile", None)
    assert practice.build(tmp_path) == practice.built(tmp_path) == first


def test_that_a_library_which_another_process_built_first_is_taken(monkeypatch, tmp_path):
    folder = practice.folder_in(tmp_path)

    def while_another_builds(command, _stop):
        _made(command)
        folder.mkdir(exist_ok=True)
        (folder / practice.CARDS_FILE).write_text("theirs")

    monkeypatch.setattr(practice, "COMPILERS", ("true",))
    monkeypatch.setattr(practice, "_compile", while_another_builds)
    assert (practice.build(tmp_path) / practice.CARDS_FILE).read_text() == "theirs"


def test_that_a_library_that_the_wheel_brings_is_used_and_needs_no_compiler(monkeypatch, tmp_path):
    name = practice.folder_in(tmp_path).name
    bundled = tmp_path / "resources" / name
    bundled.mkdir(parents=True)
    monkeypatch.setattr(practice, "_bundled", lambda wanted: (tmp_path / "resources" / wanted,))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert practice.built(tmp_path / "cache") is None
    (bundled / practice.CARDS_FILE).touch()
    assert practice.built(tmp_path / "cache") == practice.build(tmp_path / "cache") == bundled


def _made(command):
    target = command[command.index("-o") + 1]
    Path(target).write_text("built", encoding="utf-8")
