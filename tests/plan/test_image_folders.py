"""The layout of a folder of images: its classes, and the error for a folder without any."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_images import put

from gpu_studio.plan.data import ImageFolderError, Layout, is_image_name, layout_of, watched_folders


def made(folder: Path, *files: str) -> Path:
    """A folder with these files, of which each that ends in / is a folder."""
    for name in files:
        if name.endswith("/"):
            (folder / name).mkdir(parents=True, exist_ok=True)
    return put(folder, {name: b"" for name in files if not name.endswith("/")})


def test_that_each_folder_is_a_class_in_alphabetical_order(tmp_path) -> None:
    folder = made(tmp_path, "dogs/", "Cats/", "birds/", ".git/", "notes.txt")
    assert layout_of(folder) == Layout(("Cats", "birds", "dogs"), folder)


def test_that_a_link_to_a_folder_is_a_class(tmp_path) -> None:
    folder = made(tmp_path / "images", "dogs/")
    (folder / "cats").symlink_to(made(tmp_path / "elsewhere", "a.png"))
    assert layout_of(folder).classes == ("cats", "dogs")


@pytest.mark.parametrize(("train", "test"), [("train", "test"), ("Train", "TEST")])
def test_that_train_and_test_hold_the_classes_of_two_splits(tmp_path, train, test) -> None:
    folder = made(tmp_path, f"{train}/b/", f"{train}/a/", f"{test}/b/")
    assert layout_of(folder) == Layout(("a", "b"), folder / train, folder / test)


def test_that_train_may_stand_alone(tmp_path) -> None:
    folder = made(tmp_path, "train/a/", "train/b/", "readme.md")
    assert layout_of(folder) == Layout(("a", "b"), folder / "train")


def test_that_vehicles_may_be_called_train(tmp_path) -> None:
    assert layout_of(made(tmp_path, "train/1.jpg", "tram/1.jpg", "test/1.jpg")).classes == (
        "test",
        "train",
        "tram",
    )


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (
            (),
            (
                "holds no folders, and so no classes: make a folder for each "
                "class, and put its files into it"
            ),
        ),
        (("readme.txt", ".hidden/"), "holds no folders"),
        (
            ("a.PNG",),
            (
                "holds images, but no folder for each class: choose the folder "
                "above it if this is one class"
            ),
        ),
        (("cats/",), "holds a single class, cats: training needs two or more"),
        (("train/a/1.png", "test/a/1.png"), "holds a single class, train/a: "),
        (
            ("train/a/", "train/b/", "dev/a/"),
            "holds dev beside train, which is read as the training images",
        ),
        (("train/a/", "1/", "2/", "3/", "4/", "5/"), "holds 1, 2, 3 and 2 more beside train"),
        (
            ("train/a/", "train/b/", "test/a/", "test/c/"),
            "holds test/c, of which there is nothing in train: give",
        ),
    ],
)
def test_that_a_folder_without_classes_is_told_what_it_holds_and_what_to_do(
    tmp_path, files, words
) -> None:
    with pytest.raises(ImageFolderError) as refused:
        layout_of(made(tmp_path, *files))
    assert words in str(refused.value)
    assert refused.value.advice


def test_that_a_folder_that_is_not_there_is_the_system_s_error(tmp_path) -> None:
    with pytest.raises(FileNotFoundError):
        layout_of(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        *[(name, True) for name in ("a.png", "a.b.JPeG", "x.GIF", "x.bmp", "x.jpg")],
        *[(name, False) for name in (".a.png", "Thumbs.db", ".DS_Store", "png", "a.webp", ".png")],
    ],
)
def test_that_images_are_known_by_the_ending_of_their_names(name, wanted) -> None:
    assert is_image_name(name) is wanted


NAMES = st.sampled_from(["a", "b", "train", "test", "Test", "val", ".hidden", "x.png", "note"])


@given(st.lists(st.lists(NAMES, min_size=1, max_size=3), max_size=8))
def test_that_any_folder_has_classes_or_a_reason_why_not(tmp_path_factory, paths) -> None:
    folder = tmp_path_factory.mktemp("any")
    for parts in paths:
        folder.joinpath(*parts).mkdir(parents=True, exist_ok=True)
    with suppress(ImageFolderError):
        layout = layout_of(folder)
        assert list(layout.classes) == sorted(set(layout.classes))
        assert len(layout.classes) > 1
        assert all((layout.train / name).is_dir() for name in layout.classes)
    assert watched_folders(folder)[0] == folder


def test_that_the_folders_of_the_classes_are_watched_and_no_image(tmp_path) -> None:
    folder = made(tmp_path, "train/a/1.png", "train/b/2.png", "test/a/3.png", "a.png")
    assert watched_folders(folder) == [
        folder / each for each in (".", "test", "train", "test/a", "train/a", "train/b")
    ]
    for nowhere in (folder / "gone", folder / "no\0path", folder / ("x" * 300)):
        assert watched_folders(nowhere) == [nowhere]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_that_a_folder_that_may_not_be_read_is_watched_all_the_same(tmp_path) -> None:
    folder = made(tmp_path / "closed", "a/", "b/")
    folder.chmod(0)
    try:
        assert watched_folders(folder) == [folder]
        with pytest.raises(PermissionError):
            layout_of(folder)
    finally:
        folder.chmod(0o700)


@pytest.mark.parametrize("name", ["val", "Validation", "valid"])
def test_that_a_validation_split_may_stand_beside_the_training_one(tmp_path, name) -> None:
    for folder in ("train/a", "train/b", f"{name}/a", "test/b"):
        (tmp_path / folder).mkdir(parents=True)
    found = layout_of(tmp_path)
    assert (found.classes, found.validation, found.test) == (
        ("a", "b"),
        tmp_path / name,
        tmp_path / "test",
    )
    assert tmp_path / name / "a" in watched_folders(tmp_path)
