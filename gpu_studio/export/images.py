"""How a script reads a folder of images: it gets the same numbers as a run, without GPU Studio."""

from __future__ import annotations

from pathlib import Path

from gpu_studio.export.filling import fill
from gpu_studio.export.layout import call
from gpu_studio.export.literals import literal
from gpu_studio.plan.image_folders import SUFFIXES, Layout

_HEAD = '''\
# Where the images are; on another machine, say where they are there.
$folders
SIZE = $size  # height and width
KINDS = $kinds


def read_image(path):
    """The bytes of an image, stretched to the size. Of a GIF it is the first frame."""
    image = tf.io.decode_image(tf.io.read_file(path), expand_animations=False)
    image = tf.ensure_shape(image, [None, None, None])
    image = tf.image.resize(image, SIZE, antialias=True)
    # Grey images have one channel, or two with alpha; colour images have three or four.
    colours = tf.where(tf.shape(image)[2] < 3, [0, 0, 0], [0, 1, 2])
    image = tf.gather(image, colours, axis=2)
    $grey
    return tf.cast(tf.round(image), tf.uint8)


def read_images(folder, classes):
    """The images of all classes as bytes, and the class of each."""
    paths, y = [], []
    for number, name in enumerate(classes):
        files = sorted((folder / name).glob("[!.]*"))
        files = [path for path in files if path.suffix.lower() in KINDS]
        paths += map(os.fsencode, files)
        y += [number] * len(files)
    images = tf.data.Dataset.from_tensor_slices(paths)
    images = images.map(read_image, num_parallel_calls=tf.data.AUTOTUNE)
    return np.stack(list(images.as_numpy_iterator())), np.array(y, np.int32)


'''

_LOAD = """\
# Each folder is a class, and they are numbered in the order of their names.
folders = [path for path in IMAGES.iterdir() if path.is_dir()]
classes = sorted(path.name for path in folders if path.name[0] != ".")
x, y = read_images(IMAGES, classes)
$further"""


def image_folder(layout: Layout, shape: tuple[int, ...]) -> tuple[str, str]:
    """Return the lines before `load_data`, and the lines in it.

    A sample has this shape (height, width, channels).
    """
    height, width, channels = shape
    places = [
        ("IMAGES", layout.train),
        ("VALIDATION_IMAGES", layout.validation),
        ("TEST_IMAGES", layout.test),
    ]
    head = fill(
        _HEAD,
        folders="\n".join(_place(name, path) for name, path in places if path is not None),
        size=literal((height, width)),
        grey="image = tf.image.rgb_to_grayscale(image)" if channels == 1 else "",
        kinds=literal(SUFFIXES),
    )
    further = (
        ("val", "VALIDATION_IMAGES", layout.validation),
        ("test", "TEST_IMAGES", layout.test),
    )
    reads = [
        f"x_{part}, y_{part} = read_images({name}, classes)"
        for part, name, path in further
        if path is not None
    ]
    return head, fill(_LOAD, further="\n".join(reads))


def _place(name: str, path: Path) -> str:
    return call(f"{name} = ", "Path", [literal(str(path))])
