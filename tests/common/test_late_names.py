"""Packages whose names are imported late give what the type checker reads in them."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from gpu_studio.common.late_names import late_names

PACKAGES = ("gpu_studio.contract", "gpu_studio.hardware", "gpu_studio.hardware.doctor")


def homes(package: str) -> Iterator[tuple[str, str]]:
    """The names that a package imports for the type checker, each after its module."""
    tree = ast.parse(Path(import_module(package).__file__ or "").read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{package}."):
            yield from ((node.module or "", each.name) for each in node.names)


@pytest.mark.parametrize("package", PACKAGES)
def test_that_each_name_is_that_of_the_module_which_the_type_checker_reads(package):
    given = import_module(package)
    assert sorted(name for _, name in homes(package)) == sorted(given.__all__)
    for module, name in homes(package):
        assert getattr(given, name) is getattr(import_module(module), name)


@pytest.mark.parametrize("package", PACKAGES)
def test_that_no_name_is_a_module_s(package):
    given = import_module(package)
    modules = {path.stem for path in Path(given.__file__ or "").parent.iterdir()}
    assert not modules & set(given.__all__)


@pytest.mark.parametrize("package", PACKAGES)
def test_that_a_name_that_is_not_given_is_missed_as_in_any_module(package):
    given = import_module(package)
    assert not hasattr(given, "annotations_of_nobody")
    with pytest.raises(ImportError, match="cannot import name 'nobody'"):
        exec(f"from {package} import nobody", {})


def test_that_the_first_module_that_has_a_name_is_asked_and_those_after_it_are_not_imported():
    program = (
        "import sys, gpu_studio.contract as contract\n"
        "assert 'gpu_studio.contract.files' not in sys.modules\n"
        "contract.read_json\n"
        "assert 'gpu_studio.contract.files' in sys.modules\n"
        "later = {'gpu_studio.contract.directory', 'gpu_studio.contract.events'}\n"
        "assert not later & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_that_a_name_is_looked_for_once():
    given = import_module("gpu_studio.contract")
    vars(given).pop("slug", None)
    found = late_names("gpu_studio.contract", ("files", "directory"))("slug")
    assert vars(given)["slug"] is found
