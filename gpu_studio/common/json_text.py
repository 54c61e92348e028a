"""JSON that anybody may have written: what decoding it raises."""

from __future__ import annotations

import msgspec

JSON_ERRORS = (msgspec.MsgspecError, ValueError, RecursionError)
"""msgspec names most of what is wrong.

Text that is not UTF-8, a number of thousands of digits and brackets nested too deeply are Python's
own errors.
"""
