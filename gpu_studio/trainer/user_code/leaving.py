"""Compile the user's code so that a script which ends at its `fit` leaves without a further step.

What ends it is an exception, after which a script of its own goes on in `finally`, where it may
save a model that is not trained, and in an `except:` for everything, where it may try again for
ever. Each such block leaves at once, if that exception is why it is entered.
"""

from __future__ import annotations

import ast
import builtins
import sys
from types import CodeType

from gpu_studio.common.python_syntax import parsed

_NAME = "__fit_was_called__"
"""By it the blocks find `is_leaving`, whatever module they are in."""


_ENDING = "call_of_fit.<locals>.CalledError"
"""What ends a script at its `fit`; exported scripts make it themselves."""


def compiled(text: bytes, name: str) -> CodeType:
    """Compile the text of the file of this name. Raises as `compile` does."""
    code = compile(text, name, "exec", dont_inherit=True)
    if b"finally" not in text and b"except" not in text:
        return code
    tree = parsed(text)
    tries = [each for each in ast.walk(tree) if isinstance(each, ast.Try | ast.TryStar)]
    for each in tries:
        _leave_at_once(each.finalbody)
        for handler in each.handlers if isinstance(each, ast.Try) else ():
            _leave_at_once(handler.body)
    setattr(builtins, _NAME, _is_leaving)
    return compile(tree, name, "exec", dont_inherit=True) if tries else code


def _leave_at_once(block: list[ast.stmt]) -> None:
    if block:
        (leave,) = parsed(f"if {_NAME}(): raise").body
        for node in ast.walk(leave):
            ast.copy_location(node, block[0])
        block.insert(0, leave)


def _is_leaving() -> bool:
    """Whether what is being handled is the end of a script at its `fit`."""
    kind = sys.exc_info()[0]
    return kind is not None and kind.__qualname__ == _ENDING
