"""Which samples are kept aside to validate and to test with, and how many."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtWidgets import QWidget

from gpu_studio.plan import Data, Plan
from gpu_studio.plan.limits import DATA_LIMITS
from gpu_studio.plan.splitting import GROUPS, SPLITS
from gpu_studio.plan.values import DataSplit
from gpu_studio.ui.models.plan.plan_view import PlanView
from gpu_studio.ui.pages.plan.form.field import Field
from gpu_studio.ui.pages.plan.form.form import Form
from gpu_studio.ui.units import sentence
from gpu_studio.ui.widgets.fields import Choice, Typed

WORDS: dict[DataSplit, str] = {
    "random": "at random",
    "stratified": "by class",
    "ordered": "in order",
    "grouped": "by group",
}


class KeptAsideForm(Form):
    """The shares, how they are drawn, and the array that names the groups where a plan goes by them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Kept aside", parent)
        for option in DATA_LIMITS:
            self.add_limited(f"data.{option.name}", option, f"for {option.name.removesuffix('_fraction')}")
        split = Field("data.split", "split", default=Data().split, write=_write_split)
        choice = Choice("how samples are kept aside", list(SPLITS), tips=SPLITS, words=WORDS)
        self.split = self.add(split, choice)
        groups = Field("data.groups", "groups", "the array with the group of each sample", write=_write_groups)
        line = Typed("array with the groups", str, lambda value: value or "")
        line.setPlaceholderText(GROUPS)
        self.groups = self.add(groups, line)

    def show_view(self, view: PlanView) -> None:
        """Show what the plan keeps aside."""
        super().show_view(view)
        data = view.plan.data
        self.split.hint.setText(sentence(SPLITS[data.split]))
        self.groups.setVisible(data.split == "grouped" or data.groups is not None)


def _write_split(plan: Plan, split: DataSplit) -> Plan:
    groups = plan.data.groups if split == "grouped" else None
    return replace(plan, data=replace(plan.data, split=split, groups=groups))


def _write_groups(plan: Plan, name: str) -> Plan:
    return replace(plan, data=replace(plan.data, groups=name or None))
