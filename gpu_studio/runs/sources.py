"""Check the files and folders that a plan names: present, complete, allowed, without pickles.

Only names and headers are read, and Python files as text. The trainer checks whether the
arrays match each other, and the model the data, and whether every image of a folder can be
read. The user's own Python runs only as far as it is allowed, and some folders may not be
allowed whole.
"""

from __future__ import annotations

import shlex
import stat
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from platformdirs import user_downloads_path

from gpu_studio.common.figures import grouped
from gpu_studio.contract.consent import Standing, allowances, standing
from gpu_studio.contract.user_files import code_files, hint, read_as_text
from gpu_studio.plan import (
    AbsolutePlan,
    Caution,
    Data,
    Plan,
    Problem,
    listed,
    printable,
    reference,
    references_of,
    shown,
)
from gpu_studio.plan.archives import brief, npy_header, overlong
from gpu_studio.plan.columns import TABLE, TableError, chosen_columns, columns_named, header_of
from gpu_studio.plan.data import (
    MASKS,
    ImageFolderError,
    files_in,
    folder_entry,
    groups_array,
    layout_of,
    mask_folders,
)
from gpu_studio.plan.local_modules import modules_beside, read_code
from gpu_studio.plan.script_calls import again, call_at, call_of, number_of

_Check = Callable[[zipfile.ZipFile], str]
_MOST_ARRAYS = 10_000
_KERAS_PARTS = {"config.json", "model.weights.h5"}


@dataclass(frozen=True, slots=True)
class ConsentProblem(Problem):
    """A Python file at `path` that is not allowed as it is: the one problem that consent solves."""

    path: Path
    standing: Standing


def file_problems(written: Plan, plan: AbsolutePlan) -> list[Problem]:
    """Problems with the files and folders of `plan`, each called as in the plan as `written`."""
    model, data, found = plan.model, plan.data, dict(references_of(plan))
    return [
        *_problems("model.file", written.model.file, model.file, ".keras", _lacks_keras_parts),
        *_weights_problems(written.model.weights, model.weights),
        *_problems("data.file", written.data.file, data.file, ".npz", _holds_pickles),
        *_folder_problems("data.folder", written.data.folder, data),
        *_table_problems(written.data, data),
        *(
            problem
            for field, text in references_of(written)
            for problem in _code_problems(field, text, found.get(field, ""))
        ),
    ]


def consent_needed(plan: AbsolutePlan) -> list[tuple[Path, Standing]]:
    """The readable Python files that `plan` runs and that are not allowed as they are."""
    return _without_consent(code_files(plan))


def trained_on_import(plan: AbsolutePlan) -> Iterator[Caution]:
    """A warning for each Python file of `plan` that trains as soon as it is imported.

    A script of which only the call of `fit` is named is not imported, and ends at that call.
    """
    named = [found for _, text in references_of(plan) if (found := reference(text))]
    imported = {each.file for each in named if not number_of(each.function)}
    scripts = {each.file for each in named} - imported
    for path in code_files(plan):
        try:
            code = read_code(path)
        except (OSError, ValueError):
            continue
        line = read_as_text(code).trains
        if line and not (str(path) in scripts and call_at(path, code, 1)):
            yield Caution(
                f"trains on import: {path}",
                f"{printable(path.name)} seems to train as soon as it is imported, by line {line}.",
                "It is imported at each start of a run, and to look at its model and data: it "
                "would train there first, and write its files again. Put those lines below "
                'if __name__ == "__main__": in the file.',
            )


def trains_before(plan: AbsolutePlan) -> bool:
    """Whether the script of a plan trains before the call of `fit` that it means."""
    named = (reference(text or "") for text in (plan.model.python, plan.data.python))
    return any(each and number_of(each.function) > 1 for each in named)


def fits_left(plan: AbsolutePlan) -> Iterator[Caution]:
    """A warning where the script of a plan calls `fit` again after the call that is trained."""
    named = reference(plan.model.python or "")
    with suppress(OSError, ValueError):
        path = Path(named.file) if named else Path()
        call = call_of(path, read_code(path), named.function) if named else None
        if call and call.later:
            yield Caution("fit is called again", *again(printable(path.name), call))


def _without_consent(files: Sequence[Path]) -> list[tuple[Path, Standing]]:
    found: list[tuple[Path, Standing]] = []
    for path in files:
        try:
            said = standing(path, read_code(path))
        except (OSError, ValueError):
            continue
        if said is not Standing.ALLOWED:
            found.append((path, said))
    return found


_UNPRINTABLE = (
    "a folder that it is in has a name with a character that cannot be shown, such as a line break "
    "or a no-break space: give the folder another name"
)


