"""Build dist/gpu-studio_VERSION_ARCH.deb: a Debian package that carries its own environment.

Below /opt/gpu-studio lie the packages that GPU Studio needs, as they are in .venv, without what is
only for building against them. Python itself and the libraries that Qt loads are Debian's. The
menu's entry, icons, completion and the manual page lie below /usr/share. The same source and the
same packages give the same bytes. With --cuda it carries TensorFlow's CUDA libraries as well, if
.venv has them; with --screenshots and the address of a folder on the web, its description for
software centres names the screenshots that lie there.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatch
from importlib.metadata import Distribution, MetadataPathFinder
from pathlib import Path, PurePosixPath
from typing import Final

import artefacts
import metainfo
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gpu_studio import __version__
from gpu_studio.cli.completion import PROGRAMS, ZSH, made_files
from gpu_studio.cli.entry import make_parser

NAME: Final = "gpu-studio"
OPT: Final = Path("opt", NAME)
PYTHON: Final = f"python{sys.version_info.major}.{sys.version_info.minor}"
LEFT_OUT: Final = (
    "*.pyc", "*.pyi", "*/tests/*",
    # Of how it came here: commands' paths, and from where it was taken.
    "*.dist-info/RECORD", "*.dist-info/INSTALLER", "*.dist-info/REQUESTED",
    "*.dist-info/direct_url.json",
    # What compilers need: the library of the practice cards comes compiled.
    "tensorflow/include/*", "tensorflow/xla_aot_runtime_src/*", "numpy/_core/include/*",
    "clang/*",
    # Of Qt the tools of developers, and all that is for QML.
    "PySide6/Qt/qml/*", "PySide6/Qt/metatypes/*", "PySide6/Qt/libexec/*", "PySide6/Qt/lib/*Q[mu]*",
    "PySide6/Qt/lib/*Labs*", "PySide6/Qt/lib/*Designer*", "PySide6/Qt/lib/*Lottie*",
    "PySide6/Qt/lib/*Help*", "PySide6/Qt/lib/*Sql*", "PySide6/Qt/plugins/designer/*",
    "PySide6/Qt/lib/*Compositor*", "PySide6/Qt/plugins/qml*/*", "PySide6/Qt/plugins/sqldrivers/*",
    "PySide6/Qt/plugins/vectorimageformats/*", "PySide6/Qt/plugins/*/*virtualkeyboard*",
    "PySide6/Qt/plugins/imageformats/*pdf*", "PySide6/Qt/plugins/networkinformation/*",
    "PySide6/Qt/plugins/wayland-graphics-integration-server/*", "PySide6/Qt[DHQS][emqu]*.so",
    "PySide6/QtUiTools*", "PySide6/libpyside6qml*", "PySide6/include/*", "PySide6/typesystems/*",
    "PySide6/glue/*", "PySide6/scripts/*", "PySide6/doc/*", "PySide6/support/*",
    "PySide6/assistant", "PySide6/designer", "PySide6/linguist", "PySide6/lrelease",
    "PySide6/lupdate", "PySide6/qml*", "PySide6/svgtoqml",
)  # fmt: skip
"""Files of the environment that nobody runs who only uses the program."""
CONTROL: Final = """\
Package: {name}
Version: {version}
Architecture: {architecture}
Maintainer: The GPU Studio developers
Installed-Size: {kib}
Depends: {depends}
Section: science
Priority: optional
Description: carve GPUs, place training on them, and watch it run
 A desktop studio for TensorFlow and Keras on a machine with one to eight NVIDIA
 cards, or with none. It carries the Python packages that it needs in
 /opt/gpu-studio.
"""
# Nobody but root may write byte code there, and without it each start would compile anew.
POSTINST: Final = f"""#!/bin/sh
set -e
if [ "$1" = configure ]; then
    cd "$DPKG_ROOT/{OPT}"
    bin/python -m compileall -q -j 0 lib >/dev/null 2>&1 || true
