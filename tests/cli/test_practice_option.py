"""`--practice`, on every command: cards that are not there, and can be trained on."""

from __future__ import annotations

import fcntl
import os
import struct
from pathlib import Path

import pytest

from gpu_studio.common.practice import CARDS_FILE, PRACTICE, STATE, PracticeCards, identity
from gpu_studio.hardware import practice
from gpu_studio.hardware.source import SIMULATE

pytestmark = pytest.mark.processes
CARVED = """
version = 1
[devices]
carve = [{ device = "GPU:0", slices_mib = [1024, 1024, 1024, 1024] }]
[model]
name = "mlp"
[data]
name = "digits"
"""


@pytest.fixture
def library(monkeypatch, tmp_path):
    """Where a library stands that is never loaded; the variables are put back afterwards."""
    folder = tmp_path / "library"
    folder.mkdir()
    (folder / CARDS_FILE).touch()
    for name in practice.environment(PracticeCards(1, 4096), folder, tmp_path):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv(SIMULATE, "")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(practice, "build", lambda: folder)
    monkeypatch.setattr(practice, "built", lambda: folder)
    return folder


def test_that_practice_cards_are_listed_with_their_memory_and_with_nothing_invented(
    gpu_studio, library
):
    document = gpu_studio("devices", "--json", "--practice", "4x2GiB").document

    assert (document["practice"], document["simulated"]) == ("4 × 2 GiB", "")
    assert [card["uuid"] for card in document["cards"]] == [identity(n)[0] for n in range(4)]
    for card in document["cards"]:
        assert (card["total_mib"], card["memory_used_mib"]) == (2048, 0)
        told = {name for name, value in card.items() if value not in (None, "", [])}
        assert not told & {"utilisation_percent", "power_w", "temperature_c", "clock_sm_mhz"}
        assert {"power_w", "temperature_c", "utilisation_percent"} <= set(card["why"])


def test_that_the_memory_of_a_practice_card_is_what_live_processes_noted(gpu_studio, library):
    assert "practice: 1 × 4 GiB" in gpu_studio("devices", "--practice", "1x4GiB").out
    mine, dead = (Path(os.environ[STATE], f"0.{pid}") for pid in (os.getpid(), 4_999_999))
    for path in (mine, dead):
        path.write_bytes(struct.pack("=qq", 512 << 20, 0))
    with mine.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        found = gpu_studio("devices", "--json").document

    assert found["cards"][0]["memory_used_mib"] == 512
    assert [(each["pid"], each["memory_mib"]) for each in found["processes"]] == [
        (os.getpid(), 512)
    ]


def test_that_a_practice_card_is_carved_to_its_last_mib(gpu_studio, library, tmp_path):
    path = tmp_path / "x.plan.toml"
    path.write_text(CARVED)
    answer = gpu_studio("check", path, "--practice", "1x4GiB")

    assert answer.code == 0
    assert answer.out.count("1 GiB") == 4
    assert "GPU:3" in answer.out


def test_that_the_variable_means_the_same_as_the_option(gpu_studio, library, monkeypatch):
    monkeypatch.setenv(PRACTICE, "2 × 512 MiB")
    document = gpu_studio("devices", "--json").document

    assert document["practice"] == "2 × 512 MiB"
    assert os.environ[PRACTICE] == "2x512MiB"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--practice", "4", "devices"], "write 4x2GiB for four of 2 GiB"),
        (["devices", "--practice", "40x2GiB"], "choose 1 to 16"),
        (["--practice", "1x4GiB", "--simulate", "H100", "train"], "either simulated or for pract"),
    ],
)
def test_that_what_cannot_be_practised_with_is_refused_in_words(
    gpu_studio, library, arguments, said
):
    answer = gpu_studio(*arguments)

    assert answer.code == 2
    assert said in answer.err


def test_that_without_a_compiler_the_command_says_what_to_install(
    gpu_studio, library, monkeypatch, tmp_path
):
    monkeypatch.undo()
    for name in practice.environment(PracticeCards(1, 4096), library, tmp_path):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    answer = gpu_studio("devices", "--practice", "1x4GiB")

    assert answer.code == 2
    assert "apt-get install g++" in answer.err


def test_that_the_help_tells_simulated_cards_from_practice_cards_without_compiling(
    gpu_studio, monkeypatch
):
    monkeypatch.setattr(practice, "build", None)
    told = gpu_studio("--practice", "1x4GiB", "--help").out

    assert "to look at only" in told
    assert "to train on, too" in told