def _code_problems(field: str, text: str, found: str) -> Iterator[Problem]:
    named, shown = reference(found), f'"{text}"'
    if named is None:
        if reference(text):
            yield Problem(field, shown, _UNPRINTABLE)
        return
    path = Path(named.file)
    try:
        code = read_code(path)
    except FileNotFoundError:
        yield Problem(
            field, shown, f"there is no such file: {path} is where it was looked for{hint(path)}"
        )
    except (OSError, ValueError) as error:
        yield Problem(
            field, shown, f"it cannot be read: {getattr(error, 'strerror', None) or error}"
        )
    else:
        yield from _problems_of_code(field, shown, path, named.function, code)


def _problems_of_code(
    field: str, shown: str, path: Path, function: str, code: bytes
) -> Iterator[Problem]:
    found = read_as_text(code)
    is_script = call_of(path, code, function) is not None
    if wrong := found.problem or ("" if is_script else found.lacks(function)):
        yield Problem(field, shown, wrong)
        return
    for file, said in _without_consent([path, *modules_beside(path)]):
        yield ConsentProblem(field, shown, _ask_for_consent(file, said), file, said)


def _ask_for_consent(path: Path, said: Standing) -> str:
    if problem := allowances().problem:
        return problem
    how = f"read it, then allow it (gpu-studio code allow {shlex.quote(str(path))})"
    if said is Standing.CHANGED:
        return (
            f"{path.name} has changed since it was allowed, and it may do whatever you may: {how}"
        )
    return f"nothing of {path.name} has been run yet, and it may do whatever you may: {how}"


def _problems(
    field: str, name: str | None, found: str | None, kind: str, check: _Check
) -> Iterator[Problem]:
    if not name or not found or not name.isprintable():
        return
    advice = _advice(Path(found), kind, check)
    if advice:
        yield Problem(field, f'"{name}"', advice)


def _weights_problems(name: str | None, found: str | None) -> Iterator[Problem]:
    """Whether the file of weights fits the model, only the trainer can tell."""
    if name and found and name.endswith(".keras"):
        yield from _problems("model.weights", name, found, ".keras", _lacks_keras_parts)
    elif name and found and name.isprintable() and not (path := Path(found)).is_file():
        yield Problem("model.weights", f'"{name}"', _missing(path))


def _missing(path: Path) -> str:
    return f"there is no such file: {path} is where it was looked for{hint(path)}"


def _advice(path: Path, kind: str, check: _Check) -> str:
    incomplete = f"this is no {kind} file, or it is cut off: make or copy it again"
    try:
        if not path.is_file():
            return _missing(path)
        if not zipfile.is_zipfile(path):
            return incomplete
        with zipfile.ZipFile(path) as archive:
            return check(archive)
    except OSError as error:
        return f"it cannot be read: {error.strerror or error}"
    except Exception:  # noqa: BLE001  (damaged files make zipfile, zlib and NumPy raise anything)
        return incomplete


def _folder_problems(field: str, name: str | None, data: Data) -> Iterator[Problem]:
    if not name or not data.folder or not name.isprintable():
        return
    if any(folder_entry(data).problems("", data.options)):
        return
    if advice := _advice_of_folder(Path(data.folder), data):
        yield Problem(field, f'"{name}"', advice)


def _advice_of_folder(path: Path, data: Data) -> str:
    try:
        if not path.is_dir():
            return (
                f"there is no such folder: {path} is where it was looked "
                f"for{hint(path, folders=True)}"
            )
        if folder_entry(data) is MASKS:
            mask_folders(path, data.options)
        else:
            layout_of(path, files_in(data))
    except ImageFolderError as error:
        return f"it {error}"
    except OSError as error:
        return f"it cannot be read: {error.strerror or error}"
    return ""


def _table_problems(written: Data, data: Data) -> Iterator[Problem]:
    name = written.table
    if not name or not data.table or not name.isprintable() or any(columns_named(data)):
        return
    path, field = Path(data.table), "data.table"
    try:
        if not path.is_file():
            where = f"there is no such file: {path} is where it was looked for{hint(path)}"
            yield Problem(field, f'"{name}"', where)
            return
        values = TABLE.values(data.options)
        chosen_columns(header_of(path, values["separator"]), data.options, groups_array(data))
    except TableError as error:
        if not error.option:
            yield Problem(field, f'"{name}"', str(error))
        else:
            blamed = f"data.options.{error.option}"
            yield Problem(blamed, shown(values[error.option]), f"{error.what}: {error.advice}")
    except OSError as error:
        yield Problem(field, f'"{name}"', f"it cannot be read: {error.strerror or error}")


