"""The part of a script for `fit` that loads data which come batch by batch, or sample by sample."""

from __future__ import annotations

from gpu_studio.export.fitted import FittedPlan
from gpu_studio.export.own_code import is_script
from gpu_studio.export.script_text import fill, functions_of
from gpu_studio.plan import Plan, reference

_STREAMS = """\
$file
DATA_OPTIONS = $options


def load_data():
    \"\"\"The streams to train on, to validate on and to test on, or None.\"\"\"
    keras.utils.set_random_seed(SEED)
    found = call_own(DATA_FILE, $function, DATA_OPTIONS, {"seed": SEED})
    training, *others = found if isinstance(found, (tuple, list)) else (found,)
    $opened
    $batched
    validation, test = [*others, None, None][:2]
    return training, validation, test


$again
$seeds
DRAWING = threading.Lock()


def drawing(make, number, split):
    \"\"\"What is made, by random numbers of its own: of the seed, the pass and the split.

    It draws on where it left off, whatever else draws meanwhile.
    \"\"\"
    with DRAWING:
        set_seeds(SEED, number, split)
        elements = make()
        state = random.getstate(), np.random.get_state()
    while True:
        with DRAWING:  # fit may read two splits at once
            random.setstate(state[0])
            np.random.set_state(state[1])
            found = [*itertools.islice(elements, 1)]
            state = random.getstate(), np.random.get_state()
        if not found:
            return
        yield found[0]


def one_pass(files, number, split, places):
    \"\"\"The batches of a pass over a `PyDataset`.\"\"\"

    def made():
        yield from (tuple(files[int(place)]) for place in places)

    with DRAWING:
        set_seeds(SEED, number, split)
        files.on_epoch_begin()
    yield from drawing(made, number, split)


def end_pass(files, number, split):
    \"\"\"Tell a `PyDataset` that a pass is over.\"\"\"
    with DRAWING:
        set_seeds(SEED, number, split)
        files.on_epoch_end()


def in_order(files, epochs):
    \"\"\"The batches of all epochs of a `PyDataset`: $order.\"\"\"

    def batches():
        end_pass(files, 0, 0)  # as `fit` does before it begins
        for epoch in range(epochs):
            $generator
            yield from one_pass(files, epoch, 0, $places)
            end_pass(files, epoch + 1, 0)

    return as_batches(files, batches)


def by_passes(files, split, passed=0):
    \"\"\"The batches of a `PyDataset` to evaluate on, so many passes of which are over.

    It draws by the seed, the pass and the split alone; all else is left as it is.
    \"\"\"
    if not isinstance(files, keras.utils.PyDataset):
        return files
    passes, ends = itertools.count(passed), itertools.count()

    def batches():
        number = next(passes)
        # `fit` tells one at each end, and one before each beginning.
        for end in ends:
            end_pass(files, end, split)
            if end == 2 * number:
                break
        yield from one_pass(files, number, split, places_of(files))

    return as_batches(files, batches)


def places_of(files):
    \"\"\"The numbers of the batches of a `PyDataset`, which may be without end.\"\"\"
    many = files.num_batches
    return itertools.count() if many is None else range(many)


def as_batches(files, batches):
    \"\"\"A dataset of what `batches` yields, which is like the first two.\"\"\"
    first, *_ = [tuple(files[each]) for each in itertools.islice(places_of(files), 2)]

    def kind(array):
        return tf.TensorSpec((None, *array.shape[1:]), array.dtype)

    kinds = keras.tree.map_structure(kind, first)
    return tf.data.Dataset.from_generator(batches, output_signature=kinds)
"""
_SEEDS = functions_of("data/python_streams.py", "set_seeds").removesuffix("\n")
_OPENED_ANEW = "training, *others = map(read_anew, (training, *others), range(3))"
_READ_ANEW = (
    functions_of("user_code/stream_kinds.py", "opener")
    + """\
def read_anew(value, split):
    \"\"\"A dataset of what a function yields, which begins anew in each epoch.

    Whatever else can be iterated is read so too; a generator of batches is `fit`'s. No
    `split` draws what another one draws.
    \"\"\"
    make = opener(value)
    if isinstance(value, (tf.data.Dataset, keras.utils.PyDataset)):
        return value
    $first
    passes = itertools.count()

    def elements():
        yield from map(parts_of, drawing(make, next(passes), split))

    def kind(array):
        return tf.TensorSpec($shape, np.asarray(array).dtype)

    kinds = keras.tree.map_structure(kind, parts_of(first))
    return tf.data.Dataset.from_generator(elements, output_signature=kinds)


def parts_of(element):
    \"\"\"Samples, targets and weights, as far as an element has them.\"\"\"
    return tuple(element) if isinstance(element, (tuple, list)) else (element,)


"""
)
_FIRST = """\
set_seeds(SEED, 0, split)
first = next(make())"""
_AS_GIVEN = """\
if make is None:
    return value"""
_SEEDED_ONCE = """\
if make is None:
    return seeded(value, split)"""
