"""What is written for a terminal: nothing of it can command the terminal."""

from __future__ import annotations

import io
import json
import os
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import Script, make_run, tell
from patience import PATIENCE_S
from rich.live import Live
from rich.table import Table
from rich.text import Text

from gpu_studio.cli import command
from gpu_studio.cli.command import escaped, json_text
from gpu_studio.cli.escaping_console import EscapingConsole
from gpu_studio.cli.sinks import ending_of
from gpu_studio.contract import RunDirectory
from gpu_studio.contract.events import Epoch, Finished
from gpu_studio.runs.diagnosis import Explanation
from gpu_studio.runs.lineage import events_of
from gpu_studio.runs.paths import run_command
from gpu_studio.runs.reading.history import History

EVIL = "a\x1b]0;title\x07b\x9bc\u202ed\u2066e"
ANYTHING = st.text(st.characters(codec=None))


def commands_in(text: str) -> list[str]:
    unsafe = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    return [
        letter for letter in text if unicodedata.category(letter) in unsafe and letter not in "\n\t"
    ]


@given(ANYTHING)
def test_that_no_text_commands_a_terminal(text):
    assert commands_in(escaped(text)) == []


@pytest.mark.parametrize(
    "text",
    ["", "loss 1,234.5 µs × 3 – “digits”…", "日本語 😀 é", "a\n\tb", "no\u202fbreak\u00a0space"],
)
def test_that_what_can_be_read_stays_as_it_is(text):
    assert escaped(text) == text


@given(st.dictionaries(ANYTHING, ANYTHING))
def test_that_json_is_the_same_document_and_commands_no_terminal(document):
    for indent in (None, 2):
        text = json_text(document, indent=indent)
        assert json.loads(text) == document
        assert commands_in(text.replace("\\t", "")) == []
        assert "\t" not in text


def test_that_json_has_null_for_numbers_that_it_does_not_know():
    odd = {"a": float("inf"), "b": [float("nan"), -float("inf"), (1.5,)], "c": {"d": 2}}
    for indent in (None, 2):
        read = json.loads(json_text(odd, indent=indent), parse_constant=pytest.fail)
        assert read == {"a": None, "b": [None, None, [1.5]], "c": {"d": 2}}


def test_that_a_table_and_a_display_are_drawn_without_commands_of_their_texts():
    file = io.StringIO()
    console = EscapingConsole(
        escaped, file=file, width=120, force_terminal=False, highlight=False, markup=False
    )
    table = Table(EVIL)
    table.add_row(EVIL, Text(EVIL))
    console.print(table)
    console.print(f"[bold]{EVIL}[/]")
    with Live(console=console, auto_refresh=False) as live:
        live.update(Text(EVIL), refresh=True)
    assert commands_in(file.getvalue()) == []
    assert "[bold]a\\x1b]0;titleb\\x9bc\\u202ed\\u2066e[/]" in file.getvalue()


def test_that_the_console_still_draws_with_colours_on_a_terminal():
    file = io.StringIO()
    console = EscapingConsole(
        escaped, file=file, width=80, force_terminal=True, color_system="standard"
    )
    console.print(Text("red\x1b[0m", "red"))
    assert file.getvalue() == "\x1b[31mred\\x1b[0m\x1b[0m\n"


def test_that_a_run_of_a_strangers_cannot_command_the_terminal(gpu_studio, runs_dir):
    run = make_run(runs_dir, Script(trained=1, name="fine"))
    tell(run, Epoch(epoch=2, step=400, metrics={EVIL: 1.0}, seconds=1.0, samples_per_second=1.0))
    for words in (
        ["runs", "show", run.id],
        ["runs", "show", run.id, "--json"],
        ["runs", "list", "--json"],
        ["runs", "compare", run.id, run.id],
        ["runs", "export", run.id, "--format", "csv", "--what", "epochs"],
        ["runs", "export", run.id, "--format", "json"],
        ["runs", "show", EVIL],
        ["check", f"/no/{EVIL}"],
    ):
        answer = gpu_studio(*words)
        assert commands_in(answer.out + answer.err) == [], words
    assert "\\x1b]0;title" in gpu_studio("runs", "show", run.id).out


def test_that_a_refusal_nobody_can_be_told_is_still_a_refusal(gpu_studio, monkeypatch):
    class Full(io.StringIO):
        def write(self, _text):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "stderr", Full())
    assert gpu_studio("runs", "show", "none").code == 2


def test_that_streams_which_the_shell_closed_do_not_stop_a_command(gpu_studio_process):
    for words, closed, code in (
        (["runs", "list"], (0, 1, 2), 0),
        (["runs", "show", "none"], (1, 2), 2),
    ):
        process = gpu_studio_process(
            *words,
            stdin=None,
            stdout=None,
            stderr=None,
            preexec_fn=lambda closed=closed: close(closed),
        )
        assert process.wait(PATIENCE_S) == code


def close(descriptors):
    for descriptor in descriptors:
        os.close(descriptor)


def test_that_a_locale_without_the_letters_gets_them_as_escapes(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    command.make_streams_whole()
    command.say("3 × 4 µs \udcff")
    assert raw.getvalue() == b"3 \\xd7 4 \\xb5s \\udcff\n"


@pytest.mark.parametrize(("elapsed", "said"), [(17.2, "17 s"), (0.0, "11 s")])
def test_that_the_end_of_a_run_tells_the_time_that_the_list_of_runs_tells(
    tmp_path: Path, elapsed: float, said: str
) -> None:
    end = Finished(reason="completed", seconds=11.2, epoch=2, step=46, elapsed=elapsed)
    history = History()
    history.apply_all([end])
    assert (
        next(iter(ending_of(RunDirectory(tmp_path / "run"), history, Explanation(""))))
        == f"finished after {said}"
    )


@pytest.mark.parametrize(("trained", "said"), [(2, "resume"), (3, "runs evaluate")])
def test_that_a_run_stopped_in_its_last_test_is_to_be_tested_and_not_resumed(
    tmp_path: Path, trained: int, said: str
) -> None:
    run = make_run(tmp_path, Script(epochs=3, trained=trained, steps=20, ending="stopped"))
    history = History()
    history.apply_all(events_of(run))
    *_, advice = ending_of(run, history, Explanation(""))
    assert advice.partition(": ")[2] == run_command(said, run.path)


def test_that_no_text_of_a_strangers_fills_the_terminal_and_what_programs_read_stays_whole(capsys):
    long = "x" * 100_000
    command.say(long)
    command.say_table([("NAME", "N"), (long, "1")])
    command.note("\n".join([long] * 1_000))
    said = capsys.readouterr()
    assert len(said.out) < 3_000
    assert len(said.err) < 500_000
    command.say_whole(long)
    command.say_json([long])
    assert capsys.readouterr().out.count("x") == 200_000
