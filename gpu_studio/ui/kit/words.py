"""A text as a sentence on the screen."""

from __future__ import annotations


def sentence(text: str) -> str:
    """`text` with a capital at its beginning and a full stop at its end; empty stays empty.

    The name of a field, as `training.optimizer`, and a path, as `images/circles`, keep their small
    letters.
    """
    first = text.split(" ")[0].rstrip(".")
    begun = text if any(each in first for each in "./\\") else text[:1].upper() + text[1:]
    return begun if not begun or begun.endswith((".", "!", "?")) else f"{begun}."
