"""How a script loads each kind of data: it gets the same numbers as a run, without GPU Studio."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from gpu_studio.common.resource_files import resource
from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.filling import fill
from gpu_studio.export.images import image_folder
from gpu_studio.export.layout import call
from gpu_studio.export.literals import literal
from gpu_studio.export.own_data import own_data
from gpu_studio.export.source import Header, ScriptData
from gpu_studio.plan.catalogue import DATA
from gpu_studio.plan.pixels import are_pixels, are_scaled

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


def stretched(old, new):
    """The matrix (new, old) that stretches a line of pixels, with values in between."""
    centres = np.clip((np.arange(new) + 0.5) * old / new - 0.5, 0, old - 1)
    left = np.minimum(centres.astype(np.intp), old - 2)
    share = (centres - left).astype(np.float32)
    weights = np.zeros((new, old), np.float32)
    weights[np.arange(new), left] = 1 - share
    weights[np.arange(new), left + 1] = share
    return weights


'''

_DIGITS = """\
digits = BESIDE if BESIDE.is_file() else INSTALLED
if not digits.is_file():
    raise SystemExit(NO_DIGITS)
with np.load(digits, allow_pickle=False) as file:
    images, y = file["images"], file["labels"].astype(np.int32)
images = images.astype(np.float32) / 16
# As MNIST shows its digits: 20 × 20 pixels amid a black frame of 28 × 28.
weights = stretched(8, 20)
x = np.zeros((len(images), 28, 28, 1), np.float32)
x[:, 4:24, 4:24, 0] = weights @ images @ weights.T"""

_KERAS_IMAGES = """\
# Downloaded once into ~/.keras. Bytes become numbers from 0 to 1$channel.
(x, y), (x_test, y_test) = keras.datasets.$name.load_data()
x, x_test = $x
y, y_test = $y"""

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
        return image_folder(facts.source.folder, facts.source.shape)
    if facts.plan.data.python is not None:
        return own_data(facts)
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


def digits_file() -> Path:
    """Return the path of the bundled data. Raises FileNotFoundError if they are not installed."""
    return resource("data/digits.npz")


def _digits_head() -> str:
    return fill(_DIGITS_HEAD, installed=call("INSTALLED = ", "Path", [literal(str(digits_file()))]))


def _grouped(value: float) -> str:
    return f"({literal(value)})" if value < 0 else literal(value)


def _keras_images(name: str, *, grey: bool) -> str:
    scaled = "{}[..., None].astype(np.float32) / 255" if grey else "{}.astype(np.float32) / 255"
    labels = "{}.astype(np.int32)" if grey else "{}.reshape(-1).astype(np.int32)"
    return fill(
        _KERAS_IMAGES,
        name=name,
        channel=", with an axis for the one channel" if grey else "",
        x=_pair(scaled),
        y=_pair(labels, "y"),
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
    convert = [_converted(mine, header, source) for mine, _, header in source.headers]
    return fill(_FILE, read="\n".join(read), convert="\n".join(convert))


def _converted(name: str, header: Header, source: ScriptData) -> str:
    if name == "groups":
        return "groups = groups.reshape(-1)"
    made = _samples(name, header, source) if name.startswith("x") else _targets(name, header)
    return f"{name} = {made}"


def _samples(name: str, header: Header, source: ScriptData) -> str:
    shape, dtype = header
    axis = "[..., None]" if len(shape) == 3 and are_pixels(dtype.name, shape) else ""
    scaled = " / 255" if are_scaled(dtype.name, shape, source.scale) else ""
    return f"{name}{axis}.astype({'np.int32' if source.tokens else 'np.float32'}){scaled}"


def _targets(name: str, header: Header) -> str:
    if np.issubdtype(header[1], np.floating):
        return f"{name}.reshape(-1, 1).astype(np.float32)"
    return f"{name}.reshape(-1).astype(np.int32)"
