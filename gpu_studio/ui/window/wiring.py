"""Connect the parts of the window.

Only here do actions meet their handlers, and signals their receivers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication

from gpu_studio.contract import RunDirectory
from gpu_studio.plan import RUNNABLE_STRATEGIES, Plan
from gpu_studio.ui.kit.settings import NOTIFY, NUMBERS, QUIT, RUNS, SECONDS, THEME
from gpu_studio.ui.kit.theme import Mode
from gpu_studio.ui.window.actions.plan_actions import PARTS
from gpu_studio.ui.window.actions.study_actions import NEW_STUDIES
from gpu_studio.ui.window.actions.train_actions import AXES, FORMATS, OF_CHECKPOINTS
from gpu_studio.ui.window.lessons import Lessons
from gpu_studio.ui.window.live_runs import RunEnds
from gpu_studio.ui.window.plan_files import PlanFiles, restored_in_words
from gpu_studio.ui.window.practising import Practising
from gpu_studio.ui.window.queue_control import QueueControl
from gpu_studio.ui.window.quitting import Quitting
from gpu_studio.ui.window.repairs import FILE, Repairs
from gpu_studio.ui.window.run_control import CodeConsent, RunControl, RunPlans
from gpu_studio.ui.window.scripts import Scripts
from gpu_studio.ui.window.services import PAGES, Pages, Services
from gpu_studio.ui.window.study_control import StudyControl
from gpu_studio.ui.window.study_files import StudyFiles
from gpu_studio.ui.window.study_making import StudyMaking

if TYPE_CHECKING:
    from gpu_studio.ui.devices.devices_page import DevicesFile
    from gpu_studio.ui.kit.action_set import ActionSet
    from gpu_studio.ui.lab.result_files import FileKind
    from gpu_studio.ui.train.plot_files import Kind
    from gpu_studio.ui.train.train_page import TrainPage
    from gpu_studio.ui.window.run_list import RunList

Handlers = Mapping[str, Callable[[], object]]
Appliers = Mapping[str, Callable[[Any], object]]


def bind(actions: ActionSet, handlers: Handlers) -> None:
    """Call the handler of its id whenever an action is done.

    Raises KeyError if one is missing.
    """
    for action in actions.all():
        _bind(action, handlers[action.objectName()])


def _bind(action: QAction, handler: Callable[[], object]) -> None:
    action.triggered.connect(lambda: handler())


def of_plans(
    services: Services, files: PlanFiles, repairs: Repairs, scripts: Scripts, consent: CodeConsent
) -> Handlers:
    """The actions about the open plan and its files."""
    return {
        **{f"new_{name}": partial(files.new_from_template, name) for name in RUNNABLE_STRATEGIES},
        "new_starter": files.new_starter,
        "open_plan": files.choose_and_open,
        "save_plan": repairs.save,
        "save_plan_as": files.save_as,
        "compare_plan": files.choose_and_compare,
        "export_python": scripts.choose_and_write,
        "redo": services.document.undo_stack.redo,
        "copy_plan": files.copy,
        "copy_python": scripts.copy,
        "allow_code": consent.ask_about_plan,
        "allowed_code": consent.show_allowed,
        "cancel_resuming": services.resuming.cancel,
    }


def of_pages(pages: Pages) -> Handlers:
    """The actions that turn to a page or a part of the Plan page, and the Devices page's own."""

    def enter(part: str) -> None:
        pages.turn_to("plan")
        pages.plan.enter_part(part)

    def step(by: int) -> None:
        pages.turn_to("plan")
        pages.plan.step_part(by)

    return {
        **{f"page_{name}": partial(pages.turn_to, name) for name in PAGES},
        **{f"tab_{part.lower()}": partial(enter, part) for part in PARTS},
        "next_tab": partial(step, 1),
        "previous_tab": partial(step, -1),
        "save_devices": lambda: pages.devices.save_csv(),
        "copy_devices": lambda: pages.devices.copy(),
    }


