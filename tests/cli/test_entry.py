from __future__ import annotations

import argparse
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from made_runs import Script, make_run
from patience import PATIENCE_S

from gpu_studio import __version__
from gpu_studio.cli import entry, main, window, without_terminal
from gpu_studio.common import figures
from gpu_studio.common.choices import settings_path
from gpu_studio.hardware.simulated import VARIABLE
from gpu_studio.runs.catalogue import Catalogue
from gpu_studio.runs.launch import trainer_environment

COMMANDS = [
    [], ["check"], ["starter"], ["train"], ["resume"], ["runs"], ["devices"], ["doctor"],
    *(["runs", action] for action in ("list", "show", "attach", "pause", "resume", "stop",
                                      "checkpoint", "delete", "restore", "log")),
]  # fmt: skip

WORKING = [
    ["export"], ["model"], ["place"], ["queue"], ["code"], ["queue", "add"], ["code", "allow"],
    ["desktop"], ["desktop", "install"], ["desktop", "remove"],
    *(["runs", action] for action in ("compare", "report", "tag", "evaluate", "save-model",
                                      "placement")),
]  # fmt: skip


@pytest.fixture(autouse=True)
def in_a_terminal(monkeypatch):
    """As from a terminal: without one, a window that cannot be opened says so on the desktop."""
    monkeypatch.setattr(without_terminal, "has_terminal", lambda: True)


@pytest.fixture
def headless(monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")


@pytest.fixture
def opened(monkeypatch):
    """What the window was opened with."""
    calls = []
    monkeypatch.setenv("DISPLAY", ":7")
    monkeypatch.setitem(
        sys.modules,
        "gpu_studio.ui.window.app",
        SimpleNamespace(run=lambda **options: calls.append(options) or 7),
    )
    return calls


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_that_every_command_has_help_with_an_example(gpu_studio, command):
    answer = gpu_studio(*command, "--help")
    assert answer.code == 0
    assert "example" in answer.out
    assert "gpu-studio " + " ".join(command) in answer.out


def test_that_the_version_is_that_of_the_package(gpu_studio):
    assert gpu_studio("--version").out == f"gpu-studio {__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        "nonsense",
        "runs show",
        "train --no-such",
        "runs stop x --patience -1",
        "runs log x --tail -1",
        "runs log x --tail 100000000000000000000",
        "a.toml b.toml",
    ],
)
def test_that_wrong_arguments_are_refused_with_2(gpu_studio, arguments):
    answer = gpu_studio(*arguments.split())
    assert answer.code == 2
    assert answer.err.startswith("usage: gpu-studio")


@pytest.mark.parametrize(
    "arguments",
    [
        ("export", "x.plan.toml", "--to=--"),
        ("runs", "note", "x", "-m=--"),
        ("runs", "note", "x", "-m--"),
        ("train", "--name=--"),
        ("devices", "--simulate=--"),
        ("runs", "show", "9" * 5000),
        ("runs", "restore", "9" * 5000),
        ("runs", "show", "#" + "9" * 5000),
        ("study", "new", "sweep", "--to="),
        ("study", "new", "sweep", "--to=/"),
    ],
)
def test_that_a_value_that_is_none_is_refused_without_a_traceback(gpu_studio, runs_dir, arguments):
    make_run(runs_dir, Script(name="x", epochs=1, steps=6, trained=1, ending="completed"))
    Catalogue(runs_dir).summaries()
    answer = gpu_studio("--runs-dir", runs_dir, *arguments)
    assert answer.code == 2
    assert answer.err.startswith("gpu-studio: ")


@pytest.mark.parametrize("job", ["\x1b]0;PWN\x07", "\u202eabc"])
def test_that_what_is_said_of_a_wrong_argument_commands_no_terminal(gpu_studio, job):
    answer = gpu_studio("cluster", "follow", job)
    assert answer.code == 2
    assert job not in answer.err
    assert "is no number of a job" in answer.err


