"""How a script gets the data that a function of the user's own returns.

It gets the same numbers as a run.
"""

from __future__ import annotations

import numpy as np

from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.filling import fill
from gpu_studio.export.literals import literal
from gpu_studio.export.own_code import options_of, place_of
from gpu_studio.plan.references import reference

_HEAD = '''\
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

_LOAD = """\
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
        _HEAD,
        file=place_of(
            "DATA_FILE", "data.python", named.file, facts, "function is that gives the data"
        ),
        options=options_of("data.options", facts.plan.data.options),
        function=literal(named.function),
    )
    return head, fill(
        _LOAD,
        convert="\n".join(_converted(mine, name, facts) for mine, name, _ in facts.source.headers),
    )


def _converted(mine: str, name: str, facts: ScriptFacts) -> str:
    array = f"np.asarray(arrays[{literal(name)}])"
    if mine == "groups":
        return f"groups = {array}.reshape(-1)"
    if mine.startswith("y"):
        values = facts.source.task == "values"
        return (
            f"{mine} = "
            f"{array}.{'reshape(-1, 1).astype(np.float32)' if values else 'reshape(-1).astype(np.int32)'}"
        )
    if facts.source.tokens:
        return f"{mine} = {array}.astype(np.int32)"
    shape, numbers = facts.source.headers[0][2]
    if numbers != np.uint8:
        return f"{mine} = {array}.astype(np.float32)"
    # Grey pictures may lack the axis for their one channel.
    axis = f".reshape(-1, {', '.join(map(str, shape[1:]))})" if shape[-1] == 1 else ""
    return f"{mine} = {array}{axis}.astype(np.float32) / 255"
