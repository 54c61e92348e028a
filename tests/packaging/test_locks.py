"""The files of locked requirements."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ("runtime", "dev", "cuda")
PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+?)( ; [^\\]+)? \\$", re.MULTILINE)


def entries(lock: str) -> list[str]:
    """Each requirement with the lines of its hashes."""
    text = (ROOT / "packaging" / "locks" / f"{lock}.txt").read_text()
    return re.split(r"\n(?=\S)", text.strip())


def pins(lock: str) -> set[tuple[str, str, str]]:
    return {
        (name, version, marker)
        for entry in entries(lock)
        for name, version, marker in PIN.findall(entry + "\n")
    }


def names(lock: str) -> set[str]:
    return {name for name, _, _ in pins(lock)}


@pytest.fixture(scope="module")
def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.mark.parametrize("lock", LOCKS)
def test_that_every_requirement_is_one_version_with_hashes(lock):
    assert all(PIN.match(entry) and "--hash=sha256:" in entry for entry in entries(lock))


@pytest.mark.parametrize("lock", ["dev", "cuda"])
def test_that_a_larger_lock_holds_the_smaller_at_the_same_versions(lock):
    assert pins("runtime") <= pins(lock)


def test_that_the_locks_hold_all_that_the_project_asks_for_directly(project):
    build = project["build-system"]["requires"]
    for text in (*project["project"]["dependencies"], *build):
        requirement = Requirement(text)
        versions = [
            version
            for name, version, _ in pins("runtime")
            if name == canonicalize_name(requirement.name)
        ]
        assert versions, f"{text} is not in the lock: make lock"
        assert all(requirement.specifier.contains(version) for version in versions)


def test_that_the_lock_of_the_developers_holds_their_tools(project):
    tools = [
        Requirement(text) for text in project["dependency-groups"]["dev"] if isinstance(text, str)
    ]
    assert {canonicalize_name(tool.name) for tool in tools} <= names("dev")


def test_that_only_the_cuda_lock_brings_cuda():
    assert any(name.startswith("nvidia-cudnn") for name in names("cuda"))
    assert not any(
        name.startswith(("nvidia-cu", "nvidia-nccl")) for name in names("runtime") | names("dev")
    )