def of_window(services: Services, pages: Pages) -> Handlers:
    """The actions about the window itself, and about the machine; F1 holds in dialogs, too."""
    services.actions["guide"].setShortcutContext(Qt.ShortcutContext.ApplicationShortcut)

    def undo() -> None:
        """Take back a change of the plan where it is seen, else what the message tells of."""
        if pages.current == "plan":
            services.document.undo_stack.undo()
        else:
            services.notice.take_back()

    def look_again() -> None:
        services.inventory.refresh()
        services.sampler.retry()

    return {
        "quit": services.window.close,
        "notice": services.notice.take_focus,
        "refresh": look_again,
        "doctor": partial(_open_doctor, services),
        "palette": partial(_open_palette, services),
        "undo": undo,
        "guide": partial(open_guide, services, pages),
        "shortcuts": partial(open_guide, services, pages, "shortcuts"),
        "about": partial(_open_about, services),
        "theme_system": partial(_set_theme, services, "system"),
        "theme_light": partial(_set_theme, services, "light"),
        "theme_dark": partial(_set_theme, services, "dark"),
    }


def of_runs(runs: RunControl, plans: RunPlans, quitting: Quitting, ends: RunEnds) -> Handlers:
    """The actions that start runs, and the habits about them."""
    return {
        "train": runs.train,
        "resume_changed": plans.resume_with_changes,
        "run_again": lambda: runs.again(plans.run),
        "duplicate_plan": plans.duplicate,
        "ask_quit": lambda: quitting.set_asks(not quitting.asks),
        "notify": lambda: ends.set_notifies(not ends.notifies),
    }


def of_settings(services: Services, quitting: Quitting, ends: RunEnds) -> Handlers:
    """The action that shows all that is chosen for good."""

    def look_every(seconds: float) -> None:
        services.settings.set(SECONDS, seconds)
        services.sampler.look_every(seconds)

    appliers: Appliers = {
        THEME.key: partial(_set_theme, services),
        QUIT.key: lambda value: quitting.set_asks(value == QUIT.default),
        NOTIFY.key: lambda value: ends.set_notifies(value == NOTIFY.default),
        SECONDS.key: look_every,
        RUNS.key: partial(services.settings.set, RUNS),
        NUMBERS.key: partial(services.settings.set, NUMBERS),
    }
    return {"settings": partial(_open_settings, services, appliers)}


def of_lessons(lessons: Lessons) -> Handlers:
    """The action that offers the lessons."""
    return {"lessons": lessons.choose}


def of_practice(practising: Practising) -> Handlers:
    """The actions about cards that are not there."""
    return {"practise": practising.choose, "stop_practising": practising.stop}


def of_queue(queue: QueueControl) -> Handlers:
    """The actions about the queue."""
    return {
        "queue_plan": queue.add_plan,
        "queue_up": partial(queue.shift, -1),
        "queue_down": partial(queue.shift, 1),
        "queue_hold": queue.toggle_hold,
        "queue_pass": queue.toggle_pass,
        "queue_start": queue.start_now,
        "queue_go_on": queue.go_on,
        "queue_remove": queue.remove,
    }


def of_studies(studies: StudyControl, making: StudyMaking, files: StudyFiles) -> Handlers:
    """The actions about studies."""
    return {
        **{f"new_study_{name}": partial(making.new, name) for name in NEW_STUDIES},
        "open_study": making.open,
        "edit_study": making.edit,
        "run_study": studies.run,
        "stop_study": studies.stop,
        "end_study": studies.end,
        "study_plan": studies.open_plan,
        "study_runs": studies.show_runs,
        "report_study": partial(files.ask, "html"),
        "save_study_png": partial(files.ask, "png"),
        "save_study_svg": partial(files.ask, "svg"),
        "save_study_csv": partial(files.ask, "csv"),
        "forget_study": studies.forget,
    }


