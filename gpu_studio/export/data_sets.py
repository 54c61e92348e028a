"""How a script loads each kind of data: it gets the same numbers as a run, without GPU Studio.

The data are built in, or come from a file, a folder of images, or a function of the user's own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gpu_studio.common.paths import resource
from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.own_code import called, place_of
from gpu_studio.export.script_data import Header, ScriptData
from gpu_studio.export.script_text import call, fill, literal
from gpu_studio.export.tables import TableFacts, table_lines
from gpu_studio.plan import reference
from gpu_studio.plan.catalogue import DATA
from gpu_studio.plan.data import SUFFIXES, Layout, are_pixels, are_scaled, are_seen_as_floats

DIGITS_FILE = "digits.npz"
"""The bundled data, which a script with digits looks for beside itself first."""

_DIGITS_HEAD = '''\
# 1,797 real handwritten digits of 8 × 8 pixels: Optical Recognition of Handwritten
# Digits, E. Alpaydin and C. Kaynak, 1998, UCI Machine Learning Repository,
# doi 10.24432/C50P49, CC BY 4.0.
BESIDE = Path(__file__).with_name("digits.npz")
# Where the GPU Studio that wrote this script has them.
$installed
NO_DIGITS = f"""There is no {BESIDE}. Either of these puts it there:
  gpu-studio export PLAN --to {Path(__file__).name}
  python -c "import numpy, sklearn.datasets; d = sklearn.datasets.load_digits();
numpy.savez('digits.npz', images=d.images.astype('uint8'), labels=d.target)\\""""


def stretched(lines, new):
    """Lines of pixels (..., old) as lines of `new`, with values in between.

    Rounded as by fused multiply-add, so that every processor makes the same bits of it.
    """
    old = lines.shape[-1]
    centres = np.clip((np.arange(new) + 0.5) * old / new - 0.5, 0, old - 1)
    left = np.minimum(centres.astype(np.intp), old - 2)
    share = (centres - left).astype(np.float32)
    right = lines[..., left + 1].astype(np.float64)
    rounded = lines[..., left] * (1 - share)
    return (rounded + right * share).astype(np.float32)


'''

_DIGITS = """\
digits = BESIDE if BESIDE.is_file() else INSTALLED
if not digits.is_file():
    raise SystemExit(NO_DIGITS)
with np.load(digits, allow_pickle=False) as file:
    images, y = file["images"], file["labels"].astype(np.int32)
images = images.astype(np.float32) / 16
# As MNIST shows its digits: 20 × 20 pixels amid a black frame of 28 × 28.
x = np.zeros((len(images), 28, 28, 1), np.float32)
columns = stretched(images.swapaxes(1, 2), 20).swapaxes(1, 2)
x[:, 4:24, 4:24, 0] = stretched(columns, 20)"""

_KERAS_IMAGES = """\
# Downloaded once into ~/.keras. Bytes become numbers from 0 to 1$channel.
(x, y), (x_test, y_test) = keras.datasets.$name.load_data()
x, x_test = $x
$classes"""

_SYNTHETIC = """\
# A random prototype for each class, and samples that scatter around it.
generator = np.random.Generator(np.random.PCG64($seed))
prototypes = generator.random(($classes, $size), np.float32)
y = np.arange($samples, dtype=np.int32) % $classes
x = generator.standard_normal(($samples, $size), np.float32)
x *= 0.25
x += prototypes[y]
x = x.reshape(-1, $shape)"""

_REGRESSION = """\
# Points along the line y = $slope · x + $intercept, with noise.
generator = np.random.Generator(np.random.PCG64($seed))
x = generator.uniform(-1.0, 1.0, ($samples, 1))
noise = $noise * generator.standard_normal(($samples, 1))
y = ($slope * x + $intercept + noise).astype(np.float32)
x = x.astype(np.float32)"""

_FILE = """\
# Pickled objects are refused: loading one can run any program.
with np.load(DATA_FILE, allow_pickle=False) as file:
    $read
