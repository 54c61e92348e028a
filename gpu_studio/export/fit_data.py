"""The part of a script for `fit` that loads the data: arrays of any structure, or streams."""

from __future__ import annotations

from gpu_studio.export import data as of_loop
from gpu_studio.export import data_sets
from gpu_studio.export.data import split_head, split_lines
from gpu_studio.export.data_sets import images_of_table
from gpu_studio.export.fit_streams import streams
from gpu_studio.export.fitted import FittedPlan, folder_of_texts, holds_texts
from gpu_studio.export.locating import located
from gpu_studio.export.script_data import stay_in_files
from gpu_studio.export.script_text import call, fill, literal
from gpu_studio.export.tables import TableFacts, nested_table
from gpu_studio.plan.catalogue import scale_of
from gpu_studio.plan.data import CHANNELS, SMALLEST_SIDE, TEXT_FILES, groups_array

_NAMED = """\
def named(found):
    \"\"\"What the function returned, by the names that arrays have in an .npz file.\"\"\"
    if isinstance(found, dict):
        return found
    if not isinstance(found, (tuple, list)):
        return {"x": found}
    pairs = [isinstance(part, (tuple, list)) and len(part) == 2 for part in found]
    if not all(pairs) or not any(isinstance(part, tuple) for part in found):
        return dict(zip(("x", "y", "sample_weight"), found))
    splits = ("train", "val", "test") if len(found) == 3 else ("train", "test")
    arrays = {}
    for split, (x, y) in zip(splits, found):
        arrays |= {f"x_{split}": x, f"y_{split}": y}
    return arrays


"""

_NAMED_WHOLE = """\
def named(found):
    \"\"\"What the function returned, by the names that arrays have in an .npz file.\"\"\"
    if isinstance(found, dict):
        return found if "x" in found else {"x": found}
    if not isinstance(found, (tuple, list)):
        return {"x": found}
    return dict(zip(("x", "y", "sample_weight"), found))


"""

_NESTED = """\
def named(file):
    \"\"\"The arrays of an .npz file; those called x/left and x/right are parts of x.\"\"\"

    def tuples(tree):
        if not isinstance(tree, dict):
            return tree
        inner = {name: tuples(each) for name, each in tree.items()}
        places = [str(place) for place in range(len(inner))]
        return tuple(map(inner.get, places)) if set(inner) == set(places) else inner

    found = {}
    for name in file.files:
        *path, last = name.split("/")
        part = found
        for each in path:
            part = part.setdefault(each, {})
        part[last] = file[name]
    return {name: tuples(each) for name, each in found.items()}


"""

_ROWS_OF = """\
def rows_of(arrays, rows):
    \"\"\"Some samples of a structure of arrays.\"\"\"
    return keras.tree.map_structure(lambda array: array[rows], arrays)


"""

_ARRAYS = """\
def load_data():
    \"\"\"The samples of each split as `fit` takes them: x, y and weights, if any.\"\"\"
    $read
    arrays = {
        name: $convert
        for name, array in named(found).items()
        if array is not None
    }
    $split


"""

_CALLED = """\
keras.utils.set_random_seed(SEED)
found = call_own(DATA_FILE, $function, DATA_OPTIONS, {"seed": SEED})"""

_OPENED = """\
# Pickled objects are refused: loading one can run any program.
found = np.load(DATA_FILE, allow_pickle=False)"""

_TABLE = """\
def load_data():
    \"\"\"The samples of each split as `fit` takes them: x, y and weights, if any.\"\"\"
    $load
    $split


"""

_TEXTS = """\
def read_texts(folder, classes):
    \"\"\"$what of all classes, and the class of each.\"\"\"
    paths, y = [], []
    for number, name in enumerate(classes):
        files = [p for p in (folder / name).glob("[!.]*") if p.suffix.lower() in KINDS]
        paths += sorted(files)
        y += [number] * len(files)
    return np.array([$text for path in paths]), np.array(y, np.int32)


"""

_TEXTS_LOAD = """\
# Each folder is a class, and they are numbered in the order of their names.
folders = [path for path in TEXTS.iterdir() if path.is_dir()]
classes = sorted(path.name for path in folders if path.name[0] != ".")
$read"""