def _lacks_keras_parts(archive: zipfile.ZipFile) -> str:
    missing = _KERAS_PARTS - set(archive.namelist())
    return (
        f"it lacks {' and '.join(sorted(missing))}: save the model with model.save"
        if missing
        else overlong(archive)
    )


def _holds_pickles(archive: zipfile.ZipFile) -> str:
    names = [name for name in archive.namelist() if name.endswith(".npy")]
    if len(names) > _MOST_ARRAYS:
        return (
            f"it holds {grouped(len(names))} arrays, and {grouped(_MOST_ARRAYS)} are the most: "
            "join those of all samples into one"
        )
    for name in names:
        with archive.open(name) as file:
            if npy_header(file).dtype.hasobject:
                return (
                    f"{brief(name.removesuffix('.npy'))} holds pickled Python objects, which are "
                    "never loaded because loading them can run any program: save arrays of numbers"
                )
    return ""


def reads(plan: AbsolutePlan, file: Path | None, path: Path) -> bool:
    """Whether a run of the plan in `file` reads what is at `path`: nothing is written over that."""
    named = (plan.model.file, plan.model.weights, plan.data.file, plan.data.table)
    files = [*filter(None, [file]), *map(Path, filter(None, named)), *code_files(plan)]
    return path.exists() and any(each.exists() and path.samefile(each) for each in files)


def names_files(plan: Plan) -> bool:
    """Whether the plan needs files or folders."""
    model, data = plan.model, plan.data
    given = (model.file, model.weights, data.file, data.folder, data.table, *references_of(plan))
    return any(given)


def not_allowed(plan: AbsolutePlan) -> tuple[Path, ...]:
    """The files of `plan` that may not run as they are."""
    return tuple(path for path, _ in consent_needed(plan))


def code_of(plan: AbsolutePlan, part: str) -> Path | None:
    """The Python file of the `model` or the `data`; None for other sources."""
    named = reference((plan.model if part == "model" else plan.data).python or "")
    return Path(named.file) if named else None


def not_looked_into(paths: Sequence[Path]) -> str:
    """Why a plan was not examined: `not looked into: models.py is not allowed yet`."""
    names = listed(path.name for path in paths)
    return f"not looked into: {names} {'is' if len(paths) == 1 else 'are'} not allowed yet"


def problems_of_files(written: Plan, plan: AbsolutePlan) -> list[Problem]:
    """Problems with the files that the plan names, worded for the window."""
    return [_in_the_window(problem) for problem in file_problems(written, plan)]


def _in_the_window(problem: Problem) -> Problem:
    """The same problem without the command line for allowing a file, as a button is beside it."""
    if not isinstance(problem, ConsentProblem):
        return problem
    name = problem.path.name
    new = problem.standing is Standing.NEW
    why = (
        f"nothing of {name} has been run yet" if new else f"{name} has changed since it was allowed"
    )
    words = allowances().problem or f"{why}, and it may do whatever you may: read it, then allow it"
    return replace(problem, advice=words)


_TEMPORARY = tuple(map(Path, ("/tmp", "/var/tmp", "/dev/shm")))  # noqa: S108  (only recognised)
_ELSEWHERE = "Move it into your home folder, or allow its files one by one."


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a folder cannot be allowed as a whole, as the end of a sentence.

    And what to do instead, in a sentence.
    """

    reason: str
    advice: str


def objection(folder: Path) -> Objection | None:
    """The reason not to allow all Python in and below `folder`; None if there is none."""
    real = folder.resolve()
    if Path.home().resolve().is_relative_to(real):
        return Objection(
            "all files of its user are below it", "Allow files in it, or a folder below it."
        )
    if real in _TEMPORARY:
        return Objection(
            "temporary files of all programs are put there", "Allow files in it one by one."
        )
    if real.is_relative_to(Path(tempfile.gettempdir()).resolve()):
        reason = (
            "it is among temporary files, and once it is gone anybody "
            "may put one of that name there"
        )
        return Objection(reason, _ELSEWHERE)
    if real.is_relative_to(user_downloads_path().resolve()):
        return Objection("whatever is downloaded is put there", _ELSEWHERE)
    try:
        others_write = bool(real.stat().st_mode & stat.S_IWOTH)
    except OSError as error:
        return Objection(
            f"it cannot be looked at ({error.strerror or error})", "Look whether it is there."
        )
    if others_write:
        advice = "Take that right from them, with chmod o-w, or allow its files one by one."
        return Objection("every user of this computer can put files there", advice)
    return None


def why_not(folder: Path) -> str:
    """Why Python in and below `folder` cannot be allowed at once, as the end of a sentence.

    Empty if it can be.
    """
    found = objection(folder)
    return found.reason if found else ""
