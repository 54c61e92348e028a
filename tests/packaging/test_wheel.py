"""The wheel, built for real and installed with its dependencies only, without a source tree."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
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
    "CONTRIBUTING.md",
)
COMMITTED = 1770091506
"""2026-02-03 04:05:06 UTC."""
COMMITTER = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_COMMITTER_DATE": f"@{COMMITTED} +0200",
}


def built(source: Path, **environment: str) -> list[Path]:
    """Build all of `source` as `make dist` does; the wheel and the archive."""
    clean = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    subprocess.run(
        [sys.executable, source / "packaging/dist.py", "wheel", "sdist"],
        env={**clean, **environment},
        check=True,
        capture_output=True,
        timeout=120,
    )
    return sorted((source / "dist").iterdir())


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Path, Path]:
    """The wheel and the archive of a fresh clone with one commit."""
    clone = tmp_path_factory.mktemp("clone")
    for name in SOURCES:
        path = ROOT / name
        ignored = shutil.ignore_patterns("__pycache__")
        if path.is_dir():
            shutil.copytree(path, clone / name, ignore=ignored)
        else:
            shutil.copy(path, clone / name)
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
        subprocess.run(["git", "-C", clone, *words], env={**os.environ, **COMMITTER}, check=True)
    wheel, archive = built(clone)
    return wheel, archive


@pytest.fixture(scope="module")
def wheel(made):
    return made[0]


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


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


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
    ours = f"gpu_studio-{gpu_studio.__version__}"
    assert {name.split("/")[0] for name in names(wheel)} == {
        "gpu_studio",
        f"{ours}.dist-info",
        f"{ours}.data",
    }


def test_that_the_archive_and_the_wheel_made_from_the_archive_later_are_the_same(made, tmp_path):
    shutil.unpack_archive(made[1], tmp_path / "unpacked", filter="data")
    (source,) = (tmp_path / "unpacked").iterdir()
    for path in source.rglob("*.py"):
        path.chmod(0o600)
        os.utime(path)
    again = built(source, TZ="Asia/Tokyo", LC_ALL="C", PYTHONHASHSEED="1")
    assert [(path.name, digest(path)) for path in again] == [
        (path.name, digest(path)) for path in made
    ]


def test_that_what_is_built_has_the_time_of_the_commit(made):
    with tarfile.open(made[1]) as archive:
        assert {member.mtime for member in archive} == {COMMITTED}
    with zipfile.ZipFile(made[0]) as archive:
        assert {info.date_time for info in archive.infolist()} == {(2026, 2, 3, 4, 5, 6)}


def test_that_the_installed_commands_run_without_the_source_tree(call, installed):
    assert "2026-02-03" in (installed.parent / "share/man/man1/gpu-studio.1").read_text()
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
