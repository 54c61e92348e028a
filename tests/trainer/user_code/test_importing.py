"""A user's code imports from its own folder only what its user allowed, and it is recorded."""

from __future__ import annotations

import importlib.util
import os
import py_compile
import sys
import textwrap
import zipfile
from pathlib import Path

import numpy as np
import pytest
from written_code import Written

from gpu_studio.contract import consent
from gpu_studio.plan import Data, ModelSettings, Plan
from gpu_studio.trainer.errors import UserCodeError
from gpu_studio.trainer.user_code import codes_imported_by_name, codes_of, digest_of_part, give
from gpu_studio.trainer.user_code.admission import OwnFolders

HELPER = "UNITS = 1\n"
HOSTILE = "from pathlib import Path\nPath(__file__).with_name('ran').touch()\nUNITS = 2\n"


def made(path: Path) -> object:
    return give("model", f"{path}:build", {}, {}, Path())[1]


def plan_of(path: Path) -> Plan:
    return Plan(model=ModelSettings(python=f"{path}:build"), data=Data(name="digits"))


def test_that_a_module_beside_an_allowed_file_runs_once_it_is_allowed_too(written: Written) -> None:
    own = written("import helper_a\ndef build(): return helper_a.UNITS\n")
    helper = written(HOSTILE, "helper_a.py", allowed=False)
    with pytest.raises(
        UserCodeError, match=r"helper_a\.py has not been allowed, so nothing of it was run"
    ):
        made(own)
    assert not helper.with_name("ran").exists()
    consent.allow_file(helper, helper.read_bytes())
    assert made(own) == 2


def test_that_a_module_that_has_changed_is_asked_about_before_anything_runs(
    written: Written,
) -> None:
    own = written("import helper_b\ndef build(): return helper_b.UNITS\n")
    helper = written(HELPER, "helper_b.py")
    helper.write_text(HOSTILE)
    with pytest.raises(
        UserCodeError, match=r"helper_b\.py has changed since it was allowed"
    ) as refused:
        codes_of(plan_of(own), Path())
    assert refused.value.suggestions == (
        f"Read it, then allow it with: gpu-studio code allow {helper}",
    )
    with pytest.raises(UserCodeError, match="has changed"):
        made(own)
    assert not helper.with_name("ran").exists()


def test_that_modules_are_recorded_with_what_they_held(written: Written) -> None:
    own = written("import nets_c.blocks\ndef build(): return nets_c.blocks.UNITS\n")
    files = [written("", "nets_c/__init__.py"), written(HELPER, "nets_c/blocks.py")]
    assert made(own) == 1
    told = codes_of(plan_of(own), Path())
    assert [(code.part, code.file, code.function) for code in told] == [
        ("model", str(own), "build"),
        *(("model", str(file), "") for file in files),
    ]
    assert [code.sha256 for code in told[1:]] == [
        consent.digest(file.read_bytes()) for file in files
    ]
    assert codes_imported_by_name(plan_of(own), Path()) == []


def test_that_a_module_that_no_reading_finds_is_asked_about_when_it_is_imported(
    written: Written,
) -> None:
    own = written(
        "import importlib\ndef build(): return importlib.import_module('helper' + '_d').UNITS\n"
    )
    helper = written(HOSTILE, "helper_d.py", allowed=False)
    assert len(codes_of(plan_of(own), Path())) == 1
    with pytest.raises(UserCodeError, match=r"helper_d\.py has not been allowed"):
        made(own)
    assert not helper.with_name("ran").exists()
    consent.allow_file(helper, helper.read_bytes())
    assert made(own) == 2
    assert [
        (code.file, code.function) for code in codes_imported_by_name(plan_of(own), Path())
    ] == [(str(helper), "")]


def test_that_what_a_folder_holds_may_run_where_the_folder_is_allowed(
    written: Written, tmp_path: Path
) -> None:
    own = written("import helper_e\ndef build(): return helper_e.UNITS\n", allowed=False)
    written(HELPER, "helper_e.py", allowed=False)
    consent.allow_folder(tmp_path)
    assert made(own) == 1