def of_chosen_runs(chosen: Callable[[], RunList]) -> Handlers:
    """The actions about the runs that are selected on the Runs page.

    `chosen` makes what does them.
    """
    return {
        "open_run": lambda: chosen().show_selected(),
        "open_run_plan": lambda: chosen().open_selected_plan(),
        "resume_run": lambda: chosen().resume_selected(),
        "reveal_run": lambda: chosen().reveal_selected(),
        "delete_run": lambda: chosen().delete_selected(),
        "compare_runs": lambda: chosen().compare_selected(),
        "rename_run": lambda: chosen().labels.rename(),
        "tag_runs": lambda: chosen().labels.tag(),
        "note_runs": lambda: chosen().labels.note(),
        "copy_run_ids": lambda: chosen().copy_ids(),
        "report_runs": lambda: chosen().exports.report(),
        "export_run_csv": lambda: chosen().exports.csv(),
        "export_run_curves": lambda: chosen().exports.picture(),
    }


def of_shown_run(pages: Pages, find_runs: Callable[[], object]) -> Handlers:
    """The actions about the run that the Train page shows.

    Its trainer, checkpoints, placement and log.
    """

    def ask(wanted: str) -> None:
        pages.turn_to("train")
        pages.train.want_of_checkpoint(wanted)

    def find_in_log() -> None:
        pages.turn_to("train")
        pages.train.find_in_log()

    def find() -> None:
        """Find words in the log, where the page shows one; else find runs."""
        if pages.current == "train" and pages.shown_run is not None:
            find_in_log()
        else:
            find_runs()

    return {
        "pause": lambda: pages.train.toggle_pause(),
        "checkpoint": lambda: pages.train.checkpoint_now(),
        "stop": lambda: pages.train.stop(),
        "stop_now": lambda: pages.train.stop_now(),
        **{name: partial(ask, wanted) for name, wanted in OF_CHECKPOINTS.items()},
        "cancel_checkpoints": lambda: pages.train.cancel_checkpoint_jobs(),
        "copy_placement": lambda: pages.train.copy_placement(),
        "find_runs": find,
        "find_log": find_in_log,
        "find_next": lambda: pages.train.find_next_in_log(),
        "find_previous": lambda: pages.train.find_next_in_log(back=True),
        "newest_line": lambda: pages.train.to_newest_line(),
        "copy_log": lambda: pages.train.copy_log(),
        "save_log": lambda: pages.train.save_log(),
    }


def of_benchmarks(pages: Pages) -> Handlers:
    """The actions about the benchmark that the Lab page shows."""

    def save(kind: FileKind) -> None:
        pages.benchmarks.save(kind)

    return {
        "measure": lambda: pages.benchmarks.measure(),
        "cancel_measuring": lambda: pages.benchmarks.cancel(),
        "compare_results": lambda: pages.benchmarks.offer_comparison(),
        "copy_result_picture": lambda: pages.benchmarks.copy_picture(),
        "copy_result_rows": lambda: pages.benchmarks.copy_rows(),
        "save_result_png": partial(save, "png"),
        "save_result_svg": partial(save, "svg"),
        "save_result_csv": partial(save, "csv"),
        "delete_result": lambda: pages.benchmarks.delete(),
    }


def of_plots(pages: Pages) -> Handlers:
    """The actions about the plots of the run that the Train page shows."""

    def save(kind: Kind) -> None:
        pages.turn_to("train")
        pages.train.save_plot(kind)

    return {
        **{f"axis_{kind}": partial(lambda kind: pages.train.set_axis(kind), kind) for kind in AXES},
        **{f"save_plot_{kind}": partial(save, kind) for kind in FORMATS},
        "whole_run": lambda: pages.train.show_whole_run(),
        "copy_plot": lambda: pages.train.copy_plot(),
        "copy_plot_data": lambda: pages.train.copy_plot_data(),
        "copy_figures": lambda: pages.train.copy_figures(),
    }


