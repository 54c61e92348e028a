"""What a script does once its call of `fit` has come back, by its text alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set

from gpu_studio.common.python_syntax import run_by

_Block = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef
WRITING = frozenset(
    {
        *("dump", "export", "imsave", "save", "save_img", "save_model", "save_weights"),
        *("savefig", "savetxt", "savez", "to_csv", "write_text"),
    }
)
"""Methods and functions that write files."""
MEASURING = frozenset({"evaluate", "predict", "predict_on_batch", "test_on_batch"})
"""Those that need the trained model, and write nothing."""


def repeated(call: ast.Call, tree: ast.Module) -> list[int]:
    """The lines that run a call again: its own in a loop, or those that call its function again.

    So do those that call again what calls that function.
    """
    if _in_loop(call, list(ast.walk(tree))):
        return [call.lineno]
    return called_again([function_at(call.lineno, tree)], tree)


def called_again(names: Sequence[str], tree: ast.Module) -> list[int]:
    """The lines that call what has one of these names again, or what calls that.

    It is called `train`, `loops.train` of an imported module, or `.run` where it is a method; an
    empty name is that of nothing.
    """
    nodes = list(ast.walk(tree))
    again: list[int] = []
    todo, seen = [tuple(names)], {("",), ()}
    while todo:
        some = todo.pop()
        if some in seen:
            continue
        seen.add(some)
        calls = sorted(_calls_of(some, nodes), key=lambda call: call.lineno)
        again += [each.lineno for each in calls if _in_loop(each, nodes)]
        again += [each.lineno for each in calls[1:] if not are_exclusive(calls[0], each, tree)]
        again += [
            each.lineno for each in nodes if isinstance(each, ast.Call) and _tries_out(each, some)
        ]
        todo += [(function_at(each.lineno, tree),) for each in calls]
    return again


def gone_to_again(line: int, beside: ast.Module, tree: ast.Module) -> list[int]:
    """The lines of a script that go again to this line of a module beside it."""
    name = function_at(line, beside)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    bound = [(each.name, each.asname or each.name) for node in imports for each in node.names]
    names = [name, *(called for own, called in bound if own == name)]
    if name and not name.startswith("."):
        names += [f"{called}.{name}" for _, called in bound]
    return called_again(names, tree)


def function_at(line: int, tree: ast.Module) -> str:
    """The function in which a line of a file stands: `train`, or `.run` for a method.

    Empty for none, and for a method of which the name does not say whose it is.
    """
    for each in tree.body:
        if isinstance(each, _FUNCTIONS) and _is_within(line, each):
            return each.name
        if isinstance(each, ast.ClassDef) and each.lineno <= line <= (each.end_lineno or 0):
            return _method_at(line, each, tree)
    return ""


def _method_at(line: int, owner: ast.ClassDef, tree: ast.Module) -> str:
    classes = [each for each in tree.body if isinstance(each, ast.ClassDef)]
    names = [each.name for kind in classes for each in kind.body if isinstance(each, _FUNCTIONS)]
    found = (each for each in owner.body if isinstance(each, _FUNCTIONS) and _is_within(line, each))
    name = next((each.name for each in found), "")
    if name == "__init__":
        return owner.name
    # A method `fit` is called as that of a model is.
    return f".{name}" if names.count(name) == 1 and name != "fit" else ""


def _calls_of(names: Sequence[str], nodes: Sequence[ast.AST]) -> Iterator[ast.Call]:
    imported = {
        (each.asname or each.name).partition(".")[0]
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for each in node.names
    }
    for node in (each for each in nodes if isinstance(each, ast.Call)):
        func = node.func
        if isinstance(func, ast.Name) and func.id in names:
            yield node
        elif isinstance(func, ast.Attribute):
            of = getattr(func.value, "id", "")
            of_module = f"{of}.{func.attr}" in names if of else False
            is_method = f".{func.attr}" in names and of not in imported
            if of_module or (is_method and not _is_super(func.value)):
                yield node


def _is_super(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and getattr(value.func, "id", "") == "super"


def _tries_out(call: ast.Call, names: Sequence[str]) -> bool:
    """Whether what is called calls a function of these names, which it is given, many times."""
    given = (*call.args, *(each.value for each in call.keywords))
    variables = {each.id for each in given if isinstance(each, ast.Name)}
    return _last_name(call.func) in _TRYING and not variables.isdisjoint(names)


def _in_loop(call: ast.Call, nodes: Sequence[ast.AST]) -> bool:
    """Whether a loop of the same function runs a call."""
    if any(isinstance(each, _COMPREHENSIONS) and call in ast.walk(each) for each in nodes):
        return True
    around = [each for each in nodes if isinstance(each, _BLOCKS) and _is_within(call.lineno, each)]
    inner = max(around, key=lambda each: each.lineno, default=None)
    return isinstance(inner, ast.For | ast.While)


_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_TRYING = frozenset(
    {
        *("agent", "delayed", "fmin", "forest_minimize", "gp_minimize", "imap", "map"),
        *("minimize", "optimize", "starmap"),
    }
)
"""What calls a function that it is given for many settings: Optuna, Hyperopt and the like."""
_BLOCKS = ast.For | ast.While | ast.FunctionDef | ast.AsyncFunctionDef


def _is_within(
    line: int, block: ast.For | ast.While | ast.FunctionDef | ast.AsyncFunctionDef
) -> bool:
    return block.body[0].lineno <= line <= (block.end_lineno or 0)


def is_before(first: ast.Call, other: ast.Call, tree: ast.Module) -> bool:
    """Whether whoever comes to the `other` call, further below, has surely come to the `first`.

    It has not where the first stands in a function or a branch in which the other does not.
    """
    return all(_holds(each, other) for each in _branches(tree) if _holds(each, first))


def are_exclusive(one: ast.Call, other: ast.Call, tree: ast.Module) -> bool:
    """Whether of two calls only one is made, for they stand in both branches of a condition."""
    conditions = [each for each in ast.walk(tree) if isinstance(each, ast.If) and each.orelse]
    return any(
        _holds(first, one) and _holds(second, other)
        for each in conditions
        for first, second in ((each.body, each.orelse), (each.orelse, each.body))
    )


def _branches(tree: ast.Module) -> Iterator[Sequence[ast.stmt]]:
    """The bodies that need not run: of functions, and under conditions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.body
        if isinstance(node, ast.If) and node.orelse:
            yield node.orelse


