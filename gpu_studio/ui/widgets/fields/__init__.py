"""Input fields that follow a value and report only what a person changes.

Each has `show_value(value)`, which reports nothing, and the signal `edited(value)`. A value that the field would not
take from a person, from a plan file, is shown as it is.
"""

from gpu_studio.ui.widgets.fields.choice import Choice
from gpu_studio.ui.widgets.fields.segments import Segments
from gpu_studio.ui.widgets.fields.switch import Switch
from gpu_studio.ui.widgets.fields.typed import PositiveNumber, Suggested, Typed
from gpu_studio.ui.widgets.fields.whole_number import WholeNumber

__all__ = ["Choice", "PositiveNumber", "Segments", "Suggested", "Switch", "Typed", "WholeNumber"]