def connect_plans(files: PlanFiles, scripts: Scripts, services: Services, pages: Pages) -> None:
    """Say what comes of plans and their files, and show the plan that was opened."""

    def compare(path: Path, plan: Plan) -> None:
        pages.turn_to("plan")
        pages.plan.compare(path.name, plan)

    say, settle = services.notice.say, services.notice.settle
    files.failed.connect(lambda text: say(text, "bad", about=FILE))
    for settled in (files.opened, files.recent_changed):
        settled.connect(lambda: settle(FILE))
    files.opened.connect(lambda: pages.turn_to("plan"))
    files.compared.connect(compare)
    files.restored.connect(lambda draft: say(restored_in_words(draft)))
    files.half_typed.connect(lambda: pages.plan.begin_with_part("File"))
    files.disk.reported.connect(say)

    def heed(teller: Scripts | DevicesFile) -> None:
        teller.reported.connect(say)
        teller.failed.connect(lambda text: say(text, "bad"))

    heed(scripts)
    pages.devices_made.connect(lambda page: heed(page.file))
    services.inventory.changed.connect(files.offer_starter)


def connect_train_page(
    page: TrainPage,
    services: Services,
    pages: Pages,
    runs: RunControl,
    plans: RunPlans,
    consent: CodeConsent,
) -> None:
    """Do what is asked for on the Train page, once that is made."""
    page.resume_requested.connect(lambda path: runs.resume(RunDirectory(Path(path))))
    page.resuming.connect(lambda path, name: runs.resume(RunDirectory(Path(path)), name))
    page.again_requested.connect(lambda path: runs.again(RunDirectory(Path(path))))
    page.change_requested.connect(
        lambda path, mend: plans.open_changed(RunDirectory(Path(path)), mend)
    )
    page.ask_before_code(consent.obtain_for_run)
    page.outcome.source_pressed.connect(plans.open_part)
    page.outcome.allow_pressed.connect(lambda path: consent.ask(path, page.look_again))
    page.reported.connect(services.notice.say)
    page.runs_wanted.connect(lambda: pages.turn_to("runs"))
    page.plan_wanted.connect(lambda: pages.turn_to("plan"))


def _set_theme(services: Services, mode: Mode) -> None:
    """Follow the system's colours, or wear one theme always; remembered."""
    services.theme.set_mode(mode)
    services.settings.set(THEME, mode)
    services.actions[f"theme_{mode}"].setChecked(True)


def _open_palette(services: Services) -> None:
    from gpu_studio.ui.window.command_palette import CommandPalette

    window = services.window
    palette = CommandPalette(services.actions.all(), window)
    palette.move(window.mapToGlobal(window.rect().center()) - palette.rect().center())
    palette.show()
    palette.activateWindow()  # where no window manager does it, keys would go on to the window


def open_guide(services: Services, pages: Pages, place: str = "") -> None:
    """Show a place of the guide, or else what it says about the thing that has the focus."""
    from gpu_studio.ui.window.guide_window import GuideWindow, place_about

    window = services.window
    wanted = place or place_about(QApplication.focusWidget()) or pages.current
    shown = window.findChild(GuideWindow) or GuideWindow(services.theme, services.settings, window)
    shown.show_place(wanted)
    shown.show()
    shown.raise_()
    shown.activateWindow()


def _open_settings(services: Services, appliers: Appliers) -> None:
    from gpu_studio.ui.window.settings_dialog import SettingsDialog, options

    SettingsDialog(options(appliers, services.runs_dir), services.settings, services.window).show()


def _open_doctor(services: Services) -> None:
    from gpu_studio.ui.devices.doctor_dialog import DoctorDialog

    DoctorDialog(services.theme, services.checkup, services.window).show()


def _open_about(services: Services) -> None:
    from gpu_studio.ui.kit import about_dialog

    about_dialog(services.window).show()
