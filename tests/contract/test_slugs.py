"""Names of files and of jobs that are made of any names."""

from __future__ import annotations

import os
import re
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.contract import RunDirectory
from gpu_studio.contract.slugs import plain_slug, slug
from gpu_studio.plan import Plan, save
from gpu_studio.runs.catalogue import find
from gpu_studio.runs.labels import title_of


@given(st.text(max_size=200))
def test_that_any_name_makes_a_slug_that_every_file_system_takes(name: str) -> None:
    made = slug(name)
    assert 0 < len(made) <= 40
    assert len(os.fsencode(made)) <= 100
    assert made.strip("-") == made
    kinds = {unicodedata.category(letter)[0] for letter in made if letter != "-"}
    assert kinds <= {"L", "M", "N"}
    assert not re.search("[A-Z]", made)


@given(st.text(max_size=200))
def test_that_any_name_makes_a_slug_that_every_cluster_takes(name: str) -> None:
    assert re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?", plain_slug(name))


@pytest.mark.parametrize("made", [slug, plain_slug])
def test_that_latin_letters_keep_their_sound(made) -> None:
    assert made("Größe ändern, STRASSE Straße") == "grosse-andern-strasse-strasse"
    assert made("  Ünïcode -- test!! 7 ") == "unicode-test-7"
    assert made("…") == made("🚀") == "run"


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("ספרות על שני מעבדים", "ספרות-על-שני-מעבדים"),
        ("أرقام ٣", "أرقام-٣"),
        ("手書き数字（２台）", "手書き数字-2台"),
        ("ガード、テスト", "ガード-テスト"),
        ("Цифры й Ё", "цифры-й-ё"),
        ("हिन्दी मॉडल", "हिन्दी-मॉडल"),
        ("숫자 모델", "숫자-모델"),
        ("bjørn – łódź", "bjørn-łodz"),
    ],
)
def test_that_letters_of_any_script_are_kept_in_names_of_files(name: str, written: str) -> None:
    """They were all called run."""
    assert slug(name) == written
    assert plain_slug(name).isascii()


def test_that_a_name_of_long_letters_leaves_room_in_a_short_file_system() -> None:
    assert slug("数" * 200) == "数" * 33


def test_that_letters_which_names_of_files_cannot_hold_here_are_left_out(monkeypatch) -> None:
    monkeypatch.setattr(sys, "getfilesystemencoding", lambda: "latin-1")
    assert slug("ספרות") == "run"
    assert slug("ספרות digits ø") == "digits-ø"


def test_that_a_run_with_letters_of_any_script_is_found_by_them(tmp_path) -> None:
    run = RunDirectory.create(tmp_path, "ספרות על מעבד")
    save(Plan(name="ספרות על מעבד"), run.plan_file)
    run.events_file.touch()
    assert run.id.partition("-")[2].rpartition("-")[0] == "ספרות-על-מעבד"
    assert find(tmp_path, "ספרות-על-מעבד") == find(tmp_path, "מעבד") == run
    assert title_of(run) == "#1 ספרות על מעבד"
