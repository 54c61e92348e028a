"""What a run tells of the code that made it, and what has become of that since."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_runs import Script, make_run, tell

from gpu_studio.contract.consent import digest
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.events import Code
from gpu_studio.runs.results.run_figures import figures_of

HELD = b"def build(): ...\n"
SHA256 = digest(HELD)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "models.py"
    path.write_bytes(HELD)
    return path


@pytest.fixture
def run(runs_dir: Path, file: Path) -> RunDirectory:
    made = make_run(runs_dir, Script(trained=1, ending="stopped"))
    tell(made, Code(part="model", file=str(file), function="build", sha256=SHA256))
    return made


def words(run: RunDirectory) -> str:
    return figures_of(run).environment["code of the model"]


def test_that_a_run_tells_which_code_made_it(run: RunDirectory, file: Path) -> None:
    assert words(run) == f"build in models.py, SHA-256 {SHA256[:12]}"
    assert "code of the data" not in figures_of(run).environment


def test_that_a_file_that_has_changed_since_is_told(run: RunDirectory, file: Path) -> None:
    file.write_bytes(b"other")
    assert words(run).endswith(", which has changed since")
    file.unlink()
    assert words(run).endswith(", which is no longer there")
    file.mkdir()
    assert words(run).endswith(", which has changed since")