def _holds(body: Sequence[ast.stmt], call: ast.Call) -> bool:
    return body[0].lineno <= call.lineno <= (body[-1].end_lineno or 0)


def called_after(line: int, tree: ast.Module, names: Set[str]) -> str:
    """What is called of these names once the call in this line is back: `model.save in line 20`.

    That is the first such call after it, in the function that makes it or in one that has called
    this. Empty if there is none.
    """
    going_on = _going_on(line, tree)
    found = [each for block, start in going_on for each in _calls(block, start, names)]
    first = min(found, key=lambda call: call.lineno, default=None)
    return "" if first is None else f"{_name_of(first.func)} in line {first.lineno}"


def _going_on(line: int, tree: ast.Module) -> Iterator[tuple[_Block, int]]:
    """The blocks that go on once the call in this line has come back, each after which line."""
    functions = [each for each in ast.walk(tree) if isinstance(each, _FUNCTIONS)]
    todo, seen = [line], set()
    while todo:
        line = todo.pop()
        around = [each for each in functions if each.body[0].lineno <= line <= _end(each)]
        block = max(around, key=lambda each: each.lineno, default=None)
        if (block, line) in seen:
            continue
        seen.add((block, line))
        yield (tree if block is None else block), line
        if block is not None:
            calls = [each for each in ast.walk(tree) if isinstance(each, ast.Call)]
            todo += [each.lineno for each in calls if _last_name(each.func) == block.name]


def _calls(block: _Block, line: int, names: Set[str]) -> Iterator[ast.Call]:
    for node in run_by(block.body, as_program=True):
        if isinstance(node, ast.Call) and node.lineno > line and _last_name(node.func) in names:
            yield node


_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


def _end(block: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return block.end_lineno or 0


def _last_name(func: ast.expr) -> str:
    return func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")


def _name_of(func: ast.expr) -> str:
    """The name that is called, with that of the variable before it."""
    of = getattr(getattr(func, "value", None), "id", "")
    return f"{of}.{_last_name(func)}" if of else _last_name(func)
