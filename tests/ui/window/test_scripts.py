from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog

from gpu_studio.placement.plan_facts import DataFacts, PlanFacts
from gpu_studio.plan import Data, DeviceSettings, Distribution, ModelSettings
from gpu_studio.plan.cluster_values import Cluster, Kubernetes
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
    mine = tmp_path / "mine.py"
    mine.write_text("def load(): ...\n")
    plan = replace(
        window.document.plan, data=Data(python=f"{mine}:load"), model=ModelSettings("mlp")
    )
    window.document.replace(plan, "take my data")
    seen = DataFacts("load", "classes", 3, 90, x_shape=(4,), arrays=("x", "y"))
    monkeypatch.setattr(window.facts, "facts_so_far", lambda *_: PlanFacts(seen))
    window.scripts.write(tmp_path / "train.py")
    assert 'call_own(DATA_FILE, "load"' in (tmp_path / "train.py").read_text()
    window.scripts.write(mine)  # which the script calls
    assert mine.read_text() == "def load(): ...\n"
    assert f"{mine} is a file of the plan itself: choose another name." in window.notice.text
    its_own = tmp_path / "mine.plan.toml"
    assert window.plan_files.save_to(its_own)
    text = its_own.read_text()
    window.scripts.write(its_own)
    assert its_own.read_text() == text
    assert f"{its_own} is a file of the plan itself: choose another name." in window.notice.text


def test_that_a_script_that_cannot_be_written_says_why(window: MainWindow, tmp_path: Path) -> None:
    window.scripts.write(tmp_path / "nowhere" / "train.py")
    assert "could not be written" in window.notice.text


def several_workers(window: MainWindow) -> None:
    plan = replace(
        window.document.plan,
        devices=DeviceSettings(),
        distribution=Distribution("multi_worker"),
        cluster=Cluster(workers=3, kubernetes=Kubernetes(image="tensorflow/tensorflow:2.21.0")),
    )
    window.document.replace(plan, "take three workers")


@pytest.mark.parametrize(
    ("name", "holds", "beside"),
    [
        ("digits.sh", "processes=3", {"digits.npz", "train.py"}),
        ("digits.sbatch", "#SBATCH --ntasks=3", {"digits.npz", "train.py"}),
        ("digits.yaml", "completions: 3", set()),
        ("digits.jsonl", '"index": 2', set()),
    ],
)
def test_that_the_ending_says_what_is_written_for_several_workers(
    window: MainWindow, tmp_path: Path, name: str, holds: str, beside: set[str]
) -> None:
    several_workers(window)
    folder = tmp_path / "out"
    folder.mkdir()
    window.scripts.write(folder / name)
    assert holds in (folder / name).read_text()
    assert {path.name for path in folder.iterdir()} - {name} == beside
    assert name in window.notice.text


def test_that_the_dialog_offers_what_starts_workers_only_where_there_are_several(
    window: MainWindow,
) -> None:
    def offered() -> list[str]:
        window.scripts.choose_and_write()
        dialog = window.findChild(QFileDialog)
        assert dialog is not None
        filters = dialog.nameFilters()
        dialog.selectNameFilter(filters[-2])
        dialog.filterSelected.emit(filters[-2])
        names.append(Path(dialog.selectedFiles()[0]).suffix)
        dialog.reject()
        dialog.setParent(None)
        return filters

    names: list[str] = []
    assert offered() == ["Python (*.py)", "All files (*)"]
    several_workers(window)
    assert len(offered()) == 6
    assert names == [".py", ".jsonl"]


def test_that_a_job_replaces_no_other_script(window: MainWindow, tmp_path: Path) -> None:
    several_workers(window)
    (tmp_path / "train.py").write_text("mine")
    window.scripts.write(tmp_path / "job.sbatch")
    assert not (tmp_path / "job.sbatch").exists()
    assert (tmp_path / "train.py").read_text() == "mine"
    assert "train.py is there already" in window.notice.text
    window.document.replace(replace(window.document.plan, cluster=Cluster()), "leave the image out")
    window.scripts.write(tmp_path / "job.yaml")
    assert "cluster.kubernetes.image" in window.notice.text