_OF_SAMPLES = """\
if make is None:
    # Before the model is made, as by a run.
    looked_at = [*itertools.islice(value, 64)]
    rest = itertools.chain(looked_at, value)
    first, make = looked_at[0], lambda: rest
else:
    set_seeds(SEED, 0, split)
    first = next(make())"""
_SEEDED = """\
def seeded(generator, split):
    \"\"\"A generator that draws by the seed, but for two batches, which come before.\"\"\"
    looked_at = [*itertools.islice(generator, 2)]

    def batches():
        yield from looked_at
        yield from drawing(lambda: generator, 0, split)

    return batches()


"""
_BATCHED = "training, *others = (each.batch(BATCH_SIZE) for each in (training, *others))"
AS_DATASET = """\
def as_dataset(generator):
    \"\"\"A generator as a dataset of its batches, which none of them misses.\"\"\"
    first = [tuple(batch) for batch in itertools.islice(generator, 2)]

    def kind(array):
        return tf.TensorSpec((None, *np.shape(array)[1:]), np.asarray(array).dtype)

    def batches():
        yield from first
        yield from generator

    kinds = keras.tree.map_structure(kind, first[0])
    return tf.data.Dataset.from_generator(batches, output_signature=kinds)


"""
"""The function by which a generator can be looked at before `fit` reads it."""
NEXT_ONES = """\
def next_ones(generator, most, passed=0):
    \"\"\"So many batches for each epoch: the first that `fit` looks at, and the next ones.

    From a generator `fit` reads ahead, and leaves out what it has read by then. So many
    epochs have `passed` before this start.
    \"\"\"
    first = [tuple(batch) for batch in itertools.islice(generator, 2)]
    for _ in itertools.islice(generator, passed * max(0, most - len(first))):
        pass

    def kind(array):
        return tf.TensorSpec((None, *np.shape(array)[1:]), np.asarray(array).dtype)

    def batches():
        yield from keras.tree.map_structure(np.array, first[:most])
        yield from map(tuple, itertools.islice(generator, max(0, most - len(first))))

    kinds = keras.tree.map_structure(kind, first[0])
    return tf.data.Dataset.from_generator(batches, output_signature=kinds)


"""
"""The function by which each epoch validates with as many batches of a generator."""
COPIED = """\
def copied(*batch):
    \"\"\"A batch in memory of its own.

    A part of one that shares memory with an array of a generator would be computed on
    in place, and change that array.
    \"\"\"

    def whole(array):
        if not isinstance(array, tf.Tensor):
            return array
        return tf.gather(array, tf.range(tf.shape(array)[0]))

    found = keras.tree.map_structure(whole, batch)
    return found if len(found) > 1 else found[0]


"""
"""The function by which parts of a batch share no memory with an array of a generator."""


AFTER_DATA = """\
def wait_for_data(model):
    \"\"\"Let each step begin with its batch, of which there may be none.

    Where data end whose number of batches nobody knows, TensorFlow would else do what
    needs no batch: decay weights, and count a step.
    \"\"\"
    step = model.train_step

    def train_step(data):
        given = [each for each in tf.nest.flatten(data) if each is not None]
        with tf.control_dependencies(given):
            return step(data)

    model.train_step = train_step


"""
"""The function by which the end of data of unknown length changes nothing."""


def streams(fitted: FittedPlan, **words: str) -> str:
    """The functions that give the streams of a function of the user's.

    `words` name its `file`, the `function` in it and its `options`.
    """
    alone = "one by one" in fitted.seen.streamed
    opened = fitted.seen.of_unknown_length or fitted.seen.endless
    return fill(
        _STREAMS,
        opened=_OPENED_ANEW if opened else "",
        again=_read_anew(fitted) if opened else "",
        batched=_BATCHED if alone else "",
        seeds=_SEEDS,
        **words,
        **_places(fitted.plan),
    )


def _read_anew(fitted: FittedPlan) -> str:
    """Return the functions that read streams anew, of samples or of batches."""
    alone, seeded = "one by one" in fitted.seen.streamed, seeds_generators(fitted)
    once = _SEEDED_ONCE if seeded else _AS_GIVEN
    made = fill(
        _READ_ANEW,
        first=_OF_SAMPLES if alone else f"{once}\n{_FIRST}",
        shape="np.shape(array)" if alone else "(None, *np.shape(array)[1:])",
    )
    return (_SEEDED if seeded and not alone else "") + made.removesuffix("\n")


def seeds_generators(fitted: FittedPlan) -> bool:
    """Whether generators draw by the plan's seed: those of a script draw on where it left off."""
    named = reference(str(fitted.plan.data.python))
    return named is None or not is_script(named, fitted.facts)


def _places(plan: Plan) -> dict[str, str]:
    """The order of the batches of a `PyDataset`."""
    if not plan.training.shuffle:
        return {"generator": "", "places": "range(len(files))", "order": "in their own order"}
    drawn = "generator = np.random.Generator(np.random.PCG64([0x0DE2, SEED, epoch]))"
    order = "by seed and epoch alone"
    places = "generator.permutation(len(files))"
    return {"generator": drawn, "places": places, "order": order}
