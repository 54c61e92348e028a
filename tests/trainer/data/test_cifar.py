"""CIFAR-10 out of Keras' cache, from a small archive in the binary version's format."""

from __future__ import annotations

import numpy as np
import pytest
from tiny_archives import cifar_archive, cifar_records

from gpu_studio.trainer.data.cifar import cifar10
from gpu_studio.trainer.errors import DataError

PLACE = "cifar-10-binary.tar.gz"
NAMES = [*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"]
PARTS = {name: cifar_records(2 + number, number) for number, name in enumerate(NAMES)}
MEMBERS = {name: part[0] for name, part in PARTS.items()} | {"batches.meta.txt": b"airplane\n"}


def test_that_pictures_and_classes_are_read_in_order(cached):
    cached(PLACE, cifar_archive(MEMBERS))
    for split, names in zip(cifar10(), (NAMES[:5], NAMES[5:]), strict=True):
        pictures = np.concatenate([PARTS[name][1] for name in names])
        assert (split.x.dtype, split.y.dtype) == (np.uint8, np.int32)
        np.testing.assert_allclose(split.seen(slice(None)) * 255, pictures, rtol=1e-6)
        assert split.y.tolist() == np.concatenate([PARTS[name][2] for name in names]).tolist()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (cifar_archive(MEMBERS)[:2000], "cannot be unpacked"),
        (b"", "cannot be unpacked"),
        (cifar_archive({name: MEMBERS[name] for name in NAMES[1:]}), r"lacks data_batch_1\.bin"),
        (cifar_archive(MEMBERS | {NAMES[0]: MEMBERS[NAMES[0]][:-1]}), "no multiple of 3073"),
        (cifar_archive(MEMBERS | {NAMES[5]: b""}), "holds 0 bytes of pictures"),
        (cifar_archive(MEMBERS | {NAMES[5]: b"\x0b" + MEMBERS[NAMES[5]][1:]}), "holds the class 11, but there are 10"),
    ],
    ids=["cut off", "empty", "a part missing", "cut records", "no records", "a wrong class"],
)
def test_that_a_damaged_archive_says_which_file_to_delete(cached, content, words):
    path = cached(PLACE, content)
    with pytest.raises(DataError, match=words) as refused:
        cifar10()
    assert f"Delete {path}" in refused.value.suggestions[0]


@pytest.mark.slow
def test_that_only_the_pickled_version_in_the_cache_is_not_loaded_and_said_so(cached):
    pickled = cached("cifar-10-batches-py-target/cifar-10-batches-py/data_batch_1", b"cos\nsystem\n(S'false'\ntR.")
    with pytest.raises(DataError, match="is the pickled version of CIFAR-10, which GPU Studio never loads") as refused:
        cifar10()
    assert str(pickled.parents[1]) in refused.value.message
    assert "cifar-10-binary.tar.gz" in refused.value.suggestions[1]
