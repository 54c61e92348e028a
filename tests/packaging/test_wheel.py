"""The wheel, built for real and installed with its dependencies only, without a source tree."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

import gpu_studio

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ROOT = Path(__file__).resolve().parents[2]
SOURCES = (
    "gpu_studio",
    "resources",
    "packaging",
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "Makefile",
)


def build(source: Path, kind: str, folder: Path) -> Path:
    command = [
        sys.executable,
        "-m",
        "build",
        f"--{kind}",
        "--no-isolation",
        "--outdir",
        str(folder),
        str(source),
    ]
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    (made,) = folder.iterdir()
    return made


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def dependencies(tmp_path_factory):
    """All that the environment of the tests has, except GPU Studio."""
    folder = tmp_path_factory.mktemp("dependencies")
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "gpu_studio" not in path.name and path.suffix != ".pth":
            (folder / path.name).symlink_to(path)
    return folder


@pytest.fixture(scope="module")
def installed(wheel, dependencies, tmp_path_factory):
    """The commands of an environment with the wheel, which reaches the dependencies."""
    environment = tmp_path_factory.mktemp("installed")
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", environment], check=True, timeout=60
    )
    python = environment / "bin/python"
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--no-deps",
        "--no-index",
        wheel,
    ]
    subprocess.run(install, check=True, capture_output=True, timeout=60)
    (purelib,) = environment.glob("lib/python*/site-packages")
    (purelib / "dependencies.pth").write_text(f"{dependencies}\n")
    return environment / "bin"


@pytest.fixture
def call(installed, tmp_path):
    """Call one of those commands from an empty folder, with none of our variables."""
    empty = tmp_path / "empty"
    empty.mkdir()
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "VIRTUAL"))
    }

    def run(name: str, *words: str) -> str:
        done = subprocess.run(
            [installed / name, *words],
            cwd=empty,
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_that_the_wheel_carries_the_package_and_every_resource(wheel):
    sources = {str(path.relative_to(ROOT)) for path in (ROOT / "gpu_studio").rglob("*.py")}
    resources = {
        f"gpu_studio/{path.relative_to(ROOT)}"
        for path in (ROOT / "resources").rglob("*")
        if path.is_file()
    }
    assert sources | resources <= names(wheel)


def test_that_the_wheel_carries_its_licences_and_nothing_of_the_tests(wheel):
    licences = {name for name in names(wheel) if "/licenses/" in name}
    assert {Path(name).name for name in licences} >= {"LICENSE", "LICENSE-digits.txt"}
    tops = {
        name.split("/")[0].removesuffix(f"-{gpu_studio.__version__}.dist-info")
        for name in names(wheel)
    }
    assert tops == {"gpu_studio"}


def test_that_the_wheel_made_from_the_source_archive_is_the_same(wheel, tmp_path):
    archive = build(ROOT, "sdist", tmp_path / "sdist")
    shutil.unpack_archive(archive, tmp_path / "unpacked")
    (source,) = (tmp_path / "unpacked").iterdir()
    assert names(build(source, "wheel", tmp_path / "again")) == names(wheel)


def test_that_the_installed_commands_run_without_the_source_tree(call):
    where = call("python", "-c", "import gpu_studio; print(gpu_studio.__file__)")
    assert not Path(where.strip()).is_relative_to(ROOT)
    assert gpu_studio.__version__ in call("gpu-studio", "--version")


def test_that_the_installed_program_writes_a_plan_for_this_machine_and_accepts_it(call, tmp_path):
    plan = tmp_path / "starter.plan.toml"
    plan.write_text(call("gpu-studio", "starter"))
    call("gpu-studio", "check", str(plan))


def test_that_the_installed_program_trains_on_the_bundled_digits(call, isolated_home):
    call("gpu-studio", "train", "--set", "training.epochs=1")
    (run,) = [
        path
        for path in isolated_home.runs.iterdir()
        if path.is_dir() and not path.name.startswith(".")
    ]
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    assert events[-1]["event"] == "finished"


def test_that_the_installed_window_finds_its_resources(call):
    ask = (
        "from gpu_studio.common.paths import resource as r; "
        "print(r('style/window.qss').read_text()[:1] != '')"
    )
    assert call("python", "-c", ask) == "True\n"
