"""Who imports whom.

Read from the source, and seen in processes that import one part and nothing else.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import import_rules
import opening_rules
import pytest
import warm_python
from patience import PATIENCE_S

import gpu_studio

PACKAGE = Path(gpu_studio.__file__).parent
QT = ("PySide6", "shiboken6", "pyqtgraph")
TENSORFLOW = ("tensorflow", "keras")


def modules_after(program: str, python: Sequence[str] = (sys.executable, "-c")) -> set[str]:
    """The names of all modules that a fresh interpreter has imported after running the program."""
    ask = f"{program}\nimport sys; print(*sys.modules)"
    done = subprocess.run(
        [*python, ask], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.fixture
def tree(tmp_path):
    """Write a package of one file with one line into a room, and return the package."""

    def write(file: str, line: str) -> Path:
        path = tmp_path / "gpu_studio" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{line}\n")
        return tmp_path / "gpu_studio"

    return write


def test_that_every_import_of_the_package_is_allowed():
    assert import_rules.violations(PACKAGE) == []


def test_that_no_file_is_opened_but_by_the_rule_for_files_that_anybody_may_have_put_there():
    assert opening_rules.violations(PACKAGE) == []


@pytest.mark.parametrize(
    "line",
    [
        "path.read_bytes()",
        "(run / 'x').read_text(encoding='utf-8')",
        "path.write_text('x')",
        "open(path)",
        "os.open(path, os.O_RDONLY)",
        "path.open('rb')",
        "path.open(encoding='utf-8')",
        "shutil.copyfile(a, b)",
    ],
)
def test_that_opening_a_file_otherwise_is_found(tree, line):
    (found,) = opening_rules.violations(tree("runs/a.py", line))
    assert found.startswith("runs/a.py:1 calls ")


@pytest.mark.parametrize(
    "line", ["read_text(path, 10)", "opened(path)", "dialog.open()", "archive.open(name)"]
)
def test_that_opening_by_the_rule_is_allowed_and_what_is_no_file_may_be_opened(tree, line):
    assert opening_rules.violations(tree("runs/a.py", line)) == []


def test_that_one_file_of_hardware_imports_nvml():
    files = {item.parts for item in import_rules.imports(PACKAGE) if item.module == "pynvml"}
    assert [parts[0] for parts in files] == ["hardware"]


@pytest.mark.parametrize(
    ("file", "line", "reason"),
    [
        ("plan/a.py", "import gpu_studio.runs", "plan may not use runs"),
        ("plan/a.py", "from gpu_studio import hardware", "plan may not use hardware"),
        ("plan/a.py", "from ..runs import events", "plan may not use runs"),
        ("hardware/deep/a.py", "from ...runs.tail import Tail", "hardware may not use runs"),
        ("runs/a.py", "def f():\n    import gpu_studio.trainer.loop", "runs may not use trainer"),
        (
            "trainer/a.py",
            "from gpu_studio.runs.reading.history import History",
            "trainer may not use runs",
        ),
        ("contract/a.py", "import gpu_studio.runs", "contract may not use runs"),
        ("common/a.py", "from gpu_studio.plan import Plan", "common may not use plan"),
        ("trainer/a.py", "import gpu_studio.hardware", "trainer may not use hardware"),
        ("ui/kit/a.py", "import gpu_studio.trainer", "ui may not use trainer"),
        ("cli.py", "import gpu_studio.ui.window.app", "only inside the function"),
        (
            "ui/runs/a.py",
            "from gpu_studio.ui.plan.plan_page import x",
            "ui/runs may not use ui/plan",
        ),
        ("ui/kit/plots/a.py", "from ...train import x", "ui/kit may not use ui/train"),
        (
            "ui/devices/a.py",
            "import gpu_studio.ui.window.main_window",
            "ui/devices may not use ui/window",
        ),
        ("ui/attic/a.py", "x = 1", "a wing without a rule"),
        ("ui/kit/a.py", "import tensorflow as tf", "only trainer/ may"),
        ("runs/a.py", "import keras.saving", "only trainer/ may"),
        (
            "ui/kit/a.py",
            "import importlib\nx = importlib.import_module('tensorflow')",
            "only trainer/ may",
        ),
        ("trainer/a.py", "import pynvml", "only hardware/ may"),
        ("cli.py", "def f():\n    from PySide6 import QtCore", "only ui/ may"),
        ("trainer/a.py", "if TYPE_CHECKING:\n    import pyqtgraph", "only ui/ may"),
        ("attic/a.py", "x = 1", "a room without a rule"),
    ],
)
def test_that_a_forbidden_import_is_found(tree, file, line, reason):
    for room in ("hardware", "runs", "trainer", "ui/plan"):
        tree(f"{room}/__init__.py", "")
    found = import_rules.violations(tree(file, line))
    assert len(found) == 1
    assert reason in found[0]


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("plan/a.py", "import tomllib\nfrom .values import Plan"),
        ("runs/a.py", "from gpu_studio.plan import Plan"),
        ("runs/a.py", "from gpu_studio.hardware.accounting import account"),
        ("trainer/a.py", "import tensorflow\nfrom gpu_studio.contract.events import Started"),
        (
            "trainer/a.py",
            "from gpu_studio import __version__\nfrom gpu_studio.common import steady",
        ),
        ("cli.py", "def window():\n    from gpu_studio.ui.window import app"),
        ("ui/train/train_page.py", "from gpu_studio.ui.kit.basic_widgets import Card"),
        ("ui/window/main_window.py", "from gpu_studio.ui.train.train_page import TrainPage"),
        ("hardware/nvml.py", "import pynvml"),
    ],
)
def test_that_an_allowed_import_is_not_held_against_it(tree, file, line):
    assert import_rules.violations(tree(file, line)) == []


def test_that_a_second_file_with_nvml_is_found(tree):
    tree("hardware/nvml.py", "import pynvml")
    found = import_rules.violations(tree("hardware/sampler.py", "import pynvml"))
    assert found == [
        "pynvml is imported in hardware/nvml.py and hardware/sampler.py: one file is enough"
    ]


@pytest.mark.parametrize(
    "line", ["from gpu_studio.runs.a import x", "if TYPE_CHECKING:\n    from .a import x"]
)
def test_that_files_which_import_one_another_are_found(tree, line):
    tree("runs/a.py", "def f():\n    from gpu_studio.runs.b import x")
    tree("runs/b.py", "import gpu_studio.runs.c")
    (found,) = import_rules.violations(tree("runs/c.py", line))
    assert found.endswith(": a circle")
    assert {"gpu_studio.runs.a", "gpu_studio.runs.b", "gpu_studio.runs.c"} <= set(found.split())


def test_that_the_processes_looked_at_really_show_their_imports():
    assert {"json", "tomllib"} <= modules_after("import json, tomllib")
    assert "tomllib" not in modules_after("import json")


def test_that_the_command_line_starts_light():
    heavy = {*QT, *TENSORFLOW, "numpy", "rich", "pynvml", "gpu_studio.ui"}
    assert not heavy & modules_after("import gpu_studio.cli")


def test_that_what_records_beside_a_run_starts_light():
    assert not {"gpu_studio.plan", "pynvml"} & modules_after(
        "import gpu_studio.hardware.accompanying"
    )


@pytest.mark.slow
def test_that_the_window_runs_without_tensorflow():
    assert not {*TENSORFLOW, "pynvml"} & modules_after(
        "import gpu_studio.ui.window.main_window, gpu_studio.ui.window.app"
    )


@pytest.mark.slow
def test_that_no_module_of_the_trainer_needs_qt():
    walk = "import pkgutil, importlib, gpu_studio.trainer as t\n"
    walk += "for m in pkgutil.walk_packages(t.__path__, 'gpu_studio.trainer.'):\n"
    walk += "    m.name.endswith('__main__') or importlib.import_module(m.name)"
    # A warm process has imported what the trainer imports, and nothing else.
    modules = modules_after(walk, warm_python.command(warm_python.TEXT))
    assert {"tensorflow", "gpu_studio.trainer.ask"} <= modules
    assert not {*QT, "pynvml"} & modules