_BATCHES = """\
def batches(arrays, order_of_epoch, epochs):
    \"\"\"The batches of all epochs, as a dataset.\"\"\"
    with tf.device("CPU:0"):
        held = keras.tree.map_structure(tf.constant, arrays)

    def rows_of_batches():
        for epoch in range(epochs):
            order = order_of_epoch(epoch)
            for first in range(0, len(order), BATCH_SIZE):
                yield order[first : first + BATCH_SIZE]

    kind = tf.TensorSpec((None,), tf.int64)
    rows = tf.data.Dataset.from_generator(rows_of_batches, output_signature=kind)

    def gathered(some):
        $gathered

    # Of data without a known length Keras would count a batch too many.
    samples = len(keras.tree.flatten(arrays)[0])
    known = tf.data.experimental.assert_cardinality(epochs * -(-samples // BATCH_SIZE))
    $mapped
"""

_MAPPED = "return rows.map(gathered).prefetch(8).apply(known)"
_MAPPED_FILES = """\
read = rows.map(gathered, num_parallel_calls=tf.data.AUTOTUNE)
return read.prefetch(8).apply(known)"""
_GATHERED = "return keras.tree.map_structure(lambda each: tf.gather(each, some), held)"
_GATHERED_BYTES = """\
x, y = (tf.gather(each, some) for each in held)
# Images are bytes until they are wanted, and then numbers from 0 to $most.
return $numbers, y"""
_GATHERED_FILES = """\
x, y = (tf.gather(each, some) for each in held)
# Images are read when they are wanted, and are then numbers from 0 to $most.
x = pictures(x)
return $numbers, y"""
_GATHERED_IMAGES = """\
x, *rest = keras.tree.map_structure(lambda each: tf.gather(each, some), held)
$read
# Images are bytes until they are wanted, and then numbers from 0 to $most.
$part = tf.cast($part, tf.float32)$scaled
return x, *rest"""
_GATHERED_TEXTS = """\
x, y = (tf.gather(each, some) for each in held)
# Texts are read when they are wanted.
return tf.map_fn(tf.io.read_file, x), y"""

_AS_GIVEN = """\
def as_given(array):
    \"\"\"An array, its floats as float32, as `fit` makes them of what is in memory.\"\"\"
    array = np.asarray(array)
    return array.astype(np.float32) if array.dtype.kind == "f" else array


"""
_FILLED = """\
def filled(array):
    \"\"\"Arrays as given; zeros for None, which an output without a loss has as its target.\"\"\"
    rows = next(len(each) for each in keras.tree.flatten(array) if each is not None)
    return keras.tree.map_structure(
        lambda each: np.zeros(rows) if each is None else as_given(each), array
    )


"""
_IN_TUPLES = """\
def in_tuples(tree):
    \"\"\"The structure with tuples for lists, each of which tf.data takes for an array.\"\"\"
    if isinstance(tree, dict):
        return {name: in_tuples(each) for name, each in tree.items()}
    return tuple(map(in_tuples, tree)) if isinstance(tree, (list, tuple)) else tree


"""
_AS_FLOATS = """\
def as_floats(array):
    \"\"\"Samples as float32: they are no ids, but measured.\"\"\"
    return np.asarray(array, np.float32)


"""
_PIXELS = """\
def pixels(array):
    \"\"\"Bytes of pictures as numbers from 0 to 1, anything else as it is.\"\"\"
    array = np.asarray(array)
    sides = array.shape[1:]
    picture = array.dtype == np.uint8 and (
        min(sides) >= $smallest if len(sides) == 2 else sides[2:] and sides[-1] in $channels
    )
    scaled = $scaled
    $axis
    return array.astype(np.float32) / 255 if scaled else as_given(array)


"""
_GREY = """\
if picture and len(sides) == 2:
    array = array[..., None]  # its only channel"""


def loading(fitted: FittedPlan) -> str:
    """The functions that load the data. Raises ExportError."""
    plan = fitted.plan
    if plan.data.python is not None:
        return _returned(fitted)
    if holds_texts(plan):
        head, load = _texts(fitted)
        return head + _loaded(fitted, load)
    if fitted.of_loop:
        head, load = data_sets.loading(fitted.facts)
        return head + _loaded(fitted, load)
    if fitted.facts.source.table is not None:
        return _nested_table(fitted, fitted.facts.source.table)
    path = literal(str(located("data.file", str(plan.data.file), fitted.facts.base)))
    place = call("DATA_FILE = ", "Path", [path])
    head = f"# Where the data are; on another machine, say where they are there.\n{place}\n\n\n"
    return head + _NESTED + _arrays(fitted, _OPENED)


