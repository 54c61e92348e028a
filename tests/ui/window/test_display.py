"""The display is tried before Qt would abort the process for it."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from gpu_studio.ui.window import display
from gpu_studio.ui.window.display import NoWindowError, checked_display


class FakeXcb:
    """Stands for the library by which an X server is reached: whether it is, and until when."""

    def __init__(self, *, fails: bool) -> None:
        self.connected = False

        def connect(_name: None, _screen: None) -> int:
            self.connected = True
            return 4711

        def let_go(connection: ctypes.c_void_p) -> None:
            assert connection.value == 4711
            self.connected = False

        connect.restype = None  # type: ignore[attr-defined]
        self.xcb_connect, self.xcb_disconnect = connect, let_go
        self.xcb_connection_has_error = lambda _connection: int(fails)


@pytest.fixture
def on_x(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("QT_QPA_PLATFORM", "")
    monkeypatch.setenv("DISPLAY", ":4077")
    monkeypatch.setattr(display, "_missing", lambda _plugin: "")

    def answering(*, fails: bool) -> FakeXcb:
        library = FakeXcb(fails=fails)
        monkeypatch.setattr(ctypes, "CDLL", lambda _name: library)
        return library

    return answering


def test_that_an_x_server_is_not_left_alone_before_qt_is_connected_to_it(on_x: Any) -> None:
    library = on_x(fails=False)
    with checked_display():
        assert library.connected, "it would begin anew, and refuse Qt"
    assert not library.connected


def test_that_a_display_that_does_not_answer_is_told_and_let_go(on_x: Any) -> None:
    library = on_x(fails=True)
    with pytest.raises(NoWindowError, match="display :4077 does not answer"), checked_display():
        pytest.fail("Qt would abort here")
    assert not library.connected
