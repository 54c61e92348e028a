"""`gpu-studio devices`, on simulated cards."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import select
import signal
import stat
import subprocess
import sys

import pytest
from patience import PATIENCE_S
from real_runs import eventually

from gpu_studio.cli.devices import ONE_LOOK
from gpu_studio.hardware import simulated
from gpu_studio.hardware.device_rows import COLUMNS

pytestmark = pytest.mark.processes

COMMAND = [sys.executable, "-m", "gpu_studio", "devices"]


@pytest.fixture(autouse=True)
def _not_simulated_afterwards(monkeypatch):
    # `--simulate` sets it for this process: this way it is put back.
    monkeypatch.setenv(simulated.VARIABLE, "")


def test_that_a_machine_without_a_card_is_shown_with_the_reason(gpu_studio):
    answer = gpu_studio("devices")

    assert answer.code == 0
    assert "No card: " in answer.out
    assert "CPU" in answer.out
    assert re.search(r"\d / \d+\.\d GiB", answer.out)


def test_that_every_card_is_shown_and_marked_as_simulated(gpu_studio):
    answer = gpu_studio("devices", "--simulate", "8xH100")

    assert answer.code == 0
    assert "simulated: 8xH100" in answer.out
    assert answer.out.count("NVIDIA H100 80GB HBM3") == 8
    assert "train.py" in answer.out


def test_that_what_is_missing_says_why(gpu_studio):
    out = gpu_studio("--simulate", "broken", "devices").out

    for reason in (
        "lost: the driver no longer answers for it",
        "asleep: it was not woken to ask",
        "no permission",
    ):
        assert reason in out
    assert "N/A" not in out


def test_that_json_is_one_object_with_a_reason_for_each_null(gpu_studio):
    document = gpu_studio("devices", "--json", "--simulate", "broken").document

    assert document["simulated"] == "broken"
    assert document["driver"] == "570.124.06"
    assert [card["gone"] for card in document["cards"]] == [
        "", "lost: the driver no longer answers for it", "", "asleep: it was not woken to ask", "",
    ]  # fmt: skip
    for card in document["cards"]:
        assert set(card["why"]) == {
            name for name, value in card.items() if value is None and name != "index"
        }
        assert all(card["why"].values())
    assert document["cards"][2]["why"]["power_w"] == "no permission"
    assert document["host"]["memory_total_mib"] > 0
    assert document["processes"][0]["card"] == document["cards"][0]["card"]


def test_that_a_trainer_on_the_cpu_is_named_without_any_card(gpu_studio, tmp_path):
    code = "import signal; print('ready', flush=True); signal.pause()"
    words = ("gpu_studio.trainer", str(tmp_path / "20261122T080000Z-digits-ab12"))
    with subprocess.Popen(
        [sys.executable, "-S", "-c", code, *words], stdout=subprocess.PIPE
    ) as trainer:
        try:
            assert trainer.stdout is not None
            assert trainer.stdout.readline() == b"ready\n"
            out, document = gpu_studio("devices").out, gpu_studio("devices", "--json").document
        finally:
            trainer.kill()
    [told] = [each for each in document["host_processes"] if each["pid"] == trainer.pid]
    assert told["memory_mib"] > 0
    assert document["host_processes_why"] == ""
    assert re.search(rf"CPU +{trainer.pid} ", out)


def test_that_the_keys_that_the_help_tells_of_are_there(gpu_studio):
    document = gpu_studio("devices", "--json", "--simulate", "MIG").document
    told = gpu_studio("devices", "--help").out

    assert all(f"  {key}" in told or f", {key}" in told for key in document)
    assert [instance["total_mib"] for instance in document["cards"][0]["instances"]] == [
        40_192,
        19_968,
    ]


def test_that_csv_has_a_line_for_each_card_and_reasons_in_the_cells(gpu_studio):
    rows = list(
        csv.DictReader(io.StringIO(gpu_studio("devices", "--csv", "--simulate", "broken").out))
    )

    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == 5
    assert rows[0]["simulated"] == "broken"
    assert rows[1]["power_w"] == "lost: the driver no longer answers for it"
    assert int(rows[0]["memory_used_mib"]) > 0
    assert all(cell != "" for name, cell in rows[0].items() if name not in ("gone", "practice"))


@pytest.mark.parametrize(
    "arguments", [["--simulate", "H9000"], ["--json", "--csv"], ["--watch"], ["--seconds", "-1"]]
)
def test_that_what_cannot_be_is_refused_in_words(gpu_studio, arguments):
    answer = gpu_studio("devices", *arguments)

    assert answer.code == 2
    assert answer.err
    assert "Traceback" not in answer.err


@pytest.mark.parametrize("command", [["train"], ["resume", "latest"]])
def test_that_simulated_cards_are_not_trained_on(gpu_studio, runs_dir, command):
    answer = gpu_studio(*command, "--simulate", "8xH100")

    assert answer.code == 2
    assert "simulated cards cannot be trained on" in answer.err
    assert not any(runs_dir.iterdir())


def test_that_a_plan_can_be_held_against_simulated_cards(gpu_studio, tmp_path):
    path = tmp_path / "x.plan.toml"
    assert gpu_studio("starter", "--output", path, "--simulate", "4xA100").code == 0
    answer = gpu_studio("check", path, "--json", "--simulate", "4xA100")

    assert answer.code == 0
    assert [device["physical"] for device in answer.document["devices"]] == ["GPU:3", "CPU:0"]


@pytest.mark.slow
def test_that_watching_writes_an_object_a_line(gpu_studio_process):
    process = gpu_studio_process("devices", "--watch", "--json", "--simulate", "2xL4")
    documents = [json.loads(process.stdout.readline()) for _ in range(2)]
    process.send_signal(signal.SIGINT)

    assert process.wait(PATIENCE_S) == 0
    assert all(len(document["cards"]) == 2 for document in documents)


@pytest.mark.slow
def test_that_watching_ends_so_many_seconds_after_the_first_sample(gpu_studio):
    answer = gpu_studio("devices", "--watch", "--json", "--seconds", "0.1", "--simulate", "2xL4")

    assert answer.code == 0
    assert len(answer.documents) >= 1


@pytest.mark.slow
def test_that_ctrl_c_ends_a_recording_which_is_kept_and_shown_again(
    gpu_studio, gpu_studio_process, tmp_path
):
    path = tmp_path / "evening.jsonl"
    process = gpu_studio_process("devices", "--record", path, "--simulate", "2xL4")
    eventually(lambda: path.exists() and is_whole(path.read_text()), "every kind of sample")
    process.send_signal(signal.SIGINT)

    assert process.wait(PATIENCE_S) == 0
    assert all(json.loads(line)["sample"] for line in path.read_text().splitlines())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    answer = gpu_studio("devices", "--json", "--simulate", path)
    assert answer.document["simulated"] == "evening.jsonl"
    assert [card["name"] for card in answer.document["cards"]] == ["NVIDIA L4", "NVIDIA L4"]
    assert answer.document["cards"][0]["memory_used_mib"] > 0


def test_that_nothing_is_recorded_into_a_file_of_another_kind(gpu_studio, tmp_path):
    plan = tmp_path / "mine.plan.toml"
    plan.write_text("version = 1\n")
    answer = gpu_studio("devices", "--record", plan, "--seconds", "0")
    assert answer.code == 2
    assert "is there, and no recording" in answer.err
    assert plan.read_text() == "version = 1\n"


def test_that_a_recording_of_a_moment_is_shown_without_what_takes_two(
    gpu_studio, gpu_studio_process, tmp_path
):
    whole, short = tmp_path / "whole.jsonl", tmp_path / "short.jsonl"
    process = gpu_studio_process("devices", "--record", whole, "--simulate", "2xL4")
    eventually(lambda: whole.exists() and is_whole(whole.read_text()), "a recording")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE_S)
    lines = whole.read_text().splitlines(keepends=True)
    first = next(n for n, line in enumerate(lines) if line.startswith('{"sample":"host"'))
    short.write_text("".join(lines[: first + 1]))
    assert len(gpu_studio("devices", "--json", "--simulate", short).document["cards"]) == 2


def is_whole(recording: str) -> bool:
    """Whether all is there that is shown: the first sample of a CPU has nothing to compare with."""
    counts = {kind: recording.count(f'{{"sample":"{kind}"') for kind in ONE_LOOK}
    return counts.pop("host") > 1 and all(counts.values())


@pytest.mark.slow
def test_that_watching_on_a_terminal_ends_with_q():
    ours, theirs = pty.openpty()
    streams = {
        "stdin": theirs,
        "stdout": theirs,
        "stderr": theirs,
        "env": {**os.environ, "TERM": "xterm"},
    }
    process = subprocess.Popen([*COMMAND, "--watch", "--simulate", "L4"], **streams)
    shown = b""
    try:
        while b"NVIDIA L4" not in shown:
            shown += _typed_out(ours)
        os.write(ours, b"q")
        while process.poll() is None:
            _typed_out(ours, 0.1)
        assert process.returncode == 0
        assert b"simulated: L4" in shown
    finally:
        process.kill()
        process.wait(PATIENCE_S)
        os.close(theirs)
        os.close(ours)


def _typed_out(terminal, patience=PATIENCE_S):
    """What the program writes next; nothing if `patience` is short and it writes nothing."""
    ready = select.select([terminal], [], [], patience)[0]
    assert ready or patience < 1, "nothing was written"
    return os.read(terminal, 65536) if ready else b""