def _nested_table(fitted: FittedPlan, table: TableFacts) -> str:
    """Return the functions for a table of several inputs or targets, or with weights."""
    data, seen, image = fitted.plan.data, fitted.seen, table.columns.images
    shares, in_files = _held_out(fitted), image is not None and stay_in_files(fitted.seen)
    shapes = {each.path: tuple(size or 1 for size in each.shape) for each in seen.inputs}
    head, load = nested_table(table, data, seen, in_files=in_files)
    head = (
        images_of_table(table, shapes.get((str(image),), shapes.get((), ())), in_files=in_files)
        + head
    )
    made = fill(_TABLE, load=load, split=_splits(fitted, shares))
    gathered = _GATHERED
    if image is not None:
        part, plain = (
            f"x[{literal(image)}]" if (image,) in shapes else "x",
            scale_of(data) == "none",
        )
        gathered = fill(
            _GATHERED_IMAGES,
            part=part,
            read=f"{part} = pictures({part})" if in_files else "",
            most="255" if plain else "1",
            scaled="" if plain else " / 255",
        )
    head += split_head(data.split, shares) + _ROWS_OF
    return head + made + _batches(fitted, gathered, in_files=in_files)


def _returned(fitted: FittedPlan) -> str:
    """Return the functions for what a function of the user's returns."""
    data = fitted.plan.data
    what = "function is that gives the data"
    place, function = fitted.place("DATA_FILE", "data.python", str(data.python), what)
    options = literal(data.options)
    if fitted.seen.streamed:
        return streams(fitted, file=place, function=function, options=options)
    head = f"{place}\nDATA_OPTIONS = {options}\n\n\n"
    named = _NAMED if "x_train" in fitted.names else _NAMED_WHOLE
    return head + named + _arrays(fitted, fill(_CALLED, function=function))


def _arrays(fitted: FittedPlan, read: str) -> str:
    """Return the functions for arrays by their names, which are `read` so."""
    shares, seen = _held_out(fitted), fitted.seen
    head, converts = _AS_GIVEN, "as_given"
    if seen.pixels or _are_measured(fitted):
        own = "pixels" if seen.pixels else "as_floats"
        head += _pixels(fitted) if seen.pixels else _AS_FLOATS
        converts = f'{own} if name[0] == "x" else as_given'
    convert = f"keras.tree.map_structure({converts}, array)"
    if converts == "as_given" and not seen.nested:
        convert = "as_given(array)"  # also of lists
    if _may_lack_targets(fitted):
        head += _FILLED
        other = f' if name[0] == "y" else {convert}' if converts != "as_given" else ""
        convert = f"filled(array){other}"
    if fitted.plan.data.python is not None and _has_sequences(fitted):
        head += _IN_TUPLES
        convert = f"in_tuples({convert})"
    head += split_head(fitted.plan.data.split, shares)
    made = fill(_ARRAYS, read=read, convert=convert, split=_splits(fitted, shares))
    return head + _ROWS_OF + made + _batches(fitted, _GATHERED)


def _has_sequences(fitted: FittedPlan) -> bool:
    """Whether samples come in tuples or lists, which facts do not tell apart."""
    every = (*fitted.seen.inputs, *fitted.seen.targets, *fitted.seen.weights)
    return any(isinstance(key, int) for each in every for key in each.path)


def _may_lack_targets(fitted: FittedPlan) -> bool:
    """Whether a function of the user's may have returned None for some targets."""
    several = 0 < len(fitted.seen.targets) < len(fitted.built.outputs)
    return several and fitted.seen.nested and fitted.plan.data.python is not None


def _are_measured(fitted: FittedPlan) -> bool:
    """Whether samples are a single array of a file, which a model sees as float32."""
    inputs = fitted.seen.inputs
    alone = len(inputs) == 1 and not inputs[0].path and fitted.plan.data.file is not None
    return alone and inputs[0].dtype == "float32"


def _pixels(fitted: FittedPlan) -> str:
    every = scale_of(fitted.plan.data) == "unit"
    return fill(
        _PIXELS,
        smallest=str(SMALLEST_SIDE),
        channels=literal(CHANNELS),
        scaled="array.dtype == np.uint8" if every else "picture",
        axis="" if any(each.path for each in fitted.seen.inputs) else _GREY,
    )


