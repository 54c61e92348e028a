"""How a script reads a table: the same numbers as a run.

CSV and JSON lines are read by the standard library alone, a Parquet file by pyarrow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gpu_studio.export.learning import ExportError, UnseenError
from gpu_studio.export.script_text import call, fill, listing, literal
from gpu_studio.placement.plan_facts import DataFacts
from gpu_studio.plan import Data, Target
from gpu_studio.plan.columns import (
    TABLE,
    Chosen,
    TableError,
    chosen_columns,
    header_of,
    is_parquet,
)
from gpu_studio.plan.data import groups_array


@dataclass(frozen=True, slots=True)
class TableFacts:
    """A table's file, the columns read, and what was seen of them when they were read.

    `shape` is one sample's; `texts` says whether the target holds texts, which are classes;
    `comma` whether fractions are written with one. `folder` is where its images are.
    """

    path: Path
    columns: Chosen
    target: Target
    shape: tuple[int, ...]
    separator: str
    texts: bool
    comma: bool
    folder: str = ""

    @property
    def reads_by(self) -> str:
        """The module of the standard library that the script reads it by; empty if by pyarrow."""
        if is_parquet(self.path):
            return ""
        return "csv" if self.separator else "json"


def table_facts(path: Path, data: Data, seen: DataFacts | None) -> TableFacts:
    """Return what is known of the table at `path`. Raises ExportError."""
    if seen is None:
        raise UnseenError(
            f"What the columns of {path.name} hold is known once they were read: try again when "
            "the Plan page shows the data."
        )
    options = TABLE.values(data.options)
    try:
        header = header_of(path, options["separator"])
        columns = chosen_columns(header, data.options, groups_array(data))
    except (TableError, OSError) as error:
        raise ExportError(f"The table {path} cannot be used ({error}).") from error
    comma = options["decimal"] == "comma"
    texts = bool(seen.class_names)
    separator, folder = header.separator, str(path.parent / options["folder"])
    return TableFacts(path, columns, seen.target, seen.x_shape, separator, texts, comma, folder)


_TABLE_HEAD = '''\
# Where the table is; on another machine, say where it is there.
$file


$reader


def numbers(cells):
    """The cells of a column as numbers."""
    return np.array([float($cell) for cell in cells])


'''

_CSV = '''\
def read_table(path):
    """The cells of each column of a CSV file, as texts, by the names in its header."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = filter(None, csv.reader(file, delimiter=$separator, strict=True))
        names = [name.strip() for name in next(rows)]
        return dict(zip(names, zip(*rows, strict=True), strict=True))'''

_JSON = '''\
def read_table(path):
    """The values of the names in use in JSON lines, numbers as they are written."""
    $names

    def texts(line):
        found = json.loads(line, parse_int=str, parse_float=str)
        return {name: str(int(v)) if isinstance(v, bool) else v for name, v in found.items()}

    with path.open(encoding="utf-8-sig") as file:
        rows = [texts(line) for line in file if line.strip()]
    return {name: [row[name] for row in rows] for name in names}'''

_PARQUET = '''\
def read_table(path):
    """The values of the columns in use of a Parquet file, as texts, by name."""
    $names
    table = pq.read_table(path, columns=names)

    def texts(column):
        if column.null_count:
            raise SystemExit(f"{path} has rows without a value.")
        values = column.to_pylist()
        return [str(int(v)) if isinstance(v, bool) else str(v) for v in values]

    return {name: texts(table[name]) for name in names}'''

_TABLE_LOAD = """\
table = read_table(DATA_FILE)
$x
$target
$groups"""


def table_lines(table: TableFacts, *, in_files: bool = False) -> tuple[str, str]:
    """Return the lines before `load_data`, and the lines in it.

    Images that it names may stay `in_files`.
    """
    cell = 'cell.replace(",", ".")' if table.comma else "cell"
    head = fill(
        _TABLE_HEAD,
        file=call("DATA_FILE = ", "Path", [literal(str(table.path))]),
        reader=_reader(table),
        cell=cell,
    )
    groups = table.columns.groups
    return head, fill(
        _TABLE_LOAD,
        x=_samples(table, in_files=in_files),
        target=_target(table),
        groups="" if groups is None else f"groups = np.array(table[{literal(groups)}])",
    )


_MATRIX = """\
$inputs
x = np.stack([numbers(table[name]) for name in inputs], axis=1).astype(np.float32)"""


_NESTED_LOAD = """\
table = read_table(DATA_FILE)
$inputs
arrays = {
    $parts
}"""

_FURTHER_HEAD = """\
def classes(cells):
    \"\"\"Each text is a class, and they are numbered in their order.\"\"\"
    return np.unique(cells, return_inverse=True)[1].astype(np.int32)


def learnt(cells, kind):
    \"\"\"Numbers where all are, else classes.\"\"\"
    try:
        return numbers(cells).astype(kind)
    except ValueError:
        return classes(cells)


"""


def nested_table(
    table: TableFacts, data: Data, seen: DataFacts, *, in_files: bool = False
) -> tuple[str, str]:
    """Return the lines before `load_data`, and the lines in it that make `arrays`.

    It is for several inputs or targets, and for weights. Images may stay `in_files`.
    """
    head, _ = table_lines(table)
    texts = TABLE.values(data.options)["texts"]
    # Several are seen in the order of their names, and not in that of the plan.
    kinds = {
        str(each.path[0]) if each.path else table.columns.targets[0]: each.dtype
        for each in seen.targets
    }
    wanted = {
        each: f"classes(table[{literal(each)}])"
        if each in texts
        else f"learnt(table[{literal(each)}], {literal(kinds[each])})"
        for each in table.columns.targets
    }
    target = wanted[table.columns.targets[0]] if len(wanted) == 1 else _dictionary(wanted)
    parts = [f'"x": {_inputs(table, seen, in_files=in_files)},', f'"y": {target},']
    if table.columns.weight is not None:
        parts.append(f'"sample_weight": numbers(table[{literal(table.columns.weight)}]),')
    if table.columns.groups is not None:
        name = literal(table.columns.groups)
        parts.append(f"{name}: np.array(table[{name}]),")
    matrix = table.columns.images is None and not any(each.path for each in seen.inputs)
    inputs = listing("inputs = ", [*map(literal, table.columns.inputs)], indent=4)
    columns = f"{inputs}\ncolumns = [numbers(table[name]) for name in inputs]" if matrix else ""
    return head + _FURTHER_HEAD, fill(_NESTED_LOAD, inputs=columns, parts="\n".join(parts))


def _dictionary(values: Mapping[str, str]) -> str:
    rows = "".join(f"    {literal(name)}: {value},\n" for name, value in values.items())
    return f"{{\n{rows}}}"


def _inputs(table: TableFacts, seen: DataFacts, *, in_files: bool) -> str:
    """Return the inputs as an expression: one matrix, images, or both by their names."""
    kinds = {str(each.path[0]): each for each in seen.inputs if each.path}
    images = table.columns.images
    read = "" if images is None else _pictures(images, in_files=in_files)
    if not kinds:
        return read or "np.stack(columns, axis=1).astype(np.float32)"
    found = {
        name: f"np.array(table[{literal(name)}])[:, None]"
        if kind.dtype == "string"
        else f"numbers(table[{literal(name)}]).astype({literal(kind.dtype)})[:, None]"
        for name, kind in kinds.items()
    }
    return _dictionary(found | ({} if images is None else {images: read}))


def _pictures(column: str, *, in_files: bool) -> str:
    """Return the images that a column names as an expression: their bytes, or their files."""
    files = f"IMAGES / name for name in table[{literal(column)}]"
    if in_files:
        return f"np.array([os.fsencode({files.replace(' for', ') for', 1)}])"
    return f"pixels([{files}])"


def _samples(table: TableFacts, *, in_files: bool) -> str:
    if table.columns.images is not None:
        return f"x = {_pictures(table.columns.images, in_files=in_files)}"
    inputs = listing("inputs = ", [*map(literal, table.columns.inputs)], indent=4)
    return fill(_MATRIX, inputs=inputs)


def _reader(table: TableFacts) -> str:
    if table.separator:
        return fill(_CSV, separator=literal(table.separator))
    names = listing("names = ", [*map(literal, table.columns.all)], indent=4)
    return fill(_JSON if table.reads_by else _PARQUET, names=names)


def _target(table: TableFacts) -> str:
    cells = f"table[{literal(table.columns.targets[0])}]"
    if table.texts:
        return (
            "# Each text is a class, and they are numbered in their order.\n"
            f"y = np.unique({cells}, return_inverse=True)[1].astype(np.int32)"
        )
    kind = "np.float32" if table.target.measured else "np.int32"
    return f"y = numbers({cells}).astype({kind})"
