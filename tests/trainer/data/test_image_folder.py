"""The images of a folder: which files, in which order, and the error if there are none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from made_images import put

from gpu_studio.trainer.data.image_folder import class_names, images_in
from gpu_studio.trainer.errors import DataError


def made(folder: Path, *files: str) -> Path:
    return put(folder, dict.fromkeys(files, b""))


def refusal(folder: Path) -> DataError:
    with pytest.raises(DataError) as refused:
        images_in(folder)
    assert refused.value.suggestions
    return refused.value


def test_that_images_are_in_the_order_of_their_classes_and_names(tmp_path) -> None:
    folder = made(tmp_path, "b/2.png", "b/10.PNG", "a/z.jpeg", "a/B.gif", "a/a.bmp", "a/c.JPG")
    found = images_in(folder)
    assert found.classes == ("a", "b")
    assert [os.path.relpath(path, folder) for path in found.train.paths] == [
        "a/B.gif", "a/a.bmp", "a/c.JPG", "a/z.jpeg", "b/10.PNG", "b/2.png",
    ]  # fmt: skip
    assert found.train.y.tolist() == [0, 0, 0, 0, 1, 1]
    assert (found.train.y.dtype.name, found.test) == ("int32", None)


def test_that_hidden_and_other_files_are_passed_over(tmp_path) -> None:
    folder = made(
        tmp_path,
        "a/1.png",
        "b/2.png",
        "a/Thumbs.db",
        "b/.DS_Store",
        "b/.3.png",
        "a/notes.txt",
        "4.png",
    )
    assert [Path(path).name for path in images_in(folder).train.paths] == ["1.png", "2.png"]


def test_that_linked_images_are_images_and_a_loop_of_folders_ends(tmp_path) -> None:
    folder = made(tmp_path / "images", "a/1.png", "b/2.png")
    (folder / "a" / "0.png").symlink_to(folder / "b" / "2.png")
    (folder / "a" / "gone.png").symlink_to(tmp_path / "nowhere.png")
    (folder / "a" / "round").symlink_to(folder, target_is_directory=True)
    os.mkfifo(folder / "b" / "pipe.png")
    assert [Path(path).name for path in images_in(folder).train.paths] == [
        "0.png",
        "1.png",
        "gone.png",
        "2.png",
    ]


def test_that_test_images_are_numbered_as_the_classes_to_train_on(tmp_path) -> None:
    found = images_in(
        made(
            tmp_path,
            "train/a/1.png",
            "train/b/1.png",
            "train/c/1.png",
            "test/c/1.png",
            "test/b/1.png",
        )
    )
    assert found.test is not None
    assert found.test.y.tolist() == [1, 2]
    assert len(found.train) == 3


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (
            ("a/1.png", "b/1.txt", "b/2.webp", "b/3.webp"),
            "The class b has no images: {}/b. It holds 2 .webp and 1 .txt.",
        ),
        (("a/1.png", "b/.keep"), "The class b has no images: {}/b."),
        (
            ("a/1.png", "b/1.png", "b/old/2.png"),
            "{}/b/old holds images within the folder of a class",
        ),
        (
            ("train/a/1.png", "train/b/1.png", "test/1.png"),
            "{}/test holds no images in folders of the classes.",
        ),
        (("a/1.png",), "{} holds a single class, a."),
        (("1.png",), "{} holds images, but no folder for each class."),
    ],
)
def test_that_a_folder_that_lacks_images_is_told_which(tmp_path, files, words) -> None:
    assert words.format(tmp_path) in refusal(made(tmp_path, *files)).message


def test_that_a_missing_folder_is_named_with_what_is_near(tmp_path) -> None:
    there = made(tmp_path / "pictures-2", "a/1.png")
    (tmp_path / "picture-2").touch()
    missing = there.with_name("pictures")
    assert (
        refusal(missing).message
        == f"The folder of images {missing} is not there; did you mean {there}?"
    )
    assert refusal(there / "a" / "1.png").message.startswith(
        f"The folder of images {there}/a/1.png is no folder"
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_that_a_class_that_may_not_be_read_is_named(tmp_path) -> None:
    folder = made(tmp_path, "a/1.png", "b/1.png")
    (folder / "b").chmod(0)
    try:
        assert refusal(folder).message == f"{folder}/b cannot be read: Permission denied."
        assert (
            refusal(folder / "b" / "c").message
            == f"{folder}/b/c cannot be read: Permission denied."
        )
    finally:
        (folder / "b").chmod(0o700)


def test_that_names_of_any_bytes_are_files_and_can_be_told(tmp_path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    folder = made(tmp_path, "a/1.png", f"{odd.name}/1.png")
    assert class_names(images_in(folder)) == ("a", "caf\ufffd")


def test_that_a_validation_split_is_read_beside_the_others(tmp_path) -> None:
    found = images_in(
        made(tmp_path, "train/a/1.png", "train/b/1.png", "val/b/7.png", "test/a/1.png")
    )
    assert found.validation is not None
    assert (found.validation.y.tolist(), len(found)) == ([1], 4)
