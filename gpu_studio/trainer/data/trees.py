"""Nested structures of arrays: dictionaries and tuples, in any depth.

What lies in them is taken in the order of TensorFlow and Keras: dictionaries by their sorted names.
A single array is a structure too, with one leaf whose path is empty. `()` has no leaf.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

Path = tuple[str | int, ...]


def is_nested(tree: Any) -> bool:
    """Return whether this is a structure and no leaf."""
    return isinstance(tree, Mapping | tuple | list)


def leaves(tree: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Each leaf with its path, in TensorFlow's order."""
    if isinstance(tree, Mapping):
        for name in sorted(tree):
            yield from leaves(tree[name], (*path, name))
    elif isinstance(tree, tuple | list):
        for number, each in enumerate(tree):
            yield from leaves(each, (*path, number))
    else:
        yield path, tree


def flat(tree: Any) -> list[Any]:
    """Return the leaves alone."""
    return [leaf for _, leaf in leaves(tree)]


def mapped(function: Callable[[Any], Any], tree: Any) -> Any:
    """Return a structure like `tree` with `function` of each leaf; lists become tuples.

    `tf.data` takes a list for a single array.
    """
    return with_paths(lambda _path, leaf: function(leaf), tree)


def with_paths(function: Callable[[Path, Any], Any], tree: Any, path: Path = ()) -> Any:
    """Return a structure like `tree` with `function` of each leaf's path and of the leaf."""
    if isinstance(tree, Mapping):
        return {name: with_paths(function, tree[name], (*path, name)) for name in sorted(tree)}
    if isinstance(tree, tuple | list):
        return tuple(with_paths(function, each, (*path, n)) for n, each in enumerate(tree))
    return function(path, tree)


def packed(tree: Any, found: Iterable[Any]) -> Any:
    """Return a structure like `tree` with these leaves, in order."""
    left = iter(found)
    return mapped(lambda _: next(left), tree)


def built(pairs: Iterable[tuple[Sequence[str | int], Any]]) -> Any:
    """Return the structure that has these leaves at these paths; `()` without any."""
    found = [(tuple(path), leaf) for path, leaf in pairs]
    if any(not path for path, _ in found):
        return found[0][1]
    inner: dict[str | int, list[tuple[Path, Any]]] = {}
    for path, leaf in found:
        inner.setdefault(path[0], []).append((path[1:], leaf))
    made = {key: built(each) for key, each in inner.items()}
    return made if all(isinstance(key, str) for key in made) and made else tuple(made.values())


def called(name: str, path: Path) -> str:
    """Return the name of a leaf for a reader: `x` itself, `x/left`, `y/0`."""
    return "/".join((name, *map(str, path)))