def test_that_byte_code_which_lies_about_its_source_does_not_run(
    written: Written, tmp_path: Path
) -> None:
    own = written("import helper_f\ndef build(): return helper_f.UNITS\n")
    helper = written(HELPER, "helper_f.py")
    liar = tmp_path / "liar.py"
    liar.write_text(HOSTILE)
    cached = Path(importlib.util.cache_from_source(str(helper)))
    py_compile.compile(
        str(liar), str(cached), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
    )
    assert made(own) == 1
    assert not helper.with_name("ran").exists()


WAYS = {
    "a folder below, put on the path": (
        "import sys\nsys.path.insert(0, {folder!r} + '/lib')\nimport {name}"
    ),
    "the path of the file": (
        "import importlib.util as u\n"
        "spec = u.spec_from_file_location({name!r}, {folder!r} + '/lib/{name}.py')\n"
        "{name} = u.module_from_spec(spec)\n"
        "spec.loader.exec_module({name})"
    ),
    "runpy": (
        "import runpy, types\n{name} = types.SimpleNamespace(**runpy.run_path('lib/{name}.py'))"
    ),
    "exec": (
        "import types\nfrom pathlib import Path\n"
        "file = Path('lib/{name}.py')\n"
        "{name} = types.ModuleType({name!r})\n"
        "{name}.__file__ = str(file)\n"
        "exec(compile(file.read_bytes(), file, 'exec'), vars({name}))"
    ),
    "a package of its own making": (
        "import sys, types\nmade = types.ModuleType('made_up')\nmade.__path__ = ['lib']\n"
        "sys.modules['made_up'] = made\nfrom made_up import {name}"
    ),
    "no finder of ours": (
        "import sys\nsys.path.insert(0, {folder!r} + '/lib')\n"
        "sys.meta_path[:] = ["
        "each for each in sys.meta_path if type(each).__name__ != 'OwnModules']\n"
        "import {name}"
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_that_a_file_of_the_folder_is_asked_about_however_it_comes_to_run(
    way: str, written: Written, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    name = f"helper_way_{list(WAYS).index(way)}"
    code = WAYS[way].format(name=name, folder=str(tmp_path))
    own = written(f"def build():\n{textwrap.indent(code, '    ')}\n    return {name}.UNITS\n")
    helper = written(HOSTILE, f"lib/{name}.py", allowed=False)
    with pytest.raises(
        UserCodeError, match=rf"{name}\.py has not been allowed, so nothing of it was run"
    ):
        made(own)
    assert not helper.with_name("ran").exists()
    consent.allow_file(helper, helper.read_bytes())
    assert made(own) == 2
    assert str(helper) in [code.file for code in codes_imported_by_name(plan_of(own), Path())]


@pytest.mark.parametrize(
    "name", ["helper_bytes.pyc", "helper_bytes/__init__.pyc", "helper_bytes.zip"]
)
def test_that_a_module_without_a_source_to_read_does_not_run(
    name: str, written: Written, tmp_path: Path
) -> None:
    archived = tmp_path / "helper_bytes.zip"
    own = written(
        f"import sys\nsys.path.insert(0, '{archived}')\nimport "
        "helper_bytes\ndef build(): return 1\n"
    )
    source = written(HOSTILE, "elsewhere/helper_bytes.py", allowed=False)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    if name.endswith(".zip"):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.write(source, "helper_bytes.py")
    else:
        py_compile.compile(str(source), str(tmp_path / name), doraise=True)
    with pytest.raises(
        UserCodeError, match="which is no Python source that a person can read and allow"
    ):
        made(own)
    assert not list(tmp_path.rglob("ran"))


def test_that_byte_code_of_a_file_loaded_by_its_path_is_not_used(
    written: Written, tmp_path: Path
) -> None:
    way = WAYS["the path of the file"].format(name="helper_stale", folder=str(tmp_path))
    own = written(f"{way}\ndef build(): return helper_stale.UNITS\n")
    helper = written(HELPER, "lib/helper_stale.py")
    liar = written(HOSTILE, "liar.py", allowed=False)
    cached = importlib.util.cache_from_source(str(helper))
    py_compile.compile(
        str(liar), cached, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
    )
    assert made(own) == 1


def test_that_a_link_to_a_module_elsewhere_is_asked_about_and_recorded(
    written: Written, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere" / "module.py"
    elsewhere.parent.mkdir()
    elsewhere.write_text(HOSTILE)
    own = written(
        "import importlib\ndef build(): return importlib.import_module('linked' + '_in').UNITS\n",
        "a/own.py",
    )
    own.with_name("linked_in.py").symlink_to(elsewhere)
    with pytest.raises(UserCodeError, match="has not been allowed"):
        made(own)
    consent.allow_file(elsewhere, elsewhere.read_bytes())
    assert made(own) == 2
    assert [code.file for code in codes_imported_by_name(plan_of(own), Path())] == [str(elsewhere)]


def test_that_a_virtual_environment_below_the_folder_that_is_a_link_is_installed(
    tmp_path: Path, monkeypatch
) -> None:
    (tmp_path / "plans").mkdir()
    (tmp_path / "environments" / "lib").mkdir(parents=True)
    (tmp_path / "plans" / "venv").symlink_to(tmp_path / "environments")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "plans" / "venv" / "lib")])
    folders = OwnFolders()
    folders.add(tmp_path / "plans")
    assert not folders.hold(tmp_path / "plans" / "venv" / "lib" / "module.py")
    assert folders.hold(tmp_path / "plans" / "module.py")


def test_that_python_itself_is_not_asked_about_where_it_stands_below_the_folder() -> None:
    library = Path(os.__file__).parent
    folders = OwnFolders()
    folders.add(library.parent)
    assert not folders.hold(library / "colorsys.py")
    assert folders.hold(library.with_name("models.py"))


def test_that_what_is_installed_elsewhere_is_imported_as_ever(
    written: Written, tmp_path: Path, monkeypatch
) -> None:
    installed = tmp_path / "venv" / "site-packages"
    written(HELPER, "venv/site-packages/helper_g/__init__.py", allowed=False)
    monkeypatch.setattr(sys, "path", [*sys.path, os.fspath(installed)])
    own = written("import helper_g, colorsys\ndef build(): return helper_g.UNITS\n")
    assert made(own) == 1


def test_that_a_change_of_a_module_is_a_change_of_the_part(written: Written, monkeypatch) -> None:
    own = written("import helper_h\ndef build(): return helper_h.UNITS\n")
    alone = written("def build(): return 1\n", "alone.py")
    written(HELPER, "helper_h.py")
    assert digest_of_part(plan_of(alone), "model") == consent.digest(alone.read_bytes())
    assert digest_of_part(plan_of(own), "model") not in (None, consent.digest(own.read_bytes()))
    assert digest_of_part(plan_of(own), "data") is None


def test_that_code_edited_while_it_runs_changes_nothing_of_what_is_told_of_the_run(
    written: Written,
) -> None:
    own = written("import helper_i\ndef build(): return helper_i.UNITS\n")
    written(HELPER, "helper_i.py")
    before, digest = codes_of(plan_of(own), Path()), digest_of_part(plan_of(own), "model")
    assert made(own) == 1
    own.write_text("import helper_i, helper_new\n")
    written(HELPER, "helper_new.py", allowed=False)
    assert codes_of(plan_of(own), Path()) == before
    assert digest_of_part(plan_of(own), "model") == digest
    assert codes_imported_by_name(plan_of(own), Path()) == []


LATE = """
import importlib
import keras

class Late(keras.layers.Layer):
    def call(self, x):
        importlib.import_module('helper' + '_late')
        return x

def build(): return Late()
"""


@pytest.mark.slow
def test_that_a_refusal_in_a_layer_is_told_as_it_is_and_not_as_keras_would_tell_it(
    written: Written,
) -> None:
    layer = made(written(LATE))
    helper = written(HOSTILE, "helper_late.py", allowed=False)
    with pytest.raises(UserCodeError) as refused:
        layer(np.zeros((1, 2)))
    assert refused.value.message == "helper_late.py has not been allowed, so nothing of it was run."
    assert refused.value.suggestions == (
        f"Read it, then allow it with: gpu-studio code allow {helper}",
    )
    assert not helper.with_name("ran").exists()