def _loaded(fitted: FittedPlan, load: str) -> str:
    """Return the functions for one array and its targets, which these lines load."""
    loaded = of_loop.loaded(fitted.facts, load, fitted.splits)
    return loaded + _batches(fitted, _gathered(fitted), in_files=fitted.facts.source.in_files)


def _batches(fitted: FittedPlan, gathered: str, *, in_files: bool = False) -> str:
    mapped = _MAPPED_FILES if in_files else _MAPPED
    made = fill(_BATCHES, gathered=gathered, mapped=mapped)
    return f"{made}\n\n{of_loop.ordering(fitted.plan)}"


def _gathered(fitted: FittedPlan) -> str:
    source = fitted.facts.source
    if not source.of_images:
        return _GATHERED_TEXTS if holds_texts(fitted.plan) and source.in_files else _GATHERED
    plain = source.scale == "none"
    numbers = "tf.cast(x, tf.float32)" + ("" if plain else " / 255")
    gathered = _GATHERED_FILES if source.in_files else _GATHERED_BYTES
    return fill(gathered, most="255" if plain else "1", numbers=numbers)


def _texts(fitted: FittedPlan) -> tuple[str, str]:
    """Return the lines before `load_data`, and the lines in it, for a folder of texts."""
    layout = folder_of_texts(fitted.plan, fitted.facts.base)
    places = {"TEXTS": layout.train, "VALIDATION": layout.validation, "TEST": layout.test}
    head = "# Where the texts are; on another machine, say where they are there.\n"
    head += "".join(
        call(f"{name} = ", "Path", [literal(str(place))]) + "\n"
        for name, place in places.items()
        if place is not None
    )
    head += f"KINDS = {literal(TEXT_FILES.suffixes)}\n\n\n"
    parts = {"x, y": "TEXTS", "x_val, y_val": "VALIDATION", "x_test, y_test": "TEST"}
    read = [f"{one} = read_texts({name}, classes)" for one, name in parts.items() if places[name]]
    what, text = ("The texts", "path.read_bytes()")
    if fitted.facts.source.in_files:
        what, text = ("The files", "os.fsencode(path)")
    return head + fill(_TEXTS, what=what, text=text), fill(_TEXTS_LOAD, read="\n".join(read))


def _held_out(fitted: FittedPlan) -> dict[str, float]:
    data = fitted.plan.data
    shares = {"test": data.test_fraction, "validation": data.validation_fraction}
    brought = {"test": fitted.brings("test"), "validation": fitted.brings("val")}
    return {name: share for name, share in shares.items() if share > 0 and not brought[name]}


def _splits(fitted: FittedPlan, shares: dict[str, float]) -> str:
    """Return the lines that make the three splits of `arrays`."""
    ending = "_train" if "x_train" in fitted.names else ""
    lines = [f"training = {_taken(fitted, ending)}"]
    data = fitted.plan.data
    if shares:
        lines.append("samples = len(keras.tree.flatten(training)[0])")
        if data.split == "grouped":
            # As they were read: as float32, two groups could be one.
            held = "arrays[{}]" if data.table is not None else "np.asarray(named(found)[{}])"
            lines.append(f"groups = {held.format(literal(groups_array(data)))}")
        made = split_lines(data.split, shares, _classes(fitted))
        lines.append(made.replace("len(x)", "samples"))
    for name in fitted.splits[1:]:
        part = {"validation": "val"}.get(name, name)
        held = f"rows_of(training, {name}_rows)" if name in shares else _taken(fitted, f"_{part}")
        lines.append(f"{name} = {held}")
    if shares:
        lines.append("training = rows_of(training, training_rows)")
    return "\n".join([*lines, f"return {', '.join(fitted.splits)}"])


def _classes(fitted: FittedPlan) -> str:
    """Return the class of each sample as an expression, where there is one target of classes."""
    seen = fitted.seen
    target = seen.targets[0].target if seen.nested and seen.targets else seen.target
    if target.one_hot:
        return "training[1].argmax(axis=-1)"
    return "training[1]" if target.shape == () else "training[1][:, 0]"


def _taken(fitted: FittedPlan, ending: str) -> str:
    """Return a split's samples, with targets and weights in a tuple if there are any."""
    parts = [f"{part}{ending}" for part in ("x", "y", "sample_weight")]
    found = [f"arrays[{literal(part)}]" for part in parts if part in fitted.names]
    return found[0] if len(found) == 1 else f"({', '.join(found)})"  # as `fit` takes x alone
