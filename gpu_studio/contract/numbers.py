"""Numbers as a line of a file may hold them, which anybody can have written.

A line with a number out of these bounds holds no event and no sample: what counts or draws numbers
need not ask again.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from gpu_studio.common.steady import LATEST

_LARGEST: Final = 2**53
"""Every smaller whole number is exact also as a float (RFC 8259, section 6)."""
_CENTURIES: Final = 1e10

Whole = Annotated[int, msgspec.Meta(ge=-_LARGEST, le=_LARGEST)]
"""A whole number that plots can draw: beyond it Qt crashes in painting an axis."""
Moment = Annotated[float, msgspec.Meta(ge=0, le=LATEST)]
"""Seconds since the epoch (UTC) that have a date."""
Seconds = Annotated[float, msgspec.Meta(ge=-_CENTURIES, le=_CENTURIES)]
"""Seconds by a clock that is added to others."""
