from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication

from gpu_studio.placement.plan_facts import DataFacts, PlanFacts
from gpu_studio.plan import Data, ModelSettings
from gpu_studio.ui.window.main_window import MainWindow


def test_that_the_script_on_the_clipboard_is_python_and_what_it_reads_is_named(
    window: MainWindow,
) -> None:
    window.actions_["copy_python"].trigger()
    script = QGuiApplication.clipboard().text()
    nodes = ast.walk(ast.parse(script))
    imported = {
        alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names
    }
    assert "tensorflow" in imported
    assert "import tensorflow as tf" in script
    assert "gpu_studio" not in imported
    assert "digits.npz" in window.notice.text


def test_that_a_written_script_has_beside_it_what_it_reads(
    window: MainWindow, tmp_path: Path
) -> None:
    window.scripts.write(tmp_path / "train.py")
    ast.parse((tmp_path / "train.py").read_text())
    assert (tmp_path / "digits.npz").is_file()
    assert (tmp_path / "train.py").stat().st_mode & 0o777 == 0o600
    assert "python train.py" in window.notice.text


def test_that_what_cannot_be_a_script_says_why(window: MainWindow, tmp_path: Path) -> None:
    window.document.replace(
        replace(window.document.plan, data=Data(python="mine.py:load")), "take my data"
    )
    window.scripts.write(tmp_path / "train.py")
    assert not (tmp_path / "train.py").exists()
    assert "mine.py:load" in window.notice.text


def test_that_a_function_of_ones_own_is_in_the_script_once_its_data_were_looked_at(
    window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = replace(
        window.document.plan, data=Data(python="mine.py:load"), model=ModelSettings("mlp")
    )
    window.document.replace(plan, "take my data")
    seen = DataFacts("load", "classes", 3, 90, x_shape=(4,), arrays=("x", "y"))
    monkeypatch.setattr(window.facts, "facts_so_far", lambda *_: PlanFacts(seen))
    window.scripts.write(tmp_path / "train.py")
    assert 'call_own(DATA_FILE, "load"' in (tmp_path / "train.py").read_text()


def test_that_a_script_that_cannot_be_written_says_why(window: MainWindow, tmp_path: Path) -> None:
    window.scripts.write(tmp_path / "nowhere" / "train.py")
    assert "could not be written" in window.notice.text
