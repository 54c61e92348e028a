"""The actions about studies: make one, open one, and those on the one that the Lab page shows."""

from __future__ import annotations

from typing import Final, Literal

from gpu_studio.ui.kit import ActionSpec

Template = Literal["scaling-strong", "scaling-weak", "strategies", "batch", "sweep"]

NEW_STUDIES: Final[dict[Template, tuple[str, str]]] = {
    "scaling-strong": (
        "Scaling, same global batch…",
        "Train the open plan on one device, two, three…, with the same global batch",
    ),
    "scaling-weak": (
        "Scaling, same batch per replica…",
        "Train the open plan on one device, two, three…, each with the same batch",
    ),
    "strategies": (
        "Strategies…",
        "Train the open plan with every strategy that runs, and each way to add up gradients",
    ),
    "batch": (
        "Batch…",
        "Search the largest batch that fits, and train the open plan with batches up to it",
    ),
    "sweep": (
        "Any sweep…",
        "Train the open plan with several values of any of its fields, such as learning rates",
    ),
}


def _spec(name: str, words: str, tip: str, icon: str = "") -> ActionSpec:
    return ActionSpec(name, "Run", words, tip, icon=icon, group=3, submenu="Study")


STUDIES: tuple[ActionSpec, ...] = (
    *(_spec(f"new_study_{template}", *words) for template, words in NEW_STUDIES.items()),
    _spec("open_study", "Open study…", "Show a study from its file on the Lab page", "folder"),
    _spec("run_study", "Run study", "Train what is left of the study, in the background", "play"),
    _spec(
        "stop_study",
        "Stop study",
        "Stop the study that is being run: the run under way ends, what is done is kept",
        "stop",
    ),
    _spec(
        "end_study",
        "Stop study after this run",
        "Let the run under way be measured, and begin no further one",
    ),
    _spec("edit_study", "Edit study…", "Change the axes and values of a study that has no runs"),
    _spec("study_plan", "Plan of the verdict", "Open the plan that the study's verdict chooses"),
    _spec("study_runs", "Runs of the study", "Show the runs of the study on the Runs page"),
    _spec("report_study", "Report on study…", "Write the study as one HTML file that opens alone"),
    _spec("save_study_png", "Save study's picture as PNG…", "Write the picture into a PNG file"),
    _spec("save_study_svg", "Save study's picture as SVG…", "Write the picture into an SVG file"),
    _spec("save_study_csv", "Save study's points as CSV…", "Write what each run measured"),
    _spec(
        "forget_study",
        "Take study off the list",
        "List the study no more; its file and its runs stay",
    ),
)
