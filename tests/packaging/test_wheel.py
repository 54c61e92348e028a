"""Wheel, source archive and Debian package, built for real and installed without a source tree."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from patience import PATIENCE_S

import gpu_studio

pytestmark = pytest.mark.slow

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

UNCOMPILED = "--no-compile"
"""How pip installs here: to compile all of the package takes longer than what is used of it."""


def built(source: Path, **environment: str) -> list[Path]:
    """Build all of `source` as `make dist` does; the wheel and the archive."""
    clean = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    subprocess.run(
        [sys.executable, source / "packaging/artefacts.py", "wheel", "sdist"],
        env={**clean, **environment},
        check=True,
        capture_output=True,
        timeout=PATIENCE_S,
    )
    return sorted((source / "dist").iterdir())


def done(*command: str | Path, **environment: str | Path) -> str:
    """What a command writes that knows no packages but those of the environment's variables."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    told = subprocess.run(
        command,
        env={**clean, **{name: str(value) for name, value in environment.items()}},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert told.returncode == 0, told.stderr
    return told.stdout


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
def installed(made, dependencies, tmp_path_factory):
    """The commands of an environment in which pip built the archive; it has the dependencies."""
    environment = tmp_path_factory.mktemp("installed")
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", environment], check=True, timeout=PATIENCE_S
    )
    (purelib,) = environment.glob("lib/python*/site-packages")
    (purelib / "dependencies.pth").write_text(f"{dependencies}\n")
    pip = (sys.executable, "-m", "pip", "--python", environment / "bin/python", "install")
    done(*pip, UNCOMPILED, "--no-build-isolation", "--no-deps", "--no-index", made[1])
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
        (page,) = (name for name in archive.namelist() if name.endswith("/gpu-studio.1"))
        assert b"2026-02-03" in archive.read(page)


def test_that_the_installed_commands_run_without_the_source_tree(call, installed):
    assert "GPU Studio" in (installed.parent / "share/man/man1/gpu-studio.1").read_text()
    where = call("python", "-c", "import gpu_studio; print(gpu_studio.__file__)")
    assert not Path(where.strip()).is_relative_to(ROOT)
    assert gpu_studio.__version__ in call("gpu-studio", "--version")


def test_that_the_installed_program_writes_a_plan_for_this_machine_and_accepts_it(call, tmp_path):
    plan = tmp_path / "starter.plan.toml"
    plan.write_text(call("gpu-studio", "starter"))
    call("gpu-studio", "check", str(plan))


@pytest.mark.whole(__file__)
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


@pytest.fixture(scope="module")
def packages(wheel, tmp_path_factory) -> Path:
    """What GPU Studio needs, as packages of a module each; one has more, as TensorFlow has."""
    folder = tmp_path_factory.mktemp("packages")
    with zipfile.ZipFile(wheel) as archive:
        (ours,) = (name for name in archive.namelist() if name.endswith("dist-info/METADATA"))
        needed = re.findall(r"^Requires-Dist: ([\w-]+)", archive.read(ours).decode(), re.MULTILINE)
    for name in {*needed, "below", "library"}:
        write_package(folder, name.lower().replace("-", "_"))
    write_package(
        folder,
        "tensorflow",
        ("tensorflow/include/a.h", "tensorflow/tests/a.py", "../../bin/saved_model_cli"),
        ("below", "library; extra == 'and-cuda'"),
    )
    return folder


def write_package(folder: Path, name: str, more: tuple[str, ...] = (), needs: tuple = ()) -> None:
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir(exist_ok=True)
    requires = "".join(f"Requires-Dist: {each}\n" for each in needs)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n{requires}")
    files = (f"{name}/__init__.py", f"{about.name}/METADATA", f"{about.name}/RECORD", *more)
    for file in files[:1] + tuple(each for each in more if ".." not in each):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).touch()
    (about / "RECORD").write_text("".join(f"{file},,\n" for file in files))


def build_deb(wheel: Path, packages: Path, folder: Path, *words: str) -> Path:
    if shutil.which("dpkg-deb") is None:
        pytest.skip("needs dpkg-deb, which is part of Debian")
    command = [sys.executable, ROOT / "packaging/deb.py", "--wheel", wheel, "--packages", packages]
    interpreter = Path(sys.executable).resolve()
    subprocess.run(
        [*command, "--python", interpreter, "--outdir", folder, *words],
        env={**os.environ, "SOURCE_DATE_EPOCH": str(COMMITTED)},
        check=True,
        capture_output=True,
        timeout=PATIENCE_S,
    )
    (deb,) = folder.iterdir()
    return deb


@pytest.fixture(scope="module")
def small(wheel, tmp_path_factory) -> Path:
    """The wheel without most of the program, so that a package of it is soon built."""
    path = tmp_path_factory.mktemp("small") / wheel.name
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(path, "w") as part:
        for name in whole.namelist():
            if re.match(r"gpu_studio(/__|/cli/|/common/|-.*dist-info/)", name):
                part.writestr(name, whole.read(name))
    return path


@pytest.fixture(scope="module")
def deb(small, packages, tmp_path_factory) -> Path:
    return build_deb(small, packages, tmp_path_factory.mktemp("deb"))


def test_that_a_debian_package_has_the_same_bytes_from_other_copies_of_its_files(
    small, packages, deb, tmp_path
):
    copied = shutil.copytree(packages, tmp_path / "copied", copy_function=shutil.copyfile)
    (copied / "numpy-1.0.dist-info/INSTALLER").write_text("another")
    before = os.umask(0o077)
    try:
        assert digest(build_deb(small, copied, tmp_path / "again")) == digest(deb)
    finally:
        os.umask(before)


