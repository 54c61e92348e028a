"""What a scheduler is asked for: a row for every key of its table in a plan."""

from __future__ import annotations

from functools import partial
from typing import Any

from PySide6.QtWidgets import QWidget

from gpu_studio.plan import Plan
from gpu_studio.plan.edits.cluster import scheduler_of, set_scheduler
from gpu_studio.plan.keys import TABLES, PlanKey, option_of, plan_keys
from gpu_studio.plan.options import Option
from gpu_studio.ui.kit.fields import Lines, Typed
from gpu_studio.ui.plan.form.form import Field, Form, control_for, name_in_words


class SchedulerForm(Form):
    """`scheduler` is `slurm` or `kubernetes`; of a table that the plan lacks, defaults are shown.

    The keys, their kinds and words are those of `plan.keys`, as in the guide.
    """

    def __init__(self, scheduler: str, parent: QWidget | None = None) -> None:
        self.table = f"cluster.{scheduler}"
        super().__init__(TABLES[self.table][1], parent)
        self._scheduler = scheduler
        for key in plan_keys(self.table):
            self._add_key(key)

    def _add_key(self, key: PlanKey) -> None:
        option, label = option_of(key.path), _label(key.path)
        name = option.name
        field = Field(
            key.path,
            label,
            key.text.replace("`", ""),
            None if option.kind == "texts" else option.default,
            write=partial(_write, scheduler=self._scheduler, name=name),
            read=lambda plan: getattr(scheduler_of(plan, self._scheduler), name),
        )
        self.add(field, _control(option, label, key.default.replace("`", "")), wide=True)


def _control(option: Option, label: str, default: str) -> Any:
    if option.kind == "texts":
        control: Any = Lines(label)
        control.setPlaceholderText("one on each line")
        return control
    if option.kind == "text":
        optional = option.default is None
        control = Typed(label, _text_or_none if optional else str, _text)
        control.setPlaceholderText(default if optional else "")
        return control
    return control_for(option, label)


def _write(plan: Plan, value: Any, *, scheduler: str, name: str) -> Plan:
    return set_scheduler(plan, scheduler, **{name: value})


def _text_or_none(text: str) -> str | None:
    return text.strip() or None


def _text(value: str | None) -> str:
    return value or ""


def _label(path: str) -> str:
    return name_in_words(path).replace("gpus", "GPUs").replace("cpus", "CPUs")
