"""The guide's pages about every option of a plan and all that it can name, made from the rules.

`make guide` writes them into `resources/guide`, where a forge shows them.
"""

from __future__ import annotations

from collections.abc import Iterable

from gpu_studio.plan.callbacks import CALLBACKS, callback_help, entry_of
from gpu_studio.plan.catalogue import DATA, MODELS, SCHEDULES
from gpu_studio.plan.columns import TABLE
from gpu_studio.plan.data import ARRAYS, IMAGES, MASKS, TEXTS
from gpu_studio.plan.keys import TABLES, PlanKey, plan_keys
from gpu_studio.plan.options import BuiltIn
from gpu_studio.plan.strategies import BY_NAME
from gpu_studio.plan.values import shown


def options_page() -> str:
    """The guide's page about every option of a plan, as Markdown."""
    parts = [
        "# Options of a plan",
        (
            "Every key of a plan file, and what it may be. This page is made from the program's "
            "own rules. In the window, F1 on a field opens its place here; in the terminal, "
            "`--set training.epochs=5` changes a key for one run."
        ),
    ]
    for table, (_, heading, about) in TABLES.items():
        parts += [f"## {heading}", about, *map(_as_text, plan_keys(table))]
    return "\n\n".join(parts) + "\n"


def built_ins_page() -> str:
    """The guide's page about all that a plan can name, as Markdown."""
    parts = [
        "# What a plan can name",
        (
            "Strategies, and the built-in models, data, schedules and callbacks with their "
            "options. This page is made from the program's own rules."
        ),
        *_strategies(),
    ]
    parts += _built_ins("Models", "`model.name`", MODELS.values())
    parts += _built_ins("Built-in data", "`data.name`", DATA.values())
    own = (ARRAYS, IMAGES, TEXTS, MASKS, TABLE)
    parts += _built_ins("Data of your own", "`data.file`, `data.folder` and `data.table`", own)
    parts += _built_ins("Schedules", "`training.schedule`", SCHEDULES.values())
    known = (entry_of(name, ("val_loss",)) or BuiltIn(name, "") for name in CALLBACKS)
    parts += _built_ins("Built-in callbacks", "`training.callbacks.name`", known)
    return "\n\n".join(parts) + "\n"


def _as_text(key: PlanKey) -> str:
    facts = [f"Value: {key.kind}", f"default: {key.default}"]
    if key.call:
        of_keras = key.call.startswith(("Model.", "keras."))
        facts.append(f"in {'Keras' if of_keras else 'TensorFlow'}: {_code(key.call)}")
    return "\n\n".join(
        (
            f"### {key.path}",
            _sentence(key.text),
            " · ".join(facts),
            f"*When to change it:* {key.when}",
        )
    )


def _code(call: str) -> str:
    return f"`{call}`" if " " not in call or call.endswith(")") else call


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _sentence(text: str) -> str:
    return f"{_capital(text)}{'' if text.endswith('…') else '.'}"


def _strategies() -> list[str]:
    parts = ["## Strategies", "What `distribution.strategy` may be."]
    for each in BY_NAME.values():
        facts = [f"- Why not: {each.why_not}"] if each.why_not else []
        facts += [f"- When: {each.when}", f"- What it costs: {each.costs}"]
        parts += [f"### Strategy {each.name}", each.line, "\n".join(facts)]
    return parts


def _built_ins(heading: str, key: str, entries: Iterable[BuiltIn]) -> list[str]:
    parts = [f"## {heading}", f"What {key} may be, with its options."]
    for each in entries:
        about = callback_help(each.name) or each.help
        title = _capital(each.name) if " " in each.name else each.name
        parts += [f"### {title}", _sentence(about)]
        if each.options:
            rows = [
                f"| `{option.name}` | {_cell(option.help)} | `{_cell(shown(option.default))}` |"
                for option in each.options
            ]
            parts.append("\n".join(["| option | what it is | default |", "|---|---|---|", *rows]))
    return parts


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