def dpkg(root: Path, *words: str | Path) -> None:
    """Install or remove something below `root`, as whoever runs the test."""
    command = ["dpkg", f"--root={root}", f"--log={root}/log", "--force-script-chrootless"]
    command += ["--force-not-root", "--force-depends", "--force-bad-path", *map(str, words)]
    subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_S)


def test_that_the_debian_package_installs_what_runs_there_and_is_removed_whole(deb, tmp_path):
    root = tmp_path / "root"
    for name in ("info", "updates"):
        (root / "var/lib/dpkg" / name).mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    dpkg(root, "--install", deb)
    command = [root / "opt/gpu-studio/bin/python", "-m", "gpu_studio", "--version"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S)
    assert said.stdout == f"gpu-studio {gpu_studio.__version__}\n"
    (site,) = (root / "opt/gpu-studio/lib").glob("python*/site-packages")
    assert {path.name for path in (site / "tensorflow").iterdir()} == {"__init__.py", "__pycache__"}
    assert not (site / "library").exists()
    assert (root / "usr/bin/gpu-studio-window").readlink() == Path(
        "/opt/gpu-studio/bin/gpu-studio-window"
    )
    for place in (
        "applications/gpu-studio.desktop",
        "zsh/vendor-completions/_gpu-studio",
        "man/man1/gpu-studio.1.gz",
        "doc/gpu-studio/copyright",
    ):
        assert (root / "usr/share" / place).is_file()
    dpkg(root, "--remove", "gpu-studio")
    assert not (root / "opt").exists()
    assert not (root / "usr").exists()


def test_that_the_cuda_libraries_are_needed_only_where_they_are_asked_for(
    wheel, packages, tmp_path, monkeypatch
):
    monkeypatch.syspath_prepend(ROOT / "packaging")
    import deb

    shutil.unpack_archive(wheel, tmp_path, "zip")
    plain, cuda = (
        {package.name for package in deb.needed_by(tmp_path, packages, extras)}
        for extras in ([], ["cuda"])
    )
    assert {"below", "tensorflow"} <= plain
    assert cuda - plain == {"library"}


def test_that_a_debian_package_is_not_built_of_an_environment_that_lacks_something(wheel, tmp_path):
    with pytest.raises(subprocess.CalledProcessError) as refused:
        build_deb(wheel, tmp_path, tmp_path / "out")
    assert b"run `make setup` first" in refused.value.stderr


@pytest.fixture(scope="module")
def index(wheel, tmp_path_factory) -> Path:
    """A folder of wheels: all that GPU Studio asks for, empty, in the versions that are here."""
    folder = tmp_path_factory.mktemp("index")
    with zipfile.ZipFile(wheel) as archive:
        (ours,) = (name for name in archive.namelist() if name.endswith("dist-info/METADATA"))
        text = archive.read(ours).decode()
    for name in set(re.findall(r"^Requires-Dist: ([\w-]+)(?!.*extra)", text, re.MULTILINE)):
        more = "Provides-Extra: and-cuda\nRequires-Dist: library; extra == 'and-cuda'\n"
        write_empty_wheel(folder, name, metadata.version(name), more * (name == "tensorflow"))
    write_empty_wheel(folder, "library", "1.0", "")
    return folder


def write_empty_wheel(folder: Path, name: str, version: str, more: str) -> None:
    about = f"{name.replace('-', '_')}-{version}"
    with zipfile.ZipFile(folder / f"{about}-py3-none-any.whl", "w") as archive:
        head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        archive.writestr(f"{about}.dist-info/METADATA", head + more)
        kind = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr(f"{about}.dist-info/WHEEL", kind)
        archive.writestr(f"{about}.dist-info/RECORD", "")


@pytest.mark.whole(__file__)
def test_that_pip_installs_the_wheel_with_all_it_asks_for_and_with_cuda_its_libraries(
    wheel, index, tmp_path
):
    done(sys.executable, "-m", "venv", "--without-pip", tmp_path)
    pip = (sys.executable, "-m", "pip", "--python", tmp_path / "bin/python", "install")
    done(*pip, UNCOMPILED, f"{wheel}[cuda]", PIP_NO_INDEX="1", PIP_FIND_LINKS=index)
    there = {path.name.partition("-")[0] for path in tmp_path.glob("lib/*/*/*.dist-info")}
    assert {"gpu_studio", "tensorflow", "argcomplete", "library"} <= there
    assert gpu_studio.__version__ in done(tmp_path / "bin/gpu-studio", "--version")


@pytest.mark.parametrize("tool", ["uv", "pipx"])
def test_that_tools_for_programs_install_the_wheel_in_a_place_of_its_own(
    tool, wheel, index, tmp_path
):
    if shutil.which(tool) is None:
        pytest.skip(f"needs {tool}; on Debian: sudo apt-get install pipx, and then pipx install uv")
    places = {"UV_TOOL_DIR": "tools", "UV_TOOL_BIN_DIR": "bin", "UV_CACHE_DIR": "cache"}
    places |= {"PIPX_HOME": "tools", "PIPX_BIN_DIR": "bin", "PIPX_MAN_DIR": "man"}
    variables = {name: tmp_path / place for name, place in places.items()}
    for name in ("PIP", "UV"):
        variables |= {f"{name}_FIND_LINKS": index, f"{name}_NO_INDEX": "1"}
    command = {"uv": ("uv", "tool"), "pipx": ("pipx",)}[tool]
    done(*command, "install", "--python", sys.executable, wheel, UV_OFFLINE="1", **variables)
    assert gpu_studio.__version__ in done(tmp_path / "bin/gpu-studio", "--version")
    assert (tmp_path / "bin/gpu-studio-window").exists()
