"""The parts of a script that begin the later phases of a training."""

from __future__ import annotations

from collections.abc import Iterable

from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.joined_updates import LET_UPDATE_FOR_ALL
from gpu_studio.export.optimizers import OFFERED, own_arguments
from gpu_studio.export.script_text import call, fill, literal
from gpu_studio.export.strategies import written_as
from gpu_studio.plan import reference

_PHASES = """\
# Later phases: after so many epochs, with what learning rate, and what is frozen then.
PHASES = [
    $phases
]


$next"""

_NEXT = """\
def next_optimizer(optimizer, rate):
    \"\"\"A new optimizer for a phase: of the same kind, without what the last one knew.\"\"\"
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    made = type(inner).from_config(inner.get_config() | {"learning_rate": rate})
    return made if inner is optimizer else keras.optimizers.LossScaleOptimizer(made)
"""

_NEXT_OWN = """\
def next_optimizer(optimizer, rate, steps_per_epoch, epochs):
    \"\"\"A new optimizer for a phase: of the same kind, without what the last one knew.\"\"\"
    $offered
    $made
    if not hasattr(optimizer, "inner_optimizer") or hasattr(made, "inner_optimizer"):
        return made
    return keras.optimizers.LossScaleOptimizer(made)
"""

_BEGIN = """\
for after, rate, frozen in PHASES:
    if epoch == after:
        # Averages that the optimizer keeps become the weights, as at the end of fit.
        optimizer.finalize_variable_values(model.trainable_variables)
        $begin
        $steps"""

_FOLLOWING = """\
phase = 0  # so many later ones have begun

def begin_next():
    \"\"\"Begin the next phase, and return the variables that it has.\"\"\"
    nonlocal optimizer, phase, $names
    _, rate, frozen = PHASES[phase]
    phase += 1
    # Averages that the optimizer keeps become the weights, as at the end of fit.
    optimizer.finalize_variable_values(model.trainable_variables)
    $begin
    $steps
    return [*model.variables, *optimizer.variables]
"""

_NEW = """\
freeze(model, frozen)
$made
$place
optimizer.build(model.trainable_variables)
$join
$slots"""

_CALLBACK = """\
class Phases(keras.callbacks.Callback):
    \"\"\"Begins the later phases: a new optimizer, and other layers frozen.\"\"\"

    $kept

    def on_epoch_begin(self, epoch, logs=None):
        for after, rate, frozen in PHASES:
            if epoch == after:
                self.begin(rate, frozen)

    def begin(self, rate, frozen):
        $end
        # Averages that the optimizer keeps become the weights, as at the end of fit.
        model = self.model
        model.optimizer.finalize_variable_values(model.trainable_variables)
        with model.distribute_strategy.scope():
            freeze(model, frozen)
            $made
            model.optimizer.build(model.trainable_variables)
        $count
        model.make_train_function(force=True)
        $again


"""
_END = """\
# For the others a fit ends, and another one begins.
table = keras.callbacks.CSVLogger  # which goes on
others = [each for each in self.others if not isinstance(each, table)]
for other in others:
    other.on_train_end({})"""
_AGAIN = """\
for other in others:
    other.on_train_begin()"""
_KEPT = """\
def __init__(self, $given):
    super().__init__()
    $kept"""


def phases(facts: ScriptFacts) -> str:
    """Return the table `PHASES` and the function `next_optimizer`; empty without later phases."""
    chosen = facts.plan.training.phases
    if not chosen:
        return ""
    rows = [
        f"({each.after}, {literal(float(each.learning_rate))}, {literal(list(each.frozen))}),"
        for each in chosen
    ]
    own = reference(facts.plan.training.optimizer)
    following = _NEXT
    if own is not None:
        arguments = [*own_arguments(facts, own, facts.plan.training.options), "offered"]
        following = fill(
            _NEXT_OWN,
            offered=fill(OFFERED, rate="rate"),
            made=call("made = ", "call_own", arguments, indent=4),
        )
    return fill(_PHASES, phases="\n".join(rows), next=following.rstrip("\n")) + "\n"


def beginning(facts: ScriptFacts, steps: str, join: str, place: str) -> str:
    """Return the lines of an epoch that begin a phase, with `steps`, which make the steps anew."""
    if not facts.plan.training.phases:
        return ""
    new = _begun(facts, join, place, indent=16)
    return fill(_BEGIN, begin=new, steps=steps)


def following(facts: ScriptFacts, steps: str, names: Iterable[str]) -> str:
    """Return the function `begin_next` of a worker, with `steps`, which make `names` anew.

    It is empty without later phases. A worker that goes on begins those that had begun.
    """
    if not facts.plan.training.phases:
        return ""
    new = _begun(facts, LET_UPDATE_FOR_ALL if facts.joins else "", "", indent=8)
    return fill(_FOLLOWING, begin=new, steps=steps, names=", ".join(names))


def _begun(facts: ScriptFacts, join: str, place: str, *, indent: int) -> str:
    given = ["optimizer", "rate"]
    if reference(facts.plan.training.optimizer):
        given += ["steps_per_epoch", "arguments.epochs"]
    scoped = written_as(facts.plan).has_scope
    made = call("optimizer = ", "next_optimizer", given, indent=indent + 4 * scoped)
    slots = slots_moved(facts, "optimizer")
    new = fill(_NEW, made=made, place=place, join=join, slots=slots).rstrip("\n")
    if scoped:
        new = "with strategy.scope():\n" + "\n".join(f"    {each}" for each in new.split("\n"))
    return new


def phases_callback(facts: ScriptFacts) -> str:
    """Return the class `Phases`; empty without later phases."""
    if not facts.plan.training.phases:
        return ""
    given = _given(facts)
    offered = [each for each in given if each not in ("count", "others")]
    made_of = ["model.optimizer", "rate", *(f"self.{each}" for each in offered)]
    kept = "\n".join(f"self.{each} = {each}" for each in given)
    return fill(
        _CALLBACK,
        kept=fill(_KEPT, given=", ".join(given), kept=kept) if given else "",
        made=call("model.optimizer = ", "next_optimizer", made_of, indent=12),
        count=_counted_or_placed(facts),
        end=_END if "others" in given else "",
        again=_AGAIN if "others" in given else "",
    ).replace('"""\n\n\n    def', '"""\n\n    def')


def slots_moved(facts: ScriptFacts, optimizer: str) -> str:
    """Return the line that moves what this optimizer keeps, if any of it may lie elsewhere."""
    return f"move_slots({optimizer}, model.trainable_variables)" if facts.moves_slots else ""


def _counted_or_placed(facts: ScriptFacts) -> str:
    if facts.placed is not None:
        slots = slots_moved(facts, "model.optimizer")
        return f"place_updates(model.optimizer)\n{slots}".rstrip()
    return "self.count(model.optimizer)" if facts.several else ""


def made_callback(facts: ScriptFacts) -> str:
    """Return the expression that makes it."""
    named = {"count": "count", "epochs": "arguments.epochs"}
    return f"Phases({', '.join(named.get(each, each) for each in _given(facts))})"


def _given(facts: ScriptFacts) -> list[str]:
    own = reference(facts.plan.training.optimizer) is not None
    others = bool(facts.plan.training.callbacks)
    return [
        *(["count"] if facts.several else []),
        *(["steps_per_epoch", "epochs"] if own else []),
        *(["others"] if others else []),
    ]
