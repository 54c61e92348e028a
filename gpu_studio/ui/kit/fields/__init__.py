"""Input fields that follow a value and report only the user's changes.

Each has `show_value(value)`, which reports nothing, and the signal `edited(value)`. A value that
the field would not take from a person, from a plan file, is shown as it is.
"""

from gpu_studio.ui.kit.fields.choices import (
    Choice,
    Segments,
    Switch,
)
from gpu_studio.ui.kit.fields.lines import (
    Lines,
)
from gpu_studio.ui.kit.fields.typed import (
    PositiveNumber,
    Suggested,
    Typed,
    WholeNumber,
)

__all__ = [
    "Choice",
    "Lines",
    "PositiveNumber",
    "Segments",
    "Suggested",
    "Switch",
    "Typed",
    "WholeNumber",
]
