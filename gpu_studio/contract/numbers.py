"""Numbers as a line of a file may hold them, which anybody can have written.

A line with a number out of these bounds holds no event and no sample: what counts or draws numbers
need not ask again.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

_LARGEST: Final = 2**53
"""Every smaller whole number is exact also as a float (RFC 8259, section 6)."""
_YEAR_9000: Final = 221_845_392_000

Whole = Annotated[int, msgspec.Meta(ge=-_LARGEST, le=_LARGEST)]
"""A whole number that plots can draw: beyond it Qt crashes in painting an axis."""
Moment = Annotated[float, msgspec.Meta(ge=0, le=_YEAR_9000)]
"""Seconds since the epoch (UTC) that have a date."""
