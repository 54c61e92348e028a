"""Which Python the environment is made with."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "packaging" / "setup" / "find-python.sh"
# Answers the two questions that are asked: its version, and whether it can make environments.
PYTHON = '#!/bin/sh\ncase "$2" in *version_info*) echo {minor};; *ensurepip*) exit {lacks};; esac\n'
SHIM = "#!/bin/sh\necho 'pyenv: no such version' >&2\nexit 127\n"


@pytest.fixture
def find(tmp_path):
    """Run the script where these Pythons are.

    Name → (minor version, whether it lacks ensurepip), None a dead shim.
    """

    def run(
        pythons: dict[str, tuple[int | str, int] | None], **environment: str
    ) -> subprocess.CompletedProcess[str]:
        for name, what in pythons.items():
            path = tmp_path / name
            path.write_text(SHIM if what is None else PYTHON.format(minor=what[0], lacks=what[1]))
            path.chmod(0o755)
        return subprocess.run(
            ["/bin/sh", SCRIPT],
            env={"PATH": str(tmp_path), **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.parametrize("name", ["python3.11", "python3.12", "python3.13", "python3"])
def test_that_a_python_that_suits_is_found(find, name, tmp_path):
    found = find({name: (12, 0)})
    assert (found.returncode, found.stdout) == (0, f"{tmp_path}/{name}\n")


def test_that_one_that_can_make_environments_comes_first(find, tmp_path):
    assert find({"python3.11": (11, 1), "python3.12": (12, 0)}).stdout == f"{tmp_path}/python3.12\n"


def test_that_one_that_cannot_is_better_than_none(find, tmp_path):
    assert find({"python3.11": (11, 1)}).stdout == f"{tmp_path}/python3.11\n"


def test_that_a_shim_without_a_python_behind_it_is_passed_over(find, tmp_path):
    assert find({"python3.11": None, "python3": (13, 0)}).stdout == f"{tmp_path}/python3\n"


@pytest.mark.parametrize("minor", [10, 14, "''"])
def test_that_an_older_or_newer_python_is_refused_in_a_sentence(find, minor):
    refused = find({"python3": (minor, 0)})
    assert refused.returncode == 1
    assert "there is no Python here that it can use" in refused.stderr
    assert "Python 3.11 to 3.13" in refused.stderr


def test_that_a_python_named_by_hand_is_the_only_candidate(find, tmp_path):
    pythons = {"python3.11": (11, 0), "mine": (13, 0)}
    assert find(pythons, PYTHON="mine").stdout == f"{tmp_path}/mine\n"
    refused = find({**pythons, "mine": (9, 0)}, PYTHON="mine")
    assert refused.returncode == 1
    assert "PYTHON=mine is not a Python that it can use" in refused.stderr