fi
"""
PRERM: Final = f"""#!/bin/sh
set -e
find "$DPKG_ROOT/{OPT}" -depth -type d -name __pycache__ -exec rm -rf {{}} +
"""
SCRIPT: Final = f"""#!/{OPT}/bin/python
import sys
from gpu_studio.cli import {{function}}
sys.exit({{function}}())
"""


def main(words: Sequence[str]) -> int:
    """Build it; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--cuda", action="store_true")
    parser.add_argument("--packages", type=Path, default=Path(sysconfig.get_path("purelib")))
    parser.add_argument("--wheel", type=Path, help="a wheel of GPU Studio that is there already")
    parser.add_argument("--python", type=Path, default=Path("/usr/bin", PYTHON))
    parser.add_argument("--outdir", type=Path, default=artefacts.ROOT / "dist")
    parser.add_argument("--screenshots", default="", metavar="ADDRESS")
    chosen = parser.parse_args(words)
    os.environ.update(artefacts.with_epoch())
    # Not in /tmp, which may be the memory: it becomes as large as what is installed.
    with tempfile.TemporaryDirectory(dir=_made(chosen.outdir)) as folder:
        root = Path(folder, "root")
        try:
            wheel = chosen.wheel or _wheel(Path(folder), chosen.screenshots)
            fill(root, wheel, chosen.packages, chosen.python, cuda=chosen.cuda)
            if chosen.screenshots:
                metainfo.describe(root / "usr/share", chosen.screenshots)
        except LookupError as error:
            sys.stderr.write(f"GPU Studio: {error}\n")
            return 1
        return _built(root, chosen.outdir)


def fill(root: Path, wheel: Path, packages: Path, python: Path, *, cuda: bool) -> None:
    """Put below `root` all that the package installs.

    Raises LookupError if a package that GPU Studio needs is not among the `packages`.
    """
    site = _made(root / OPT / "lib" / PYTHON / "site-packages")
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".data/" not in name]
        archive.extractall(site, names)
    for needed in needed_by(site, packages, ["cuda"] if cuda else []):
        _copy(needed, packages, site)
    programs = _made(root / OPT / "bin")
    (programs / "python").symlink_to(python)
    settings = f"home = {python.parent}\ninclude-system-site-packages = false\n"
    (root / OPT / "pyvenv.cfg").write_text(settings)
    for name, function in zip(PROGRAMS, ("main", "window"), strict=True):
        (programs / name).write_text(SCRIPT.format(function=function))
        (programs / name).chmod(0o755)
        (_made(root / "usr/bin") / name).symlink_to(f"/{OPT}/bin/{name}")
    _share(root / "usr/share")


def needed_by(site: Path, packages: Path, extras: Sequence[str]) -> list[Distribution]:
    """All that the package in `site` needs of the `packages`, directly or not, by name.

    Raises LookupError for what is not there.
    """
    (ours,) = MetadataPathFinder().find_distributions(_context(NAME, site))
    found: dict[tuple[str, str], Distribution] = {}
    waiting: list[tuple[Distribution, str]] = [(ours, extra) for extra in ("", *extras)]
    while waiting:
        package, extra = waiting.pop()
        for text in package.requires or ():
            requirement = Requirement(text)
            if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
                continue
            name = canonicalize_name(requirement.name)
            for wanted in ("", *requirement.extras):
                if (name, wanted) not in found:
                    found[name, wanted] = _package(name, packages, text)
                    waiting.append((found[name, wanted], wanted))
    return [found[name, extra] for name, extra in sorted(found) if not extra]


def _package(name: str, packages: Path, text: str) -> Distribution:
    for package in MetadataPathFinder().find_distributions(_context(name, packages)):
        return package
    raise LookupError(f"{text} is needed, and not in {packages}: run `make setup` first.")