def test_that_an_unknown_option_is_refused_with_the_usage_of_the_command_it_was_given_to(
    gpu_studio,
):
    answer = gpu_studio("runs", "list", "--state", "running")
    assert answer.code == 2
    assert answer.err.startswith("usage: gpu-studio runs list")
    assert answer.err.endswith("unrecognized arguments: --state running\n")
    assert gpu_studio("--state").err.startswith("usage: gpu-studio [-h]")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("train a.plan.toml --epochs 3", "--set training.epochs=3\n"),
        (
            "train a.py --batch-size=8 learning_rate=0.1",
            "--set training.batch_size=8 training.learning_rate=0.1\n",
        ),
        (
            "model a.py -- --epochs 3 --rows 5",
            "--set "
            + " ".join(
                f"""'{part}.options.arguments=["--epochs", "3", "--rows", "5"]'"""
                for part in ("model", "data")
            )
            + "\n",
        ),
        ("train a.plan.toml --rows 5", "unrecognized arguments: --rows 5\n"),
        ("train a.plan.toml --epochs", "unrecognized arguments: --epochs\n"),
    ],
)
def test_that_words_for_a_plan_or_its_script_are_told_as_the_command_takes_them(
    gpu_studio, words, told
):
    answer = gpu_studio(*words.split())
    assert (answer.code, answer.err.endswith(told)) == (2, True), answer.err


@pytest.mark.parametrize("command", ["train", "queue add"])
def test_that_a_folder_in_which_no_run_can_be_kept_is_told_with_what_to_do(
    gpu_studio, plan_file, machine, tmp_path, command
):
    taken = tmp_path / "taken"
    taken.write_text("a file")
    answer = gpu_studio(*command.split(), plan_file, "--runs-dir", taken)
    assert answer.code == 2
    assert answer.err.startswith(f"gpu-studio: Nothing can be kept in {taken}: Not a directory. ")
    assert answer.err.endswith("Name another folder with --runs-dir.\n")


INTERRUPTED_WHILE_IMPORTED = """
import signal, sys

class PressesCtrlC:
    def find_spec(self, name, path=None, target=None):
        if name == "gpu_studio.cli.completion":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, PressesCtrlC())
from gpu_studio.cli import main, window
sys.exit({}())
"""


@pytest.mark.parametrize("program", ["main", "window"])
def test_that_ctrl_c_while_python_imports_a_command_ends_it_without_a_traceback(program):
    words = [sys.executable, "-c", INTERRUPTED_WHILE_IMPORTED.format(program)]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


@pytest.mark.parametrize("group", ["runs", "queue", "study", "lab", "code", "cluster", "desktop"])
def test_that_a_command_without_its_action_lists_the_actions(gpu_studio, group):
    answer = gpu_studio(group)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"usage: gpu-studio {group}")
    assert "\nactions:\n" in answer.err
    assert answer.err.endswith(f"gpu-studio {group}: name one of these actions.\n")


def test_that_without_a_display_it_says_so_and_what_to_type(gpu_studio, headless, plan_file):
    for arguments in ([], [plan_file], ["--runs-dir", "x"]):
        answer = gpu_studio(*arguments)
        assert answer.code == 2
        assert "no display" in answer.err
        assert "gpu-studio train" in answer.err
    assert window([]) == 2


def test_that_the_window_opens_on_the_runs_and_the_plan_that_were_named(
    opened, isolated_home, tmp_path, plan_file
):
    assert main([]) == window([]) == main([str(plan_file)]) == 7
    assert main(["--runs-dir", str(tmp_path), "new.plan.toml"]) == 7
    assert [
        (str(call["runs_dir"]), call["plan_path"] and call["plan_path"].name) for call in opened
    ] == [
        (str(isolated_home.runs), None),
        (str(isolated_home.runs), None),
        (str(isolated_home.runs), "mine.plan.toml"),
        (str(tmp_path), "new.plan.toml"),
    ]


