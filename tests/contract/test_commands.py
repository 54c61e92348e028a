from __future__ import annotations

import time

import pytest

from gpu_studio.contract.directory import CommandReader, RunDirectory, send


@pytest.fixture
def run(tmp_path):
    return RunDirectory.create(tmp_path, "x")


def test_that_commands_arrive_once_and_in_order(run):
    reader = CommandReader(run.commands_file)
    assert reader.read() == []
    before = time.time()
    sent = [send(run, "pause"), send(run, "resume")]
    assert reader.read() == sent
    assert reader.read() == []
    sent = [send(run, "stop")]
    assert reader.read() == sent
    assert before <= sent[0].time <= time.time()
    assert run.commands_file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "line",
    [
        b'{"action":"explode"}',
        b"\xff",
        b"",
        b'{"x":' + b"[" * 100_000,
        b'{"action":"pause","time":' + b"9" * 5000 + b"}",
        b'{"action":"\xff"}',
    ],
    ids=["another", "no UTF-8", "empty", "deep", "long number", "no UTF-8 within"],
)
def test_that_what_is_no_command_is_passed_over(run, line):
    run.commands_file.write_bytes(line + b"\n")
    send(run, "checkpoint")
    assert [command.action for command in CommandReader(run.commands_file).read()] == ["checkpoint"]


def test_that_a_line_cut_by_somebody_else_does_not_swallow_the_next_command(run):
    run.commands_file.write_bytes(b'{"action":"pa')
    send(run, "stop")
    assert [command.action for command in CommandReader(run.commands_file).read()] == ["stop"]


def test_that_a_command_for_a_run_that_is_gone_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        send(RunDirectory(tmp_path / "gone"), "stop")