def _context(name: str, folder: Path) -> MetadataPathFinder.Context:
    return MetadataPathFinder.Context(name=name, path=[str(folder)])


def _copy(package: Distribution, packages: Path, site: Path) -> None:
    """Copy the files of a package that lie among the `packages`, but for those left out."""
    for file in package.files or ():
        place = PurePosixPath(file)
        if ".." in place.parts or any(fnmatch(str(place), pattern) for pattern in LEFT_OUT):
            continue
        if (packages / place).is_file():
            _made(site / place.parent)
            shutil.copy(packages / place, site / place)


def _share(share: Path) -> None:
    """Put there what the desktop, shells, `man` and readers look for."""
    shutil.copytree(artefacts.ROOT / "resources/desktop", share)
    for place, text in made_files(make_parser(), f"{_time():%Y-%m-%d}").items():
        path = share / str(place).replace(ZSH, "zsh/vendor-completions")
        _made(path.parent)
        if place.parts[0] == "man":
            path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(text, mtime=0))
        else:
            path.write_bytes(text)
    papers = _made(share / "doc" / NAME)
    shutil.copyfile(artefacts.ROOT / "LICENSE", papers / "copyright")
    changes = (artefacts.ROOT / "CHANGELOG.md").read_bytes()
    (papers / "changelog.gz").write_bytes(gzip.compress(changes, mtime=0))


def _built(root: Path, outdir: Path) -> int:
    """Make the package of what lies below `root`, and tell its size."""
    size = sum(path.lstat().st_size for path in root.rglob("*") if not path.is_dir())
    architecture = _said("dpkg", "--print-architecture")
    control = CONTROL.format(
        name=NAME, version=__version__, architecture=architecture, kib=-(-size // 1024),
        depends=", ".join(_depends()),
    )  # fmt: skip
    folder = _made(root / "DEBIAN")
    (folder / "control").write_text(control)
    for name, text in (("postinst", POSTINST), ("prerm", PRERM)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    _make_alike(root)
    path = outdir / f"{NAME}_{__version__}_{architecture}.deb"
    # One thread: with several, zstd's bytes would depend on the machine.
    packed = ["dpkg-deb", "--root-owner-group", "-Zzstd", "-z12", "--threads-max=1", "--build"]
    code = subprocess.run([*packed, str(root), str(path)], check=False).returncode
    if code == 0:
        megabytes = f"{path.stat().st_size / 1e6:.0f} MB, installed {size / 1e6:.0f} MB"
        sys.stdout.write(f"{path}: {megabytes}, without byte code\n")
    return code


def _depends() -> Iterator[str]:
    """Python of this version, and what Qt loads: on X11, on Wayland, and without either."""
    yield PYTHON
    table = tomllib.loads((artefacts.ROOT / "packaging/setup/libraries.toml").read_text())
    yield from sorted({name for group in ("qt", "x11", "wayland") for name in _of(table[group])})


def _of(group: dict[str, dict[str, str]]) -> Iterable[str]:
    return group["libraries"].values()


def _make_alike(root: Path) -> None:
    """Give all files the time of the source, and permissions that no umask changes."""
    for path in (root, *root.rglob("*")):
        if not path.is_symlink():
            runs = path.is_dir() or path.stat().st_mode & 0o100
            path.chmod(0o755 if runs else 0o644)
        os.utime(path, (_time().timestamp(),) * 2, follow_symlinks=False)


def _time() -> datetime:
    return datetime.fromtimestamp(int(os.environ.get(artefacts.EPOCH) or 0), UTC)


def _wheel(folder: Path, screenshots: str) -> Path:
    """A wheel of this source tree with the library of the practice cards."""
    words = ["wheel", "--practice", "--outdir", str(folder / "wheel")]
    words += ["--screenshots", screenshots] if screenshots else []
    if artefacts.main(words):
        raise SystemExit(1)
    (made,) = (folder / "wheel").glob("*.whl")
    return made


def _said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
