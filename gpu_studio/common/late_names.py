"""Names that a package gives to others: their modules are imported once somebody uses them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any


def late_names(package: str, modules: Sequence[str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of `package`, whose `__all__` are names of these modules of it.

    The modules are imported in this order until one has the name, so those that need the fewest
    others come first. No name may be a module's too: who imports the module would get it instead.
    """

    def found(name: str) -> Any:
        given = sys.modules[package]
        if name in given.__all__:
            for module in modules:
                part = import_module(f"{package}.{module}")
                if hasattr(part, name):
                    setattr(given, name, getattr(part, name))
                    return getattr(part, name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return found
