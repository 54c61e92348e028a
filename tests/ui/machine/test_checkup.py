"""The doctor asked by the window: its real process, and some that misbehave."""

from __future__ import annotations

import json
import sys

import pytest

from gpu_studio.ui.devices.doctor_dialog import DoctorDialog
from gpu_studio.ui.devices.topology_pane import TopologyPane
from gpu_studio.ui.machine import checkup as module
from gpu_studio.ui.machine.checkup import Checkup

BAD = {
    "check": "driver",
    "state": "bad",
    "title": "NVIDIA driver",
    "found": "It is missing.",
    "mend": ["apt install"],
}
SAID = json.dumps(
    {"findings": [BAD], "topology": {"nodes": [], "joints": []}, "advice": None, "well": False}
)
WAITS = "import signal; signal.pause()"


@pytest.fixture
def make(qtbot):
    made: list[Checkup] = []

    def make_it(program: str = "") -> Checkup:
        made.append(Checkup(command=(sys.executable, "-S", "-c", program) if program else None))
        return made[-1]

    yield make_it
    for checkup in made:
        checkup.close()


def test_that_the_real_doctor_tells_how_simulated_cards_are_joined(
    make, qtbot, theme, monkeypatch
) -> None:
    monkeypatch.setenv("GPU_STUDIO_SIMULATE", "2xH100")
    checkup = make()
    pane = TopologyPane(theme, checkup)
    qtbot.addWidget(pane)
    pane.show()
    checkup.glance()
    assert "driver" in pane.advice.text()
    qtbot.waitUntil(lambda: checkup.diagnosis is not None)
    assert "NV18" in pane.matrix.toPlainText()
    assert "NVLink" in pane.advice.text()
    assert not checkup.examined


def test_that_what_must_be_mended_is_counted_and_shown_with_what_to_type(
    make, qtbot, theme
) -> None:
    checkup = make(f"import sys; print({SAID!r}); sys.exit(1)")
    dialog = DoctorDialog(theme, checkup)
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(lambda: not checkup.looking and checkup.diagnosis is not None)
    assert checkup.diagnosis.problems == 1
    assert checkup.examined
    assert "1 thing must be mended" in dialog.words.text()
    assert dialog.text == "✘ NVIDIA driver: It is missing.\n    apt install"


def test_that_a_doctor_that_fails_says_why(make, qtbot) -> None:
    checkup = make("import sys; sys.exit('the driver is upset')")
    checkup.glance()
    qtbot.waitUntil(lambda: bool(checkup.error))
    assert "the driver is upset" in checkup.error
    assert checkup.diagnosis is None


def test_that_one_that_takes_too_long_is_given_up(make, qtbot, monkeypatch) -> None:
    monkeypatch.setattr(module, "TIMEOUT_MS", 100)
    checkup = make(WAITS)
    checkup.glance()
    qtbot.waitUntil(lambda: "did not answer" in checkup.error)
    assert not checkup.looking


def test_that_it_can_be_cancelled_from_its_dialog(make, qtbot, theme) -> None:
    checkup = make(WAITS)
    dialog = DoctorDialog(theme, checkup)
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(lambda: checkup.process.processId() > 0)
    assert dialog.cancel.isEnabled()
    dialog.cancel.click()
    assert not checkup.looking
    assert dialog.words.text() == "The examination was cancelled."
    assert dialog.again.isEnabled()


def test_that_who_follows_the_links_hears_of_them_once(make, qtbot):
    checkup, heard = make(f"print({SAID!r})"), []
    checkup.follow_topology(heard.append)
    for _ in range(2):
        with qtbot.waitSignal(checkup.process.finished):
            checkup.glance()
        qtbot.waitUntil(lambda: not checkup.looking)
    assert checkup.topology is not None
    assert heard == [None, checkup.topology]
    late: list[object] = []
    checkup.follow_topology(late.append)
    assert late == [checkup.topology]
