"""Read images as arrays with TensorFlow: decode, resize, convert colours.

`export` writes the same steps into scripts: whoever changes one must change the other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from gpu_studio.trainer.data.image_headers import (
    check_header,
    check_mask,
    coloured_mask,
    damaged,
    unreadable,
)
from gpu_studio.trainer.data.values import Array
from gpu_studio.trainer.environment import cores
from gpu_studio.trainer.errors import DataError

_BATCH = 64


def read_images(paths: Sequence[str], shape: tuple[int, int, int]) -> Array:
    """The images in the order of their paths: uint8 (n, height, width, channels).

    Of a GIF it is the first frame; what is transparent is taken as it is without that. Pictures are
    stretched to the size, antialiased. Raises DataError naming the first file that is no image, too
    large, cut off or damaged.
    """
    for path in paths:
        check_header(path)
    x = np.empty((len(paths), *shape), np.uint8)
    with tf.device("CPU:0"):
        names = tf.data.Dataset.from_tensor_slices([os.fsencode(path) for path in paths])
        decode = tf.autograph.experimental.do_not_convert(lambda path: _decoded(path, shape))
        images = names.map(decode, num_parallel_calls=cores(), deterministic=True).batch(_BATCH)
        _fill(x, images.with_options(_options()), paths)
    return x


def decoded_in_graph(names: Any, shape: tuple[int, int, int]) -> Any:
    """Decode the images with these names (n,) where a step is traced: uint8, as `read_images`."""
    return _each_in_graph(lambda path: _decoded(path, shape), names, shape, tf.uint8)


def masks_in_graph(names: Any, size: tuple[int, int]) -> Any:
    """Decode the masks with these names (n,) where a step is traced: uint8 (n, height, width)."""
    return _each_in_graph(lambda path: _mask(path, size)[0], names, size, tf.uint8)


def texts_in_graph(names: Any) -> Any:
    """Read the files with these names (n,) where a step is traced: strings."""
    return _each_in_graph(tf.io.read_file, names, (), tf.string)


def _each_in_graph(
    read: Callable[[Any], Any], names: Any, shape: tuple[int, ...], kind: tf.DType
) -> Any:
    return tf.map_fn(
        tf.autograph.experimental.do_not_convert(read),
        names,
        fn_output_signature=tf.TensorSpec(shape, kind),
        parallel_iterations=cores(),
    )


def read_mask_pixels(paths: Sequence[str], images: Sequence[str], size: tuple[int, int]) -> Array:
    """The numbers of the masks' pixels in the order of their paths: uint8 (n, height, width).

    Masks are brought to the size by taking the nearest pixel, which mixes no classes. Raises
    DataError naming the first file that is no mask for its image.
    """
    for path, image in zip(paths, images, strict=True):
        check_header(path)
        check_mask(path, image)
    found = np.empty((len(paths), *size), np.uint8)
    with tf.device("CPU:0"):
        names = tf.data.Dataset.from_tensor_slices([os.fsencode(path) for path in paths])
        decode = tf.autograph.experimental.do_not_convert(lambda path: _mask(path, size))
        masks = names.map(decode, num_parallel_calls=cores(), deterministic=True)
        coloured = masks.with_options(_options()).as_numpy_iterator()
        try:
            for place, path in enumerate(paths):
                found[place], has_colours = next(coloured)
                if has_colours:
                    raise coloured_mask(path)
        except tf.errors.OpError as error:
            raise _unreadable_image(paths[place:], error) from error
    return found


def _mask(path: Any, size: tuple[int, int]) -> tuple[Any, Any]:
    """Decode a mask to uint8 (height, width), and say whether it has colours."""
    image = tf.io.decode_image(tf.io.read_file(path), expand_animations=False)
    image = tf.ensure_shape(image, [None, None, None])
    channels = tf.where(tf.shape(image)[2] < 3, [0, 0, 0], [0, 1, 2])
    colours = tf.gather(image, channels, axis=2)
    has_colours = tf.reduce_any(colours[..., 1:] != colours[..., :1])
    return tf.image.resize(colours[..., :1], size, method="nearest")[..., 0], has_colours


def _fill(x: Array, images: tf.data.Dataset, paths: Sequence[str]) -> None:
    first = 0
    try:
        for batch in images.as_numpy_iterator():
            x[first : first + len(batch)] = batch
            first += len(batch)
    except tf.errors.OpError as error:
        raise _unreadable_image(paths[first : first + _BATCH], error) from error


def _decoded(path: Any, shape: tuple[int, int, int]) -> Any:
    """Decode the bytes of an image to uint8 (height, width, channels)."""
    height, width, channels = shape
    image = tf.io.decode_image(tf.io.read_file(path), expand_animations=False)
    image = tf.image.resize(
        tf.ensure_shape(image, [None, None, None]), (height, width), antialias=True
    )
    # Grey images have one channel, or two with alpha; colour images have three or four. Checking
    # this on a small image is cheap.
    colours = tf.where(tf.shape(image)[2] < 3, [0, 0, 0], [0, 1, 2])
    image = tf.gather(image, colours, axis=2)
    if channels == 1:
        image = tf.image.rgb_to_grayscale(image)
    return tf.cast(tf.round(image), tf.uint8)


def _unreadable_image(paths: Sequence[str], error: Exception) -> DataError:
    """Find which of these images could not be read, and why."""
    for path in paths:
        try:
            tf.io.decode_image(tf.io.read_file(os.fsencode(path)), expand_animations=False)
        except tf.errors.InvalidArgumentError:
            return damaged(path)
        except tf.errors.OpError as why:
            return unreadable(path, why.message)
    return DataError(
        f"An image of these cannot be read: {paths[0]} … {paths[-1]}: {error}", ["Look at them."]
    )


def _options() -> tf.data.Options:
    options = tf.data.Options()
    options.autotune.enabled = False
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    return options
