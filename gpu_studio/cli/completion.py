"""`completion SHELL`, and what a shell is answered when somebody presses Tab.

argcomplete knows from the parser which words may come; here stands what the values of an argument
may be, by its metavar. A shell asks by starting the program with `$_ARGCOMPLETE` set.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeAlias

from gpu_studio.cli.command import OK, Commands, add_command, runs_folder, say_whole
from gpu_studio.cli.manual import manual

Words: TypeAlias = Mapping[str, str]
"""What a word may be, with its description, in the order in which it is shown."""

SHELLS: Final = ("bash", "zsh", "fish")
PROGRAMS: Final = ("gpu-studio", "gpu-studio-window")
ZSH: Final = "zsh/site-functions"
_SCRIPTS: Final = {
    **{f"bash-completion/completions/{name}": ("bash", *PROGRAMS) for name in PROGRAMS},
    f"{ZSH}/_{PROGRAMS[0]}": ("zsh", *PROGRAMS),
    **{f"fish/vendor_completions.d/{name}.fish": ("fish", name) for name in PROGRAMS},
}
"""Where a shell looks, and for what of which shell."""
_MANUALS: Final = tuple(f"man/man1/{name}.1" for name in PROGRAMS)
PLACES: Final = tuple(map(Path, (*_SCRIPTS, *_MANUALS)))
"""Where shells and `man` look, below a data folder such as `$XDG_DATA_HOME` or /usr/share."""

_SUMMARY = "write what lets a shell complete words of this command"
_ABOUT = """\
Subcommands, options, runs, plans, lessons, keys of a plan and pages of the guide are completed.
`gpu-studio desktop install` puts this where bash and fish find it by themselves.

examples:
  source <(gpu-studio completion bash)     in ~/.bashrc
  source <(gpu-studio completion zsh)      in ~/.zshrc, after compinit
  gpu-studio completion fish | source      in ~/.config/fish/config.fish"""
_BASH_OPTIONS: Final = ("-o nospace", "-o default", "-o bashdefault", "-o nosort")
"""Runs stay in their order; where nothing fits, bash completes files."""


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "completion", _SUMMARY, _ABOUT, _write)
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help="bash, zsh or fish")


def is_asked() -> bool:
    """Whether this process was started to complete a word."""
    return "_ARGCOMPLETE" in os.environ


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer the shell that asks, and end the process."""
    import argcomplete

    _know_values(parser)
    argcomplete.autocomplete(parser, always_complete_options=False, default_completer=_nothing)


def script(shell: str, *programs: str) -> str:
    """The text that has the shell complete the `programs`, by default all."""
    from argcomplete.shell_integration import shellcode

    text: str = shellcode(programs or PROGRAMS, shell=shell, complete_arguments=list(_BASH_OPTIONS))
    return text


def made_files(parser: argparse.ArgumentParser, date: str = "") -> dict[Path, bytes]:
    """The files of PLACES: completion for each shell, and the manual pages of that `date`."""
    scripts = {Path(place): script(*words).encode() for place, words in _SCRIPTS.items()}
    return scripts | manuals(parser, date)


def manuals(parser: argparse.ArgumentParser, date: str) -> dict[Path, bytes]:
    """The manual pages by their places: the first has everything, the other one leads to it."""
    texts = (manual(parser, date), f".so {_MANUALS[0].removeprefix('man/')}\n")
    return {Path(place): text.encode() for place, text in zip(_MANUALS, texts, strict=True)}


def _write(chosen: argparse.Namespace) -> int:
    say_whole(script(chosen.shell).rstrip("\n"))
    return OK


def _know_values(parser: argparse.ArgumentParser) -> None:
    """Give every argument that takes a value what completes it."""
    from argcomplete.completers import DirectoriesCompleter, FilesCompleter

    files: Mapping[str, Any] = {
        "PLAN": FilesCompleter(["plan.toml", "py"]),
        "STUDY": FilesCompleter(["study.toml"]),
        "COMMAND": FilesCompleter(["plan.toml", "py"]),  # it opens the window
        "SCRIPT": FilesCompleter(["py"]),
        "FILE": FilesCompleter(),
        "WHAT": _kinds_or_files,
        "PATH": FilesCompleter(),
        "DIR": DirectoriesCompleter(),
    }
    for action in parser._actions:  # noqa: SLF001 - argparse tells in no other way
        metavar = str(action.metavar or "").partition(".")[0]
        names = (*action.option_strings, metavar)
        known = [each for name in names if (each := files.get(name) or _VALUES.get(name))]
        if known and (action.choices is None or metavar == "COMMAND"):
            action.completer = known[0]  # type: ignore[attr-defined] # as argcomplete wants it
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - it has no public name
            for command in action.choices.values():
                _know_values(command)


