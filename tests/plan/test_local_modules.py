"""What a Python file of a user's own imports from its folder, read from its text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.plan.local_modules import (
    MOST,
    code_folder,
    imports_in,
    modules_beside,
    package_of,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (
        "helper.py",
        "nets/__init__.py",
        "nets/blocks.py",
        "nets/deep/__init__.py",
        "plain/tool.py",
        "json.py",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path


@pytest.mark.parametrize(
    ("code", "files"),
    [
        ("import helper", ["helper.py"]),
        ("import os, numpy, keras.layers", []),
        ("from helper import anything", ["helper.py"]),
        ("import nets.blocks as blocks", ["nets/__init__.py", "nets/blocks.py"]),
        ("from nets import blocks, Net", ["nets/__init__.py", "nets/blocks.py"]),
        ("from nets.deep import thing", ["nets/__init__.py", "nets/deep/__init__.py"]),
        ("from plain import tool", ["plain/tool.py"]),
        ("import plain.tool", ["plain/tool.py"]),
        ("def build():\n    import helper", ["helper.py"]),
        ("try:\n    import helper\nexcept ImportError: pass", ["helper.py"]),
        ("from .. import outside", []),
        ("import no such", []),
        ("", []),
    ],
)
def test_that_each_way_to_import_a_file_beside_is_seen(
    folder: Path, code: str, files: list[str]
) -> None:
    own = folder / "own.py"
    own.write_text(code)
    assert modules_beside(own) == [folder / name for name in files]


def test_that_what_is_imported_is_looked_into_as_well_and_circles_end(folder: Path) -> None:
    (folder / "own.py").write_text("import helper")
    (folder / "helper.py").write_text("import own, nets.blocks")
    (folder / "nets/blocks.py").write_text(
        "from . import deep\nfrom .. import helper\nfrom ..plain import tool"
    )
    assert [path.relative_to(folder).as_posix() for path in modules_beside(folder / "own.py")] == [
        "helper.py",
        "nets/__init__.py",
        "nets/blocks.py",
        "nets/deep/__init__.py",
        "plain/tool.py",
    ]


def test_that_modules_are_looked_for_where_a_linked_file_really_stands(
    folder: Path, tmp_path: Path
) -> None:
    (folder / "own.py").write_text("import helper")
    linked = tmp_path / "plans" / "own.py"
    linked.parent.mkdir()
    linked.symlink_to(folder / "own.py")
    assert modules_beside(linked) == [folder / "helper.py"]


def test_that_a_folder_of_endless_modules_is_not_read_to_its_end(tmp_path: Path) -> None:
    for number in range(2 * MOST):
        (tmp_path / f"m{number}.py").write_text(f"import m{number + 1}")
    assert len(modules_beside(tmp_path / "m0.py")) == MOST


@given(st.binary(max_size=200))
def test_that_any_bytes_can_be_asked_for_their_imports(code: bytes) -> None:
    assert all(level >= 0 and isinstance(name, str) for level, name in imports_in(code))


@pytest.mark.parametrize(
    ("file", "code", "package"),
    [
        ("nets/deep/train.py", "import helper", ""),
        ("nets/deep/train.py", "from ..blocks import Block", "nets.deep"),
        ("nets/deep/train.py", "from nets.blocks import Block", "nets.deep"),
        ("nets/deep/train.py", "from . import train", "nets.deep"),
        ("nets/deep/train.py", "from ..nothing import x", ""),
        ("nets/deep/train.py", "import nets.nothing", ""),
        ("nets/deep/train.py", "from ................ import x", ""),
        ("plain/train.py", "from .tool import saw", "plain"),
        ("plain/train.py", "import plain.tool", "plain"),
        ("plain/train.py", "import tool", ""),
        ("plain/train.py", "import plain", ""),
        ("with.dot/train.py", "from .tool import saw", ""),
        ("plain/train.py", "from .tool import", ""),
    ],
)
def test_that_a_file_that_imports_as_a_module_of_a_package_is_searched_from_above_it(
    folder: Path, file: str, code: str, package: str
) -> None:
    path = folder / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(code)
    (folder / "with.dot" / "tool.py").parent.mkdir(exist_ok=True)
    (folder / "with.dot" / "tool.py").touch()
    found = code_folder(path, code.encode())
    assert found == (folder if package else path.parent)
    assert package_of(path, found) == package


def test_that_modules_of_a_package_are_found_from_each_of_its_folders(folder: Path) -> None:
    path = folder / "nets" / "deep" / "train.py"
    path.write_text("from ..blocks import Block\nfrom nets.deep import more\nimport helper")
    (folder / "nets" / "deep" / "more.py").write_text("from . import last")
    (folder / "nets" / "deep" / "last.py").touch()
    found = [each.relative_to(folder).as_posix() for each in modules_beside(path)]
    assert found == [
        "nets/__init__.py",
        "nets/deep/__init__.py",
        "nets/blocks.py",
        "nets/deep/more.py",
        "helper.py",
        "nets/deep/last.py",
    ]
