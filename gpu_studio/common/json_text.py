"""JSON in files: what decoding a stranger's text raises, and how a line of one's own is written.

msgspec names most of what is wrong; text that is not UTF-8, a number of thousands of digits and
brackets nested too deeply are Python's own errors.
"""

from __future__ import annotations

import errno
import json
from typing import Any

import msgspec

JSON_ERRORS = (msgspec.MsgspecError, ValueError, RecursionError)


def lossy_line(encoder: msgspec.json.Encoder, value: Any) -> bytes:
    """A value as JSON on a line, with a question mark for what is not UTF-8.

    That are lone surrogates, as in the name of a file in another encoding.
    """
    try:
        return encoder.encode(value) + b"\n"
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(value, enc_hook=encoder.enc_hook)
        return json.dumps(plain, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def json_line(value: Any) -> bytes:
    """A value as JSON on a line.

    Raises OSError, as a disk does that takes no such file, for a text that is not UTF-8: the path
    of a folder may be one.
    """
    try:
        return msgspec.json.encode(value) + b"\n"
    except UnicodeEncodeError as error:
        why = "this is not UTF-8, and cannot be written down: give it another name"
        raise OSError(errno.EILSEQ, why, error.object) from error
