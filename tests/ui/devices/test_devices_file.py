"""The devices saved as CSV from the page."""

from __future__ import annotations

import csv
import stat

import pytest
from PySide6.QtWidgets import QFileDialog, QWidget

from gpu_studio.contract.samples import CardFacts, Cards, Fast, FastFigures, encode
from gpu_studio.hardware.device_rows import COLUMNS
from gpu_studio.ui.devices.devices_page import NOTHING_YET, DevicesFile
from gpu_studio.ui.machine.sampler import SamplerClient


@pytest.fixture
def sampler(qapp):
    made = SamplerClient()
    yield made
    made.close()


def see_a_card(sampler: SamplerClient) -> None:
    figures = FastFigures(card="a", memory_used_mib=12, why={"power_w": "no permission"})
    for sample in (
        Cards(time=1.0, cards=[CardFacts(card="a", name="Ünit, 1")]),
        Fast(time=2.0, cards=[figures]),
    ):
        sampler.take(encode(sample))


def test_that_the_file_has_a_line_a_card_and_is_nobody_elses(sampler, qtbot, tmp_path) -> None:
    see_a_card(sampler)
    file, path = DevicesFile(sampler), tmp_path / "devices.csv"
    with qtbot.waitSignal(file.reported) as told:
        file.write(path)
    [row] = csv.DictReader(path.open(encoding="utf-8"))
    assert tuple(row) == COLUMNS
    assert (row["name"], row["memory_used_mib"], row["power_w"]) == (
        "Ünit, 1",
        "12",
        "no permission",
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert str(path) in told.args[0]


def test_that_a_file_that_cannot_be_written_is_explained(sampler, qtbot, tmp_path) -> None:
    see_a_card(sampler)
    (tmp_path / "file").touch()
    file = DevicesFile(sampler)
    with qtbot.waitSignal(file.failed) as failed:
        file.write(tmp_path / "file" / "devices.csv")
    assert "Not a directory" in failed.args[0]
    assert "another place" in failed.args[0]


def test_that_before_the_devices_are_known_there_is_nothing_to_save(
    sampler, qtbot, tmp_path
) -> None:
    file = DevicesFile(sampler)
    with qtbot.waitSignal(file.failed) as failed:
        file.write(tmp_path / "devices.csv")
    assert failed.args == [NOTHING_YET]
    assert not (tmp_path / "devices.csv").exists()


def test_that_the_file_that_is_chosen_is_written(sampler, qtbot, tmp_path) -> None:
    see_a_card(sampler)
    window = QWidget()
    qtbot.addWidget(window)
    file = DevicesFile(sampler)
    file.choose_and_write(window)
    dialog = window.findChild(QFileDialog)
    assert dialog.accessibleName() == "Save devices as CSV"
    with qtbot.waitSignal(file.reported):
        dialog.fileSelected.emit(str(tmp_path / "chosen.csv"))
    dialog.reject()
    assert (tmp_path / "chosen.csv").is_file()
