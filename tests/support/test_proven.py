"""What was proven is trained again as soon as anything of it is another one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from proven import STORE, Proof, program


@pytest.fixture
def proved(tmp_path: Path) -> Path:
    """A store that knows a proof of two scripts, and of the file of their test."""
    (tmp_path / "test_scripts.py").write_text("def test_it(): ...")
    proof = Proof("a", tmp_path / "test_scripts.py", tmp_path / "proven.json", recording=True)
    assert not proof.holds(["one()", f'exec "{tmp_path}/two"'], tmp_path, "proven")
    proof.keep()
    return tmp_path


def holds(folder: Path, *scripts: str, name: str = "a", beside: str = "proven") -> bool:
    proof = Proof(name, folder / "test_scripts.py", folder / "proven.json", whole=False)
    return proof.holds(scripts, folder, beside)


def test_that_the_same_texts_hold_in_any_folder(proved: Path, tmp_path: Path) -> None:
    assert holds(proved, "one()", f'exec "{proved}/two"')
    other = tmp_path / "other" / "and deeper"
    other.mkdir(parents=True)
    for name in ("test_scripts.py", "proven.json"):
        (other / name).write_bytes((proved / name).read_bytes())
    assert holds(other, "one()", f'exec "{other}/two"')


def test_that_a_program_is_the_same_however_its_lines_are_broken(tmp_path: Path) -> None:
    short = program(f'read("{tmp_path}/a.npz", 1)\n', tmp_path)
    assert short == program(f'read(\n    "{tmp_path}/a.npz",\n    1,\n)  # so\n', tmp_path)
    assert short == program('read("/else/where/a.npz", 1)', Path("/else/where"))
    assert short != program(f'read("{tmp_path}/a.npz", 2)\n', tmp_path)


def test_that_whatever_is_another_one_does_not_hold(
    proved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = f'exec "{proved}/two"'
    assert holds(proved, "one()", two)
    assert not holds(proved, "one()", two, name="b")
    assert not holds(proved, "one(2)", two)
    assert not holds(proved, "one()", two + " ")
    assert not holds(proved, "one()")
    assert not holds(proved, two, "one()")
    assert not holds(proved, "one()", two, beside="zoo_facts")
    with monkeypatch.context() as changed:
        changed.setattr("proven.version", lambda package: "0.1")
        assert not holds(proved, "one()", two)
    (proved / "test_scripts.py").write_text("def test_it(): assert True")
    assert not holds(proved, "one()", two)


def test_that_what_failed_or_was_not_asked_for_is_not_kept(proved: Path) -> None:
    proof = Proof("b", proved / "test_scripts.py", proved / "proven.json", recording=False)
    assert not proof.holds(["one"], proved)
    proof.keep()
    assert not holds(proved, "one", name="b")
    again = Proof("a", proved / "test_scripts.py", proved / "proven.json", whole=True)
    assert not again.holds(["one()", f'exec "{proved}/two"'], proved, "proven"), "all is trained"


def test_that_a_test_tells_whether_it_was_spared_the_training(proved: Path) -> None:
    proof = Proof("a", proved / "test_scripts.py", proved / "proven.json", whole=False)
    assert proof.holds(["one()", f'exec "{proved}/two"'], proved, "proven")
    assert proof.spared
    proof.keep()  # one that trains each time
    assert not proof.spared
    assert not proof.holds(["two()"], proved)
    assert not proof.spared


def test_that_each_kept_proof_is_of_a_test_that_there_is() -> None:
    for name in json.loads(STORE.read_text()):
        file, test = name.partition("[")[0].split("::")
        assert f"def {test}(" in (STORE.parent / file).read_text(), name
