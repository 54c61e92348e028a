from __future__ import annotations

from pathlib import Path

import pytest

from gpu_studio.contract.user_files import hint, nearest_file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (
        "data/digits-2026.npz",
        "data/digits-2026.txt",
        "old/faces.npz",
        "data/inner/birds.npz",
        "cats.npz",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path


@pytest.mark.parametrize(
    ("missing", "found"),
    [
        ("data/digits-2025.npz", "data/digits-2026.npz"),
        ("data/faces.npz", "old/faces.npz"),
        ("data/birds.npz", "data/inner/birds.npz"),
        ("data/cats.npz", "cats.npz"),
        ("data/zebra.npz", None),
        ("gone/away/zebra.npz", None),
        ("data/digits-2026.npz/within", None),
    ],
)
def test_that_the_file_most_likely_meant_is_found(
    folder: Path, missing: str, found: str | None
) -> None:
    assert nearest_file(folder / missing) == (folder / found if found else None)


@pytest.mark.parametrize(
    ("missing", "found"),
    [("date", "data"), ("data/old", "old"), ("inner", "data/inner"), ("digits-2026.npz", None)],
)
def test_that_of_folders_a_folder_is_found(folder: Path, missing: str, found: str | None) -> None:
    (folder / "dat").touch()
    (folder / "digits-2026.npz").touch()
    (folder / "digits-2026.npz").rename(folder / "digits-2025.npz")
    assert nearest_file(folder / missing, folders=True) == (folder / found if found else None)


def test_that_the_hint_is_a_question_or_nothing(folder: Path) -> None:
    assert hint(folder / "data" / "cats.npz") == f"; did you mean {folder / 'cats.npz'}?"
    assert hint(folder / "data" / "zebra.npz") == ""
