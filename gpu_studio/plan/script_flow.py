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
    """The lines that run a call again: its own in a loop, or those that call the function again."""
    nodes = list(ast.walk(tree))
    if _in_loop(call, nodes):
        return [call.lineno]
    # A method may have the name of others, and a function within one has it only there.
    functions = [each for each in tree.body if isinstance(each, ast.FunctionDef)]
    name = next((each.name for each in functions if _is_within(call, each)), None)
    called = [each for each in nodes if isinstance(each, ast.Call)]
    calls = [each for each in called if isinstance(each.func, ast.Name) and each.func.id == name]
    again = [each.lineno for each in calls if _in_loop(each, nodes)]
    return again + sorted(each.lineno for each in calls)[1:]


def _in_loop(call: ast.Call, nodes: Sequence[ast.AST]) -> bool:
    """Whether a loop of the same function runs a call."""
    around = [each for each in nodes if isinstance(each, _BLOCKS) and _is_within(call, each)]
    inner = max(around, key=lambda each: each.lineno, default=None)
    return isinstance(inner, ast.For | ast.While)


_BLOCKS = ast.For | ast.While | ast.FunctionDef | ast.AsyncFunctionDef


def _is_within(
    call: ast.Call, block: ast.For | ast.While | ast.FunctionDef | ast.AsyncFunctionDef
) -> bool:
    return block.body[0].lineno <= call.lineno <= (block.end_lineno or 0)


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
