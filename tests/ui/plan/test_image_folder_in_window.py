"""A plan with a folder of images in the whole window.

Not trained while the folder is not there, and then it is.
"""

from __future__ import annotations

from pathlib import Path

from made_images import put
from PySide6.QtWidgets import QLabel

PLAN = '[model]\nname = "cnn"\n[data]\nfolder = "pets/"\n[distribution]\nstrategy = "none"\n'


def test_that_a_folder_that_comes_back_is_no_obstacle_any_more(
    open_window, qtbot, tmp_path: Path
) -> None:
    file = tmp_path / "pets.plan.toml"
    file.write_text(PLAN)
    window = open_window(file)
    qtbot.waitUntil(lambda: bool(window.readiness.problems))
    tab = window.plan_page.workspace.open("Data")
    told = f"there is no such folder: {tmp_path}/pets is where it was looked for"
    assert told in tab.form.sources["folder"].problem.text()
    assert told.capitalize() in " ".join(
        label.text() for label in window.plan_page.outlook.findChildren(QLabel)
    )
    assert not window.actions_["train"].isEnabled()
    put(tmp_path / "pets", {"cats/1.png": b""})
    window.readiness.look_again()
    assert "it holds a single class, cats" in tab.form.sources["folder"].problem.text()
    put(tmp_path / "pets", {"dogs/1.png": b""})
    window.readiness.look_again()
    assert tab.form.sources["folder"].problem.text() == ""
    assert window.actions_["train"].isEnabled()
