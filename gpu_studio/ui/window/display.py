"""Whether Qt can open a window here. Where it cannot, it would abort the process."""

from __future__ import annotations

import ctypes
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final

_LIBRARY = "a library that Qt needs is missing ({error}). On Debian, install it with: {command}"
_X11 = (
    "apt install libxcb-cursor0 libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-randr0 "
    "libxcb-render-util0 libxcb-shape0 libxcb-xkb1 libxkbcommon-x11-0"
)
_WAYLAND = "apt install libwayland-client0 libwayland-cursor0"
_UNREACHED: Final = (
    "the display {name} does not answer. See whether it is there, and whether you may use it "
    "(DISPLAY, XAUTHORITY)"
)


class NoWindowError(Exception):
    """No window can be opened: why, and what to do."""


@contextmanager
def checked_display() -> Iterator[None]:
    """For as long as Qt connects. Raises NoWindowError where it would find no display, or fail.

    An X server that nobody is connected to begins anew, and refuses whoever comes meanwhile. So
    the connection that has tried it lasts until Qt has its own.
    """
    with ExitStack() as tried:
        _check(tried)
        yield


def _check(tried: ExitStack) -> None:
    chosen = os.environ.get("QT_QPA_PLATFORM", "")
    if not sys.platform.startswith("linux") or (chosen and not chosen.startswith("xcb")):
        return
    troubles = []
    if not chosen and (wayland := os.environ.get("WAYLAND_DISPLAY")):
        troubles.append(_trouble_of_wayland(wayland))
    if (display := os.environ.get("DISPLAY")) or chosen:
        troubles.append(_trouble_of_x11(display or "", tried))
    if troubles and all(troubles):
        raise NoWindowError(f"The window cannot be opened: {troubles[0]}.")


def _trouble_of_x11(name: str, tried: ExitStack) -> str:
    if missing := _missing("libqxcb.so"):
        return _LIBRARY.format(error=missing, command=_X11)
    try:
        xcb = ctypes.CDLL("libxcb.so.1")
    except OSError:
        return ""  # Qt has found it: it knows more
    xcb.xcb_connect.restype = ctypes.c_void_p
    connection = ctypes.c_void_p(xcb.xcb_connect(None, None))
    tried.callback(xcb.xcb_disconnect, connection)
    failed = bool(xcb.xcb_connection_has_error(connection))
    return _UNREACHED.format(name=name) if failed else ""


def _trouble_of_wayland(name: str) -> str:
    if missing := _missing("libqwayland*.so"):
        return _LIBRARY.format(error=missing, command=_WAYLAND)
    path = Path(os.environ.get("XDG_RUNTIME_DIR", "")) / name
    with socket.socket(socket.AF_UNIX) as tried:
        try:
            tried.connect(str(path))
        except OSError:
            return _UNREACHED.format(name=name)
    return ""


def _missing(plugin: str) -> str:
    """Why Qt's plugin cannot be loaded, as the loader says; empty if it can be, or is not there."""
    spec = find_spec("PySide6")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(place).glob(f"Qt/plugins/platforms/{plugin}")):
            try:
                ctypes.CDLL(str(path))
            except OSError as error:
                return str(error)
    return ""
