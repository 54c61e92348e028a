"""Completion in real shells, and the manual page, both made from the parser."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
from patience import PATIENCE_S

from gpu_studio.cli.completion import PLACES, SHELLS, made_files
from gpu_studio.cli.entry import make_parser
from gpu_studio.common.desktop_entry import data_home

# What bash does when somebody presses Tab at the end of a line.
BASH = """
source "$1"; shift
for COMP_LINE; do
  COMP_POINT=${#COMP_LINE}; COMPREPLY=(); _python_argcomplete "${COMP_LINE%% *}"
  (IFS='|'; echo "${COMPREPLY[*]}")
done
"""
# As its completion system calls it: the file is the body of a function.
ZSH = """
compdef() { }
_describe() { print -l $completions }
eval "_gpu_studio() {
$(cat $1)
}"
BUFFER=$2 CURSOR=${#2} words=(gpu-studio runs show '')
_gpu_studio
"""
FISH = "source $argv[1]; complete -C $argv[2]"


@pytest.fixture
def installed(gpu_studio, isolated_home) -> Path:
    """`$XDG_DATA_HOME` after `gpu-studio desktop install`."""
    assert gpu_studio("desktop", "install").code == 0
    return data_home()


def said(*command: str | Path) -> list[str]:
    """The lines that a shell writes, which finds the commands of this environment."""
    paths = os.pathsep.join((sysconfig.get_path("scripts"), os.environ["PATH"]))
    done = subprocess.run(
        command,
        env={**os.environ, "PATH": paths, "SHELL": str(command[0])},
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    return done.stdout.splitlines()


@pytest.mark.slow
def test_that_bash_completes_commands_options_choices_runs_plans_keys_and_lessons(
    installed, ended, tmp_path, monkeypatch
):
    first, second = ended().directory.id, ended().directory.id
    monkeypatch.chdir(tmp_path)
    for name in ("my own.plan.toml", "notes.toml", "train.py"):
        (tmp_path / name).touch()
    expected = {
        "gpu-studio runs re": "report|rename|resume|restore",
        "gpu-studio train my": "my\\ own.plan.toml ",
        "gpu-studio check tr": "train.py ",
        "gpu-studio starter tr": "train.py ",
        "gpu-studio runs show ": f"latest|{second}|{first}",
        "gpu-studio train --set training.batch_": "training.batch_size=|training.batch_scope=",
        "gpu-studio train --set cluster.start=": "local|slurm|kubernetes",
        "gpu-studio train --set distribution.strategy=mi": "mirrored ",
        "gpu-studio train --set devices.soft_placement=": "true|false",
        "gpu-studio lesson ": "1|2|3|4|5|6|7|8",
        "gpu-studio-window --page r": "runs ",
        "gpu-studio runs list --e": "--energy ",
    }
    script = installed / "bash-completion/completions/gpu-studio"
    answers = said("bash", "-c", BASH, "bash", script, *expected)
    assert dict(zip(expected, answers, strict=True)) == expected


@pytest.mark.slow
def test_that_zsh_and_fish_complete_runs_in_their_order(installed, ended):
    first, second = ended().directory.id, ended().directory.id
    line = "gpu-studio runs show "
    if shutil.which("zsh"):
        script = installed / "zsh/site-functions/_gpu-studio"
        words = said("zsh", "-f", "-c", ZSH, "zsh", script, line)
        assert [word.partition(":")[0] for word in words] == ["latest", second, first]
    if shutil.which("fish"):
        script = installed / "fish/vendor_completions.d/gpu-studio.fish"
        words = said("fish", "--no-config", "-c", FISH, script, line)
        assert {word.partition("\t")[0] for word in words} == {"latest", second, first}
    if not shutil.which("zsh") and not shutil.which("fish"):
        pytest.skip("needs zsh or fish; on Debian: sudo apt-get install zsh fish")


def test_that_the_command_writes_what_is_installed(gpu_studio, installed):
    places = dict(zip(SHELLS, (PLACES[0], PLACES[2], PLACES[3]), strict=True))
    for shell, place in places.items():
        written = gpu_studio("completion", shell).out
        assert written.startswith((installed / place).read_text().rstrip("\n"))
    assert gpu_studio("completion", "tcsh").code == 2
    assert all((installed / place).is_file() for place in PLACES)


def test_that_formatters_find_nothing_wrong_with_the_manual_page(tmp_path):
    page = tmp_path / "gpu-studio.1"
    page.write_bytes(made_files(make_parser(), "2026-02-03")[PLACES[-2]])
    checks = {
        "groff": ["groff", "-man", "-ww", "-z", "-Kutf8", "-Tutf8", page],
        "mandoc": ["mandoc", "-Tlint", "-Wwarning", page],
    }
    there = [words for program, words in checks.items() if shutil.which(program)]
    for words in there:
        done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S)
        assert (done.stdout, done.stderr) == ("", "")
    if not there:
        pytest.skip("needs groff; on Debian: sudo apt-get install groff")


def test_that_the_manual_page_has_every_command_with_every_option_of_its_own():
    page = made_files(make_parser())[PLACES[-2]].decode()
    for words in (
        '.SS "gpu\\-studio runs save\\-model"',
        "\\fBgpu\\-studio runs rename\\fR [\\fIOPTION\\fR]... \\fIRUN\\fR [\\fINAME\\fR]",
        "\\fB\\-\\-objective\\fR \\fI{fastest,least\\-memory,fewest\\-transfers}\\fR",
        ".SH EXIT CODES",
    ):
        assert words in page
    assert "None" not in page