def _nothing(**_asked: object) -> Words:
    return {}


def _kinds_or_files(*, prefix: str, **_asked: object) -> list[str]:
    """What `export` prints, and files."""
    from argcomplete.completers import FilesCompleter

    from gpu_studio.export.jobs import KINDS

    words = [each for each in ("script", *KINDS) if each.startswith(prefix)]
    return [*words, *FilesCompleter()(prefix)]


def _quietly(values: Callable[[argparse.Namespace, str], Words]) -> Callable[..., Words]:
    """As argcomplete calls it; what cannot be read completes nothing.

    `values` takes what is parsed so far, and the beginning of the word.
    """

    def completed(*, parsed_args: argparse.Namespace, prefix: str, **_others: object) -> Words:
        with suppress(Exception):
            found = values(parsed_args, prefix)
            return {word: text for word, text in found.items() if word.isprintable()}
        return {}

    return completed


def _runs(chosen: argparse.Namespace, _begun: str) -> Words:
    from gpu_studio.runs.catalogue import directories

    found = [run.id for run in directories(runs_folder(chosen))]
    return ({"latest": "the newest run"} if found else {}) | dict.fromkeys(found, "")


def _checkpoints(chosen: argparse.Namespace, _begun: str) -> Words:
    """Those of the run that is named."""
    from gpu_studio.cli.command import named_run
    from gpu_studio.contract import checkpoints

    saved = reversed(checkpoints(named_run(chosen)))
    return {"best": "", "latest": ""} | {each.name: f"{each.step} steps" for each in saved}


def _entries(chosen: argparse.Namespace, _begun: str) -> Words:
    from gpu_studio.runs.queue import Queue

    return {entry.id: "" for entry in Queue(runs_folder(chosen)).entries()}


def _keys(_chosen: argparse.Namespace, _begun: str) -> Words:
    from gpu_studio.plan.keys import all_keys

    return {f"{key.path}=": key.text for key in all_keys()}


def _settings(chosen: argparse.Namespace, begun: str) -> Words:
    """Keys of a plan; behind the `=` what a key may be, where that can be listed."""
    key, named, _ = begun.partition("=")
    return {f"{key}={word}": "" for word in _words_of(key)} if named else _keys(chosen, begun)


def _words_of(key: str) -> Iterable[str]:
    from gpu_studio.plan import STRATEGIES
    from gpu_studio.plan.catalogue import DATA, MODELS, SCHEDULES
    from gpu_studio.plan.keys import all_keys

    names: Mapping[str, Iterable[str]] = {
        "model.name": MODELS,
        "data.name": DATA,
        "training.schedule": SCHEDULES,
        "distribution.strategy": STRATEGIES,
    }
    kind = next((each.kind for each in all_keys() if each.path == key), "")
    listed = ("true", "false") if kind == "true or false" else re.findall(r'"(\w+)"', kind)
    return names.get(key, listed)


def _pages(_chosen: argparse.Namespace, begun: str) -> Words:
    """The guide's pages, and a key of a plan once it is begun."""
    from gpu_studio.common.guide import guide

    keys = {word.rstrip("="): text for word, text in _keys(_chosen, begun).items()}
    return {page: guide().title(page) for page in guide().pages} | (keys if begun else {})


def _lessons(_chosen: argparse.Namespace, _begun: str) -> Words:
    from gpu_studio.runs.lessons import lessons

    return {str(lesson.number): lesson.title for lesson in lessons().values()}


_VALUES: Final[Mapping[str, Callable[..., Words]]] = {
    "--checkpoint": _quietly(_checkpoints),
    "RUN": _quietly(_runs),
    "ID": _quietly(_entries),
    "KEY=VALUE": _quietly(_settings),
    "NUMBER": _quietly(_lessons),
    "PAGE": _quietly(_pages),
}
