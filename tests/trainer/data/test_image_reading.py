"""Images as TensorFlow decodes them: every format to the same bytes, to one size.

The first bad one is named.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_images import COLOUR, JPEG, JPEG_COLOUR, bmp, gif, plain, png, put, two_classes

from gpu_studio.plan import Data
from gpu_studio.trainer.data import Dataset, load_data
from gpu_studio.trainer.data.values import Array
from gpu_studio.trainer.errors import DataError

pytestmark = pytest.mark.slow

GREY = 99
FORMATS = {
    "colours.png": (png(plain(*COLOUR)), COLOUR),
    "grey.PNG": (png(plain(GREY)), (GREY,) * 3),
    "transparent.png": (png(plain(*COLOUR, 7)), COLOUR),
    "grey and transparent.png": (png(plain(GREY, 7)), (GREY,) * 3),
    "photograph.jpg": (JPEG, JPEG_COLOUR),
    "24 bits.bmp": (bmp(plain(*COLOUR)), COLOUR),
    "32 bits.bmp": (bmp(plain(*COLOUR), bits=32), COLOUR),
    "still.gif": (gif(COLOUR), COLOUR),
    "moving.gif": (gif(COLOUR, (0, 0, 0)), COLOUR),
    "of another kind.png": (JPEG, JPEG_COLOUR),
}


def read(folder: Path, names: Iterable[str], shape: tuple[int, int, int]) -> Array:
    from gpu_studio.trainer.data.image_reading import read_images

    return read_images([str(folder / name) for name in names], shape)


def loaded(folder: Path, **options: object) -> Dataset:
    return load_data(
        Data(folder=folder.name, options=options, validation_fraction=0, test_fraction=0),
        0,
        folder.parent,
    )


def test_that_every_format_gives_its_colours_at_the_size_wanted(tmp_path) -> None:
    files = put(tmp_path, {name: content for name, (content, _) in FORMATS.items()})
    x = read(files, FORMATS, (3, 4, 3))
    assert (x.shape, x.dtype) == ((len(FORMATS), 3, 4, 3), np.uint8)
    for image, (name, (_, colour)) in zip(x, FORMATS.items(), strict=True):
        assert (image == colour).all(), name


def test_that_grey_stays_grey_and_colours_are_weighed_as_the_eye_does(tmp_path) -> None:
    shades = np.arange(256, dtype=np.uint8).reshape(16, 16, 1)
    files = put(
        tmp_path,
        {"shades.png": png(shades), "colours.png": png(plain(*COLOUR, height=16, width=16))},
    )
    x = read(files, ["shades.png", "colours.png"], (16, 16, 1))
    assert (x[0] == shades).all()
    assert (x[1] == round(0.2989 * 200 + 0.587 * 100 + 0.114 * 50)).all()


def test_that_a_smaller_image_is_the_mean_of_what_it_shows(tmp_path) -> None:
    """Without antialiasing, every second line of the board and one of its colours would be lost."""
    board = np.indices((64, 64)).sum(axis=0)[..., None] % 2 * np.uint8(200)
    files = put(tmp_path, {"board.png": png(board.astype(np.uint8))})
    (image,) = read(files, ["board.png"], (8, 8, 1))
    assert abs(image.astype(int) - 100).max() <= 1


def test_that_samples_stand_in_the_order_of_classes_and_names(tmp_path) -> None:
    names = [f"{kind}/{number:03}.png" for kind in "ba" for number in range(70)]
    folder = put(tmp_path / "images", {name: png(plain(place)) for place, name in enumerate(names)})
    dataset = loaded(folder, size=[2, 2], colours="grey")
    assert dataset.train.x[:, 0, 0, 0].tolist() == [*range(70, 140), *range(70)]
    assert dataset.train.y.tolist() == [0] * 70 + [1] * 70
    assert (dataset.name, dataset.classes, dataset.class_names) == ("images", 2, ("a", "b"))
    assert (dataset.sample_shape, dataset.tokens, dataset.task) == ((2, 2, 1), False, "classes")


def test_that_train_and_test_are_two_splits(tmp_path) -> None:
    two_classes(tmp_path / "images" / "train", 10)
    put(tmp_path / "images" / "test", {"light/a.png": png(plain(77))})
    dataset = load_data(
        Data(folder="images", options={"size": [4, 4]}, test_fraction=0.5), 0, tmp_path
    )
    assert dataset.test is not None
    assert dataset.validation is not None
    assert (len(dataset.train), len(dataset.validation), dataset.test.y.tolist()) == (18, 2, [1])
    assert (dataset.test.x == 77).all()


def test_that_a_model_sees_numbers_from_0_to_1_as_of_any_other_bytes(tmp_path) -> None:
    from gpu_studio.trainer.batches import Cut, evaluation_stream

    folder = two_classes(tmp_path / "images")
    train = loaded(folder, size=[5, 7]).train
    np.savez(tmp_path / "same.npz", x=train.x, y=train.y)
    same = load_data(
        Data(file="same.npz", validation_fraction=0, test_fraction=0), 0, tmp_path
    ).train
    seen = train.x / np.float32(255)
    for split in (train, same):
        np.testing.assert_array_equal(split.seen(slice(None)), seen)
    batch = next(iter(evaluation_stream(train, Cut(len(train), len(train), 1))))
    np.testing.assert_array_equal(batch[0].numpy(), seen)


@pytest.mark.parametrize("name", FORMATS)
def test_that_an_image_that_is_cut_off_is_named(tmp_path, name) -> None:
    folder = two_classes(tmp_path / "images", 80)
    content, _ = FORMATS[name]
    bad = put(folder, {f"light/{name}": content[: len(content) * 2 // 5]}) / "light" / name
    with pytest.raises(DataError) as refused:
        loaded(folder)
    assert refused.value.message == f"The image {bad} is cut off or damaged."
    assert refused.value.suggestions


def test_that_an_image_that_is_none_is_named_before_any_is_decoded(tmp_path) -> None:
    folder = two_classes(tmp_path / "images")
    put(folder, {"dark/00.png": png(plain(1))[:-9], "light/a.jpg": b"RIFF\x10\0\0\0WEBPVP8 "})
    with pytest.raises(DataError, match=r"light/a.jpg is no PNG, JPEG, BMP or GIF"):
        loaded(folder)


def mask(*rows: str) -> bytes:
    """A grey PNG of these rows, a digit a pixel; w is 255."""
    numbers = [[255 if each == "w" else int(each) for each in row] for row in rows]
    return png(np.array(numbers, np.uint8)[..., None])


def masked(folder: Path, **masks: bytes) -> Path:
    put(folder / "images", {f"{name}.jpg": png(plain(9, 9, 9)) for name in masks})
    return put(folder, {f"masks/{name}.png": content for name, content in masks.items()})


def of_masks(folder: Path) -> Dataset:
    return loaded(folder, holds="masks", size=[2, 2], scale="none")


ROWS = ("0011111",) * 2 + ("0022222",) * 3


def test_that_masks_are_targets_whose_classes_are_never_mixed(tmp_path) -> None:
    found = of_masks(masked(tmp_path / "seg", b=mask(*ROWS), a=mask(*["3333333"] * 5))).train
    assert found.y.tolist() == [[[3, 3], [3, 3]], [[0, 1], [0, 2]]]
    assert (found.x.shape, found.wanted(slice(None)).dtype) == ((2, 2, 2, 3), np.uint8)


def test_that_black_and_white_masks_are_of_0_and_1(tmp_path) -> None:
    white, black = mask(*["wwwwwww"] * 5), mask(*["0000000"] * 5)
    dataset = of_masks(masked(tmp_path / "seg", a=white, b=black))
    assert dataset.train.y.tolist() == [[[1, 1], [1, 1]], [[0, 0], [0, 0]]]
    assert dataset.target.labels


PALETTE = bytearray(mask(*ROWS))
PALETTE[25] = 3
DEEP = bytearray(mask(*ROWS))
DEEP[24] = 16


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (png(plain(1, 2, 3)), "a.png has colours."),
        (bytes(PALETTE), "a.png is a PNG with a palette, of which the colours are read"),
        (bytes(DEEP), "a.png has 16 bits a pixel."),
        (JPEG, "a.png is a JPEG, which changes the numbers of pixels."),
        (mask("01"), "a.png has 2 × 1 pixels, and its image 7 × 5."),
        (mask(*ROWS)[:50], "a.png is cut off or damaged."),
    ],
)
def test_that_what_is_no_mask_is_named(tmp_path, content, said) -> None:
    with pytest.raises(DataError, match=said):
        of_masks(masked(tmp_path / "seg", a=content))


def test_that_an_image_and_its_mask_need_each_other(tmp_path) -> None:
    folder = masked(tmp_path / "seg", a=mask(*ROWS))
    put(folder, {"images/c.png": b"", "images/d.png": b""})
    with pytest.raises(DataError, match=r"c\.png has no mask of its name, and 1 more have none"):
        of_masks(folder)
    put(folder, {"masks/c.bmp": b"", "masks/d.bmp": b"", "masks/e.png": b""})
    with pytest.raises(DataError, match=r"e\.png has no image of its name\."):
        of_masks(folder)
    put(folder, {"images/a.png": b""})
    with pytest.raises(DataError, match="holds two files called a, but for their ending"):
        of_masks(folder)
    with pytest.raises(DataError, match="holds no folder images with the images"):
        of_masks(put(tmp_path / "empty", {"x/1.png": b""}))


def test_that_a_column_of_a_table_names_images(tmp_path) -> None:
    put(tmp_path / "of", {"1.png": png(plain(*COLOUR)), "b/ä.png": png(plain(GREY))})
    (tmp_path / "ages.csv").write_text("photo,size,age\n1.png,3,2.5\nb/ä.png,4,1\n")
    options = {"images": "photo", "folder": "of", "targets": ["age"], "size": [2, 3]}

    def read_with(**further: object) -> Dataset:
        table = Data(table="ages.csv", options={**options, **further})
        return load_data(replace(table, validation_fraction=0, test_fraction=0), 0, tmp_path)

    found = read_with().train
    assert (found.x.shape, found.x.dtype, found.pixels) == ((2, 2, 3, 3), np.uint8, True)
    assert found.x[:, 0, 0].tolist() == [list(COLOUR), [GREY] * 3]
    assert found.y.tolist() == [2.5, 1]
    both = read_with(inputs=["size"]).train.x
    assert {name: each.shape for name, each in both.items()} == {
        "photo": (2, 2, 3, 3),
        "size": (2, 1),
    }
    with pytest.raises(DataError, match=r"there is no image .*/1\.png, which row 1 of photo names"):
        read_with(folder="")
    with pytest.raises(DataError, match="photo names images, and is an input, target, weight or"):
        read_with(inputs=["photo"])