$convert"""


def loading(facts: ScriptFacts) -> tuple[str, str]:
    """Return the lines before `load_data`, and the lines in it.

    The latter make `x` and `y` (and `x_test` and `y_test`).
    """
    if facts.source.folder is not None:
        source = facts.source
        return image_folder(facts.source.folder, source.shape, in_files=source.in_files)
    if facts.source.masks is not None:
        return _masks(facts.source.masks, facts.source.shape)
    if facts.plan.data.python is not None:
        return own_data(facts)
    if facts.source.table is not None:
        source, table = facts.source, facts.source.table
        head, load = table_lines(table, in_files=source.in_files)
        return images_of_table(table, source.shape, in_files=source.in_files) + head, load
    if facts.source.file is not None:
        return _file_head(facts.source.file), _file(facts.source)
    name = str(facts.plan.data.name)
    values = DATA[name].values(facts.plan.data.options)
    if name == "digits":
        return _digits_head(), _DIGITS
    if name == "synthetic":
        shape = values["shape"]
        numbers = {key: literal(values[key]) for key in ("seed", "classes", "samples")}
        return "", fill(
            _SYNTHETIC, size=str(math.prod(shape)), shape=", ".join(map(str, shape)), **numbers
        )
    if name == "regression":
        return "", fill(_REGRESSION, **{key: _grouped(value) for key, value in values.items()})
    return "", _keras_images(name, grey=name != "cifar10")


def images_of_table(table: TableFacts, shape: tuple[int, ...], *, in_files: bool) -> str:
    """Return the lines that read images which a table names; empty where it names none."""
    if table.columns.images is None:
        return ""
    head = _images_head([("IMAGES", Path(table.folder))], shape)
    return head + (_PICTURES_HEAD if in_files else _PIXELS_HEAD)


def digits_file() -> Path:
    """Return the path of the bundled data. Raises FileNotFoundError if they are not installed."""
    return resource("data/digits.npz")


def _digits_head() -> str:
    return fill(_DIGITS_HEAD, installed=call("INSTALLED = ", "Path", [literal(str(digits_file()))]))


def _grouped(value: float) -> str:
    return f"({literal(value)})" if value < 0 else literal(value)


def _keras_images(name: str, *, grey: bool) -> str:
    scaled = "{}[..., None].astype(np.float32) / 255" if grey else "{}.astype(np.float32) / 255"
    return fill(
        _KERAS_IMAGES,
        name=name,
        channel=", with an axis for the one channel" if grey else "",
        x=_pair(scaled),
        # CIFAR's classes come in a column.
        classes="" if grey else f"y, y_test = {_pair('{}.reshape(-1).astype(np.int32)', 'y')}",
    )


def _pair(form: str, letter: str = "x") -> str:
    both = [form.format(letter), form.format(f"{letter}_test")]
    whole = ", ".join(both)
    return whole if len(whole) <= 70 else "(\n    " + ",\n    ".join(both) + ",\n)"


def _file_head(path: Path) -> str:
    line = call("DATA_FILE = ", "Path", [literal(str(path))])
    return f"# Where the data are; on another machine, say where they are there.\n{line}\n\n\n"


def _file(source: ScriptData) -> str:
    read = [f"{mine} = file[{literal(name)}]" for mine, name, _ in source.headers]
    convert = [_file_converted(mine, header, source) for mine, _, header in source.headers]
    return fill(_FILE, read="\n".join(read), convert="\n".join(filter(None, convert)))


def _file_converted(name: str, header: Header, source: ScriptData) -> str:
    if name == "groups":
        return "groups = groups.reshape(-1)"
    if name.startswith("x"):
        made = _samples(name, header, source)
    else:
        made = name + _converted(header[1], floats=header[1].kind == "f")
    return f"{name} = {made}" if made != name else ""


def _samples(name: str, header: Header, source: ScriptData) -> str:
    shape, dtype = header
    axis = "[..., None]" if len(shape) == 3 and are_pixels(dtype.name, shape) else ""
    scaled = " / 255" if are_scaled(dtype.name, shape, source.scale) else ""
    floats = are_seen_as_floats(dtype.name, shape, source.scale, measured=True)
    return f"{name}{axis}{_converted(dtype, floats=floats)}{scaled}"


def _converted(dtype: np.dtype[Any], *, floats: bool) -> str:
    """Return what makes an array one of a type that TensorFlow takes, or float32."""
    kind = "float32" if floats else dtype.name
    return "" if dtype.name == kind and dtype.isnative else f".astype(np.{kind})"


_IMAGES_HEAD = '''\
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


'''

_CLASSES_HEAD = '''\
def read_images(folder, classes):
    """The $what of all classes, and the class of each."""
    paths, y = [], []
    for number, name in enumerate(classes):
        files = sorted((folder / name).glob("[!.]*"))
        files = [path for path in files if path.suffix.lower() in KINDS]
        paths += map(os.fsencode, files)
        y += [number] * len(files)
    $read


'''

_READ = """\
images = tf.data.Dataset.from_tensor_slices(paths)
images = images.map(read_image, num_parallel_calls=tf.data.AUTOTUNE)
return np.stack(list(images.as_numpy_iterator())), np.array(y, np.int32)"""

_PICTURES_HEAD = '''\
def pictures(paths):
    """The bytes of the images in these files."""
    return tf.map_fn(read_image, paths, fn_output_signature=tf.uint8)


'''

_PIXELS_HEAD = '''\
def pixels(paths, read=read_image):
    """What `read` gives for each of these files."""
    found = tf.data.Dataset.from_tensor_slices([os.fsencode(path) for path in paths])
    found = found.map(read, num_parallel_calls=tf.data.AUTOTUNE)
    return np.stack(list(found.as_numpy_iterator()))


'''

_MASKS_HEAD = '''\
def read_mask(path):
    """The class of each pixel, from the nearest one: a mean of classes would be none."""
    mask = tf.io.decode_image(tf.io.read_file(path), expand_animations=False)
    mask = tf.ensure_shape(mask, [None, None, None])
    return tf.image.resize(mask[..., :1], SIZE, method="nearest")[..., 0]


def files_in(folder):
    """The images in a folder, by name."""
    return sorted(p for p in folder.glob("[!.]*") if p.suffix.lower() in KINDS)


'''

_MASKS_LOAD = """\
# An image and its mask have the same name, but for the ending.
paths = files_in(IMAGES)
masks = {path.stem: path for path in files_in(MASKS)}
x = pixels(paths)
y = pixels([masks[path.stem] for path in paths], read_mask)
if np.isin(y, (0, 255)).all():
    y = y // 255"""

