"""The part of a script that calls functions in Python files of the user's own."""

from __future__ import annotations

from pathlib import Path

from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.learning import ExportError
from gpu_studio.export.locating import located
from gpu_studio.export.script_text import call, functions_of, literal
from gpu_studio.plan import Reference, reference, references_of
from gpu_studio.plan.local_modules import code_folder, package_of, read_code
from gpu_studio.plan.references import SCHEDULE
from gpu_studio.plan.script_calls import call_of, number_of
from gpu_studio.plan.strategies import strategy_of

CALL_OWN = """\
MODULES = {}


def own(file, name):
    \"\"\"What is called `name` in a Python file of one's own, which is read once.\"\"\"
    if file not in MODULES:
        sys.path.insert(0, str(file.parent))
        spec = importlib.util.spec_from_file_location(file.stem, file)
        MODULES[file] = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = MODULES[file]
        spec.loader.exec_module(MODULES[file])
    return getattr(MODULES[file], name)


def call_own(file, name, options, offered):
    \"\"\"What a function in a file of one's own returns, called as in the file's folder.

    It gets its options, and what it names of all that is offered.
    \"\"\"
    # Its code finds what stands beside it: modules, and files by their names.
    started_in = Path.cwd()
    os.chdir(file.parent)
    function = own(file, name)
    named = inspect.signature(function).parameters
    given = {key: value for key, value in offered.items() if key in named}
    returned = function(**(given | options))
    os.chdir(started_in)
    return returned
"""
"""The functions that read the user's own files, as the text of a script."""


_OWN = "    if file not in MODULES:\n"
_OWN_OF_SCRIPT = """\
    if ":" in name:  # what a script gives its fit
        return functools.partial(given_to_fit, file, *name.split(":"))
"""
_GIVEN_TO_FIT = """


GIVEN = {}


def given_to_fit(file, fit, part, arguments=()):
    \"\"\"The model of a script, its data, or the callbacks that know the model.

    Those of its second call of fit, where that is `fit_2`: it trains by the first before.
    \"\"\"
    from keras.src.utils import naming

    if part == "callbacks":
        return GIVEN["callbacks"] or []
    number = int(fit.partition("_")[2] or 1)
    naming.reset_uids()  # so that each time it runs its metrics and layers are called alike
    if str(file.parent) not in sys.path:  # where it finds modules beside it
        sys.path.insert(0, str(file.parent))
    beside = (SourceFileLoader, "get_code", code_in(file.parent))
    code = code_that_leaves(file)
    call = functools.partial(call_of_fit, str(file), code, arguments, number)
    # What is trained before leaves the model that is trained next: that is not made again.
    found = GIVEN.pop((part, *arguments), None) or with_others([beside], call)
    model, given = found
    if part == "data":
        if number > 1:
            GIVEN["model", *arguments] = found
        return data_given(given)
    GIVEN["callbacks"] = given["callbacks"]
    return model


def code_that_leaves(file):
    \"\"\"The code of a file, of which nothing runs on once its fit is called.\"\"\"
    return compile(leaving_at_fit(ast.parse(file.read_bytes())), str(file), "exec")


def code_in(folder):
    \"\"\"What stands for a loader's `get_code`: modules in the folder leave at a fit, too.\"\"\"
    get_code = SourceFileLoader.get_code

    def instead(loader, name):
        file = Path(loader.path)
        own = file.is_relative_to(folder) and "site-packages" not in file.parts
        return code_that_leaves(file) if own else get_code(loader, name)

    return instead


"""


def own_code(facts: ScriptFacts) -> str:
    """The functions `own` and `call_own`; empty for a plan that names no function."""
    if not names_code(facts):
        return ""
    named = [found for _, text in references_of(facts.plan) if (found := reference(text))]
    for each in named:
        _refuse_packages(each, facts)
        _refuse_strategies(each, facts)
    if not any(is_script(each, facts) for each in named):
        return CALL_OWN
    calling = ("call_of_fit", "at_call", "with_others", "strategy_in_use", "instead_of_set_up")
    taken = functions_of("user_code/scripts.py", *calling, "data_given", "named_arrays")
    streams = ("is_stream", "is_dataset", "is_sequence", "_is_iterable")
    taken += functions_of("user_code/stream_kinds.py", *streams)
    leaving = ("leaving_at_fit", "fit_was_called", "staying_open", "registering_of_others")
    taken += functions_of("user_code/leaving.py", *leaving)
    return (
        CALL_OWN.replace(_OWN, _OWN_OF_SCRIPT + _OWN) + (_GIVEN_TO_FIT + taken).rstrip("\n") + "\n"
    )


def is_script(named: Reference, facts: ScriptFacts) -> bool:
    """Whether what a script gives its `fit` is meant. Raises ExportError."""
    if not number_of(named.function):
        return False
    path, code = _read(named, facts)
    return call_of(path, code, named.function) is not None


def _read(named: Reference, facts: ScriptFacts) -> tuple[Path, bytes]:
    path = located("model.python", named.file, facts.base)
    try:
        return path, read_code(path)
    except (OSError, ValueError) as error:
        raise ExportError(f"{named.file} cannot be read ({error}).") from error


def _refuse_packages(named: Reference, facts: ScriptFacts) -> None:
    """Raise ExportError for a file that imports as a module of a package; one may be elsewhere."""
    path = located("model.python", named.file, facts.base)
    try:
        code = read_code(path)
    except (OSError, ValueError):
        return
    folder = code_folder(path, code)
    if package := package_of(path, folder):
        raise ExportError(
            f"{named.file} imports as a module of the package {package}, and a script is in none: "
            f"name a file in {folder} that imports what it needs from {package}."
        )


def _refuse_strategies(named: Reference, facts: ScriptFacts) -> None:
    """Raise ExportError for a later call of `fit` under a strategy: its model is made before."""
    if number_of(named.function) > 1 and strategy_of(facts.plan).devices != "none":
        raise ExportError(
            f"The model of {named} is trained by the calls of fit before it, and a script trains "
            'it in no strategy of its own: set distribution.strategy = "none".'
        )


def called(named: Reference, part: str, facts: ScriptFacts) -> str:
    """Return the literal by which `own` finds a function for this part of a plan."""
    return literal(f"{named.function}:{part}" if is_script(named, facts) else named.function)


def names_code(facts: ScriptFacts) -> bool:
    """Whether the plan names a function of the user's own."""
    plan, schedule = facts.plan, facts.plan.training.schedule
    own = [plan.training.optimizer, *([schedule.name] if schedule is not None else [])]
    own += [plan.training.loss.name, *(each.name for each in plan.training.metrics)]
    for output in plan.training.outputs.values():
        own += [each.name for each in (output.loss, *(output.metrics or ())) if each is not None]
    for callback in plan.training.callbacks:
        own += [callback.name, str(callback.options.get(SCHEDULE, ""))]
    functions = plan.model.python is not None or plan.data.python is not None
    return functions or any(map(reference, own))


def place_of(variable: str, field: str, file: str, facts: ScriptFacts, what: str) -> str:
    """Return the line that states where the model's or the data's file is. Raises ExportError."""
    line = call(f"{variable} = ", "Path", [literal(str(located(field, file, facts.base)))])
    where = what if " is " in what else f"{what} is"
    return f"# Where the {where}; on another machine, say where it is there.\n{line}"