def test_that_the_command_of_the_window_takes_a_plan_runs_and_cards_to_simulate(
    opened, monkeypatch, isolated_home, tmp_path, capsys
):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert window(["--simulate", "2xL4", "--runs-dir", str(tmp_path), "mine.plan.toml"]) == 7
    assert (str(opened[0]["runs_dir"]), opened[0]["plan_path"].name) == (
        str(tmp_path),
        "mine.plan.toml",
    )
    assert os.environ.pop(VARIABLE) == "2xL4"
    assert window(["--help"]) == 0
    assert "gpu-studio-window --simulate 8xH100" in capsys.readouterr().out
    assert window(["--no-such"]) == 2
    assert window(["--simulate", "9xNothing"]) == 2
    assert len(opened) == 1


def test_that_a_page_or_a_new_plan_can_be_asked_for_by_both_commands(opened, plan_file, capsys):
    for command in (main, window):
        for words in (["--page", "devices"], ["--new"], ["--page", "runs", str(plan_file)]):
            assert command(words) == 7
        asked = [(call["page"], call["fresh"], bool(call["plan_path"])) for call in opened]
        assert asked == [("devices", False, False), ("", True, False), ("runs", False, True)]
        opened.clear()
        assert command(["--new", str(plan_file)]) == 2
        assert "leave out --new" in capsys.readouterr().err
        assert command(["--page", "attic"]) == 2
        capsys.readouterr()


def test_that_a_window_which_cannot_be_loaded_says_what_is_missing(gpu_studio, monkeypatch):
    monkeypatch.setenv("DISPLAY", ":7")
    monkeypatch.setitem(sys.modules, "gpu_studio.ui.window.app", None)
    answer = gpu_studio()
    assert answer.code == 2
    assert "apt install" in answer.err