_FOLDER_LOAD = """\
# Each folder is a class, and they are numbered in the order of their names.
folders = [path for path in IMAGES.iterdir() if path.is_dir()]
classes = sorted(path.name for path in folders if path.name[0] != ".")
x, y = read_images(IMAGES, classes)
$further"""


def image_folder(
    layout: Layout, shape: tuple[int, ...], *, in_files: bool = False
) -> tuple[str, str]:
    """Return the lines before `load_data`, and the lines in it.

    A sample has this shape (height, width, channels). Images may stay `in_files`.
    """
    places = [
        ("IMAGES", layout.train),
        ("VALIDATION_IMAGES", layout.validation),
        ("TEST_IMAGES", layout.test),
    ]
    head, what, read = _images_head(places, shape), "images", _READ
    if in_files:
        head += _PICTURES_HEAD
        what, read = "files of the images", "return np.array(paths), np.array(y, np.int32)"
    head += fill(_CLASSES_HEAD, what=what, read=read)
    further = (
        ("val", "VALIDATION_IMAGES", layout.validation),
        ("test", "TEST_IMAGES", layout.test),
    )
    reads = [
        f"x_{part}, y_{part} = read_images({name}, classes)"
        for part, name, path in further
        if path is not None
    ]
    return head, fill(_FOLDER_LOAD, further="\n".join(reads))


def _images_head(places: Sequence[tuple[str, Path | None]], shape: tuple[int, ...]) -> str:
    height, width, channels = shape
    return fill(
        _IMAGES_HEAD,
        folders="\n".join(_folder_place(name, path) for name, path in places if path is not None),
        size=literal((height, width)),
        grey="image = tf.image.rgb_to_grayscale(image)" if channels == 1 else "",
        kinds=literal(SUFFIXES),
    )


def _masks(folders: tuple[Path, Path], shape: tuple[int, ...]) -> tuple[str, str]:
    """Return the lines before `load_data`, and the lines in it, for images with masks."""
    places = [*zip(("IMAGES", "MASKS"), folders, strict=True)]
    return _images_head(places, shape) + _PIXELS_HEAD + _MASKS_HEAD, _MASKS_LOAD


def _folder_place(name: str, path: Path) -> str:
    return call(f"{name} = ", "Path", [literal(str(path))])


_OWN_HEAD = '''\
$file
DATA_OPTIONS = $options


def own_arrays():
    """What the function returns: samples x and targets y, by the names of their splits."""
    found = call_own(DATA_FILE, $function, DATA_OPTIONS, {"seed": SEED})
    if isinstance(found, dict):
        return found
    pairs = [part for part in found if isinstance(part, tuple) and len(part) == 2]
    if len(found) == 2 and not pairs:
        return {"x": found[0], "y": found[1]}
    splits = ("train", "val", "test") if len(found) == 3 else ("train", "test")
    arrays = {}
    for split, (x, y) in zip(splits, found):
        arrays |= {f"x_{split}": x, f"y_{split}": y}
    return arrays


'''

_OWN_LOAD = """\
# These lines are for what the function returned when this script was written.
arrays = own_arrays()
$convert"""


def own_data(facts: ScriptFacts) -> tuple[str, str]:
    """Return the lines before `load_data`, and the lines in it. Raises ExportError.

    The latter make `x` and `y`.
    """
    named = reference(str(facts.plan.data.python))
    if named is None:
        raise AssertionError(facts.plan.data.python)  # a valid plan names one
    head = fill(
        _OWN_HEAD,
        file=place_of(
            "DATA_FILE", "data.python", named.file, facts, "function is that gives the data"
        ),
        options=literal(facts.plan.data.options),
        function=called(named, "data", facts),
    )
    return head, fill(
        _OWN_LOAD,
        convert="\n".join(
            _own_converted(mine, name, facts) for mine, name, _ in facts.source.headers
        ),
    )


def _own_converted(mine: str, name: str, facts: ScriptFacts) -> str:
    array = f"np.asarray(arrays[{literal(name)}])"
    if mine == "groups":
        return f"groups = {array}.reshape(-1)"
    source = facts.source
    shape, dtype = source.headers[0][2]
    if mine.startswith("y") or not are_scaled(dtype.name, shape, source.scale):
        floats = source.target.measured if mine.startswith("y") else source.x_kind == "float32"
        return f"{mine} = {array}{'.astype(np.float32)' if floats else ''}"
    # Grey pictures may lack the axis for their one channel.
    axis = f".reshape(-1, {', '.join(map(str, shape[1:]))})" if shape[-1] == 1 else ""
    return f"{mine} = {array}{axis}.astype(np.float32) / 255"
