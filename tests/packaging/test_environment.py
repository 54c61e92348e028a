"""The virtual environment, made for real.

A small project, a lock with one small package, and Python's own pip.
"""

from __future__ import annotations

import hashlib
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from environment import Environment, SetupError
from patience import PATIENCE_S

pytestmark = pytest.mark.slow

METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
# A build backend in a few lines: what an editable install asks for.
BACKEND = f"""
import pathlib, zipfile
def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    name = "little-1.0-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory, name), "w") as wheel:
        wheel.writestr("_little.pth", str(pathlib.Path.cwd()))
        wheel.writestr("little-1.0.dist-info/METADATA", {METADATA.format(name="little")!r})
        wheel.writestr("little-1.0.dist-info/WHEEL", {WHEEL!r})
        wheel.writestr("little-1.0.dist-info/RECORD", "")
    return name
"""
PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'


def make_wheel(folder: Path, name: str) -> str:
    """Write a wheel of one module and return its line in a lock."""
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}.py", "")
        wheel.writestr(f"{name}-1.0.dist-info/METADATA", METADATA.format(name=name))
        wheel.writestr(f"{name}-1.0.dist-info/WHEEL", WHEEL)
        wheel.writestr(f"{name}-1.0.dist-info/RECORD", "")
    return f"{name}==1.0 --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


def make_tree(root: Path) -> Environment:
    """Write a project whose lock `runtime` holds one package and `dev` two."""
    locks = root / "packaging/locks"
    locks.mkdir(parents=True)
    (root / "pyproject.toml").write_text(PROJECT)
    (root / "backend.py").write_text(BACKEND)
    (root / "little.py").write_text("")
    one, two = make_wheel(root, "one"), make_wheel(root, "two")
    (locks / "runtime.txt").write_text(one)
    (locks / "dev.txt").write_text(one + two)
    return Environment(root)


@pytest.fixture(scope="module", autouse=True)
def known() -> Iterator[None]:
    """Let pip know nothing of its user's settings, and no index."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIP_NO_INDEX", "1")
        patch.setenv("PIP_CONFIG_FILE", "/dev/null")
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory, known) -> Iterator[Environment]:
    """A tree with its environment, made once where there was one whose interpreter is gone.

    It is still empty, and pip knows the tree's own wheels.
    """
    environment = make_tree(tmp_path_factory.mktemp("tree"))
    environment.python.parent.mkdir(parents=True)
    environment.python.symlink_to("/nowhere/python3.11")
    environment.stamp.write_text("{}")
    environment.make(None)
    assert not environment.stamp.exists()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIP_FIND_LINKS", str(environment.root))
        yield environment


@pytest.fixture(scope="module")
def stamp(made) -> str:
    """What is written down of the environment once the lock `runtime` is installed."""
    assert made.lacks(["runtime"]) == ["runtime", "project"]
    made.fill(["runtime"])
    return made.stamp.read_text()


@pytest.fixture
def environment(made, stamp, monkeypatch):
    """The tree as it was at first; its environment holds the lock `runtime`."""
    monkeypatch.chdir(made.root)
    texts = {
        path: path.read_text()
        for path in (made.lock("runtime"), made.lock("dev"), made.root / "pyproject.toml")
    }
    made.stamp.write_text(stamp)
    yield made
    for path, text in texts.items():
        path.write_text(text)


def imports(environment: Environment, module: str) -> bool:
    done = subprocess.run(
        [environment.python, "-c", f"import {module}"],
        cwd="/",
        capture_output=True,
        check=False,
        timeout=PATIENCE_S,
    )
    return done.returncode == 0


def test_that_a_filled_environment_lacks_nothing_and_imports_the_project_from_anywhere(environment):
    assert environment.lacks(["runtime"]) == []
    assert imports(environment, "one, little")
    assert not imports(environment, "two")


def test_that_a_package_with_another_hash_is_refused_and_nothing_counts_as_ready(environment):
    make_wheel(environment.root, "three")
    environment.lock("dev").write_text("three==1.0 --hash=sha256:" + "0" * 64)
    with pytest.raises(SetupError, match="pip could not install packaging/locks/dev"):
        environment.fill(["dev"])
    assert environment.lacks(["runtime"]) == ["runtime", "project"]
    assert not imports(environment, "three")


def test_that_a_changed_lock_or_project_is_installed_again(environment):
    lock = environment.lock("runtime")
    lock.write_text(lock.read_text() + "# newer\n")
    assert environment.lacks(["runtime"]) == ["runtime"]
    (environment.root / "pyproject.toml").write_text(PROJECT + "# newer\n")
    assert environment.lacks(["runtime"]) == ["runtime", "project"]


def test_that_in_a_copied_tree_the_project_is_not_installed(environment, tmp_path):
    copied = tmp_path / "copy"
    subprocess.run(["cp", "-r", environment.root, copied], check=True)
    assert Environment(copied).lacks(["runtime"]) == ["project"]


def test_that_a_damaged_stamp_counts_for_nothing(environment):
    environment.stamp.write_text('{"runtime": ')
    assert environment.lacks(["runtime"]) == ["runtime", "project"]


def test_that_an_environment_that_works_is_kept(made):
    before = made.python.lstat().st_ctime_ns
    made.make(None)
    assert made.python.lstat().st_ctime_ns == before


def test_that_one_whose_interpreter_is_gone_is_made_anew(made):
    assert imports(made, "pip")


@pytest.mark.whole(__file__)
def test_that_after_a_failed_download_a_later_try_succeeds_and_holds_the_smaller_lock_too(
    environment,
):
    lock = environment.lock("dev")
    text = lock.read_text()
    lock.write_text("absent==1.0 --hash=sha256:" + "0" * 64)
    with pytest.raises(SetupError, match="If the network is down, try again when it is up"):
        environment.fill(["dev"])
    lock.write_text(text)
    environment.fill(["dev"])
    assert environment.lacks(["dev"]) == []
    assert environment.lacks(["runtime"]) == []
    assert imports(environment, "one, two, little")
