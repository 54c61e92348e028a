"""What a Python file of a user's own imports from its folder, read from its text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.plan.local_modules import MOST, imports_in, modules_beside


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