def test_that_help_imports_nothing_large(tmp_path):
    code = (
        "import sys, gpu_studio.cli as cli\n"
        "cli.main(['train', '--help'])\n"
        "large = {'rich', 'numpy', 'msgspec', 'PySide6', 'tensorflow', 'keras', 'psutil'} & "
        "set(sys.modules)\n"
        "sys.exit(f'imported {large}' if large else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=trainer_environment({}), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_that_runs_whose_summaries_are_kept_are_listed_without_numpy(runs_dir):
    run = make_run(runs_dir, Script(trained=1, epochs=1, ending="completed"))
    code = (
        "import sys, gpu_studio.cli as cli\n"
        f"cli.main(['--runs-dir', {str(runs_dir)!r}, 'runs', 'list'])\n"
        "print(sorted({'numpy', 'PySide6', 'tensorflow'} & set(sys.modules)))"
    )
    words = [sys.executable, "-c", code]
    first, second = (
        subprocess.run(words, env=trainer_environment({}), capture_output=True, text=True)
        for _ in range(2)
    )
    assert run.id in first.stdout, first.stderr
    listed, _, imported = second.stdout.strip().rpartition("\n")
    assert first.stdout.startswith(listed)
    assert imported == "[]"


def test_that_help_imports_nothing_that_a_command_works_with():
    code = (
        "import contextlib, io, sys, gpu_studio.cli as cli\n"
        f"for command in {COMMANDS + WORKING}:\n"
        "    with contextlib.redirect_stdout(io.StringIO()): cli.main([*command, '--help'])\n"
        "own = {name for name in sys.modules if name.startswith('gpu_studio.')}\n"
        "print({name for name in own if not name.startswith('gpu_studio.cli')})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=trainer_environment({}), capture_output=True, text=True
    )
    assert (done.stdout.strip(), done.stderr) == ("set()", "")


@pytest.mark.slow
def test_that_the_window_has_what_needs_no_qt_imported_before_it():
    """Else PySide6 reads the text of each of these modules at the window's start."""
    code = (
        "import sys\n"
        "from importlib import import_module\n"
        "from gpu_studio.cli import entry\n"
        "for name in (*entry.BEFORE_QT, 'gpu_studio.ui.window.app'): import_module(name)\n"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=trainer_environment({}), capture_output=True, text=True
    )
    names = done.stdout.split()
    qt = names.index("PySide6")
    pure = [name for name in names if name.startswith("gpu_studio.")]
    after = {name for name in names[qt:] if name in pure and ".ui" not in name}
    assert not {"numpy", "psutil", "pyqtgraph", "rich"} & set(names)
    assert len(after) < len(pure) / 10, sorted(after)


@pytest.mark.parametrize("words", [[], ["--new"], ["--page", "runs"], ["a.plan.toml"]])
def test_that_the_window_opens_without_the_parser_of_any_command(opened, monkeypatch, words):
    monkeypatch.setattr(entry, "make_parser", lambda _=0: pytest.fail("made a command's parser"))
    assert main(words) == 7


@pytest.fixture
def made(monkeypatch):
    """How many parsers are made."""
    parsers = []
    build = argparse.ArgumentParser.__init__

    def counted(self, *positional, **named):
        parsers.append(self)
        build(self, *positional, **named)

    monkeypatch.setattr(argparse.ArgumentParser, "__init__", counted)
    return parsers


@pytest.mark.parametrize("before", [[], ["--runs-dir", "runs"]])
def test_that_a_command_makes_its_own_parsers_and_not_those_of_others(gpu_studio, made, before):
    assert gpu_studio(*before, "guide", "plan").code == 0
    alone = len(made)
    assert alone < 6
    made.clear()
    gpu_studio(*before, "--help")
    assert len(made) > 10 * alone


def parsers_of(parser):
    """Each parser below this one by its words, with its usage and its help."""
    found = {parser.prog: (parser.format_usage(), parser.format_help())}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                found |= parsers_of(below)
    return found


def test_that_each_command_is_parsed_alike_whether_it_is_made_alone_or_with_all():
    everything = parsers_of(entry.make_parser())
    assert len(everything) > 60
    commands = [words.split()[1] for words in everything if len(words.split()) == 2]
    one_by_one = {}
    for command in commands:
        alone = parsers_of(entry.make_parser(command))
        assert len(alone) < len(everything) / 2
        one_by_one |= alone | {"gpu-studio": everything["gpu-studio"]}
    assert one_by_one == everything


@pytest.mark.parametrize("words", [["lis"], ["--runs-dir", "train", "lis"], ["lis", "train"]])
def test_that_a_word_that_is_no_command_is_answered_with_all_commands(gpu_studio, words):
    answer = gpu_studio(*words)
    assert answer.code == 2
    assert "invalid choice: 'lis'" in answer.err
    for command in ("check", "runs", "doctor", "lesson"):
        assert f"'{command}'" in answer.err


def test_that_a_reader_who_goes_away_is_no_error(gpu_studio_process, ended):
    for _ in range(3):
        ended()
    reading, writing = os.pipe()
    os.close(reading)
    process = gpu_studio_process("runs", "list", stdout=writing)
    os.close(writing)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, errors) == (0, "")


def test_that_a_runs_directory_that_cannot_be_used_is_told_in_words(
    gpu_studio, plan_file, machine, trainer, tmp_path
):
    (tmp_path / "file").touch()
    answer = gpu_studio("train", plan_file, "--runs-dir", tmp_path / "file")
    assert answer.code == 2
    assert "Traceback" not in answer.err
    assert str(tmp_path / "file") in answer.err


def test_that_numbers_are_written_as_chosen_for_good(isolated_home):
    """The choice of the settings dialog, in the terminal too."""
    folder = settings_path().parent
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for chosen, written in (("space", "1 000"), ("none", "1000"), ("comma", "1,000")):
            (folder / "settings.toml").write_text(f'[numbers]\nthousands = "{chosen}"\n')
            main(["queue", "list"])
            assert figures.grouped(1000) == written
    finally:
        figures.write_thousands(",")
