"""An error in a method that Qt calls is an error, and not the end of the window.

Up to Python 3.11 the value of an exception that C raises ("already deleted", an index, a division
by zero) is a text until somebody catches it. libshiboken 6.11 takes it for an exception where it
hands on what a method of ours raised that C++ called: it reads beside it, and the process dies of a
segmentation fault, without a word. So each such method catches what it raises, which completes it,
and raises it again. It then arrives where Python errors do. From Python 3.12 on there is nothing to
do.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any, Final

from PySide6.QtCore import QObject

_QT: Final = "PySide6."


def _complete(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def called(*arguments: Any, **named: Any) -> Any:
        try:
            return method(*arguments, **named)
        except BaseException:
            raise

    return called


def _guard(made: type[Any], /, **named: Any) -> None:
    """Let the methods of a new class that Qt may call raise complete exceptions only."""
    super(QObject, made).__init_subclass__(**named)
    bases = [base for base in made.__mro__ if base.__module__.startswith(_QT)]
    for name, value in list(vars(made).items()):
        if (
            isinstance(value, FunctionType)
            and not name.startswith("__")
            and any(name in vars(base) for base in bases)
        ):
            setattr(made, name, _complete(value))


def complete_errors() -> None:
    """Guard every class that is made from one of Qt's from now on, wherever it stands."""
    if sys.version_info < (3, 12):
        setattr(QObject, "__init_subclass__", classmethod(_guard))  # noqa: B010 (typed as final)
