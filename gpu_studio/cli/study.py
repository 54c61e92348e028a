"""`study …`: measure a plan at many points, and judge what is worth it."""

from __future__ import annotations

import argparse
import math
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gpu_studio.cli.command import (
    FAILED,
    INTERRUPTED,
    OK,
    Commands,
    RefusedError,
    add_allowing,
    add_command,
    add_force,
    add_group,
    add_json,
    note,
    refuse_to_replace,
    runs_folder,
    say,
    say_json,
    say_table,
    typed,
)
from gpu_studio.cli.study_new import register_new

if TYPE_CHECKING:
    from gpu_studio.lab.fits import Fit
    from gpu_studio.lab.verdict import PointGroup, StudyVerdict
    from gpu_studio.plan import Machine
    from gpu_studio.runs.studies import StudyRuns
    from gpu_studio.runs.study_shelf import OpenStudy
    from gpu_studio.runs.study_view import StudySnapshot

_SUMMARY = "measure a plan with other devices, strategies, batches or values, and judge"
_EXAMPLES = """\
A study is a small file: a plan, and axes, each with values of a field of the plan. Its runs are
ordinary runs, one at a time, in an order drawn by a seed. What is done stays done: a study that
was stopped or killed goes on where it was.

examples:
  gpu-studio study new scaling-strong digits.plan.toml
  gpu-studio study run digits-scaling-strong.study.toml
  gpu-studio study show digits-scaling-strong.study.toml --json
  gpu-studio study report digits-scaling-strong.study.toml"""
_RUN: Final = """\
Ctrl+C stops the run under way and keeps what is done; the same command goes on. With --json, the
study as `study show` tells it follows at the end.

examples:
  gpu-studio study run digits.study.toml
  gpu-studio study run digits.study.toml --dry-run

exit codes:
  0    every point is measured
  1    a point failed, or some could not be measured
  2    refused, with nothing done
  130  interrupted"""
_AT_ONCE: Final = ": the run under way ends, what is done is kept."
_POINT_HEADINGS: Final = ("POINT", "SAMPLES/S", "±", "A STEP", "LAST LOSS", "RUNS")


def _register_run(actions: Commands) -> None:
    run = add_command(actions, "run", "train what is left of a study", _RUN, _run, trains=True)
    _add_study(run)
    add_allowing(run)
    run.add_argument(
        "--dry-run", action="store_true", help="check every point and list what would be trained"
    )
    run.add_argument(
        "--detach", action="store_true", help="run it in the background, and return at once"
    )
    run.add_argument(
        "--anew",
        action="store_true",
        help="measure again what failed, and where the plan's code or data has changed",
    )
    add_json(run)


def register(commands: Commands) -> None:
    """Add the command and its actions."""
    actions = add_group(commands, "study", _SUMMARY, _EXAMPLES)
    register_new(actions)
    _register_run(actions)
    example = "examples:\n  gpu-studio study stop\n  gpu-studio study stop --after-point"
    stop = add_command(actions, "stop", "stop the study that is being run", example, _stop)
    stop.add_argument(
        "--after-point", action="store_true", help="let the run under way be measured first"
    )
    add_json(stop)
    example = "example:\n  gpu-studio study list --json"
    known = add_command(actions, "list", "the studies that were made or run here", example, _list)
    add_json(known)
    example = "example:\n  gpu-studio study show digits.study.toml"
    show = add_command(actions, "show", "say what is measured, and the verdict", example, _show)
    _add_study(show)
    add_json(show)
    example = "example:\n  gpu-studio study report digits.study.toml --to digits.html"
    report = add_command(actions, "report", "write the study as one HTML file", example, _report)
    _add_study(report)
    report.add_argument("--to", metavar="FILE", type=Path, help="the HTML file to write")
    add_force(report, "a file that is there")
    add_json(report)


def _add_study(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", metavar="STUDY", type=Path, help="the study file")


def _run(chosen: argparse.Namespace) -> int:
    from gpu_studio.cli.given_plan import this_machine
    from gpu_studio.common.practice import chosen as practice_cards
    from gpu_studio.runs.study_shelf import open_study

    if practice_cards() is not None:
        raise RefusedError(
            "Practice cards compute on the CPU: how fast they are says nothing of real ones. Run "
            "the study without --practice."
        )
    opened = open_study(chosen.study)
    machine = this_machine()
    _check(chosen, opened, machine)
    before = _measured(chosen, opened)
    _tell_before(before)
    if chosen.dry_run:
        for point, repeat in before.left:
            repeats = before.study.repeats > 1
            say(f"{point.label}, repeat {repeat + 1}" if repeats else point.label)
        return OK
    return _start(chosen, opened) if chosen.detach else _train(chosen, opened, machine)


def _measured(chosen: argparse.Namespace, opened: OpenStudy) -> StudyRuns:
    """The runs of the study; with --anew without what is to be measured again."""
    from gpu_studio.runs.studies import StudyRuns

    runs = runs_folder(chosen)
    state = StudyRuns.read(runs, opened.study, opened.points, opened.plan)
    if getattr(chosen, "anew", False) and not chosen.dry_run and state.anew:
        state.noted.set_aside(state.anew)
        state = StudyRuns.read(runs, opened.study, opened.points, opened.plan)
    return state


def _start(chosen: argparse.Namespace, opened: OpenStudy) -> int:
    """Start the study in the background, and say how to follow and stop it."""
    from gpu_studio.runs.paths import command_in
    from gpu_studio.runs.studies import StudyError
    from gpu_studio.runs.study_runner import start_detached

    try:
        process = start_detached(runs_folder(chosen), opened.path)
    except StudyError as error:
        raise RefusedError(str(error)) from error
    except OSError as error:
        raise _cannot_go_on(runs_folder(chosen), error) from error
    if chosen.json:
        say_json({"study": str(opened.path), "pid": process.pid})
    note(
        f"It runs in the background. See it with: {typed('study', 'show', chosen.study)}; stop it "
        f"with: {command_in(runs_folder(chosen), 'study stop')}"
    )
    return OK


def _train(chosen: argparse.Namespace, opened: OpenStudy, machine: Machine) -> int:
    from gpu_studio.common.processes import counted_interrupts
    from gpu_studio.runs.studies import StudyError
    from gpu_studio.runs.study_runner import StudyRunner
    from gpu_studio.runs.study_shelf import remember

    runs = runs_folder(chosen)
    runner = StudyRunner(runs, opened, machine, note)
    with suppress(OSError):  # it is only not listed then
        remember(runs, opened.path)
    with counted_interrupts() as interrupts:
        try:
            after = runner.run(interrupts)
        except StudyError as error:
            raise RefusedError(str(error)) from error
        except OSError as error:
            raise _cannot_go_on(runs, error) from error
        stopped = interrupts.came or runner.was_ended
    _tell(after, chosen)
    if stopped and after.left:
        again = typed("study", "run", chosen.study)
        note(f"{len(after.left)} runs are left. Go on with: {again}")
        return INTERRUPTED
    failed = any(each.failed for each in after.groups())
    return FAILED if failed or after.left else OK


def _cannot_go_on(runs: Path, error: OSError) -> RefusedError:
    return RefusedError(
        f"The study cannot be run in {runs}: {error.strerror or error}. What is done is kept. Free "
        "some space there, or allow writing, and run it again; --runs-dir names another folder."
    )


def _stop(chosen: argparse.Namespace) -> int:
    from gpu_studio.runs.study_runner import being_run, end_after_this_one, stop_running

    runs = runs_folder(chosen)
    path = being_run(runs)
    if path is None:
        raise RefusedError(f"No study is being run in {runs}.")
    if problem := end_after_this_one(runs) if chosen.after_point else stop_running(runs):
        raise RefusedError(problem)
    how = " once the run under way is measured." if chosen.after_point else _AT_ONCE
    if chosen.json:
        say_json({"study": str(path), "after_point": chosen.after_point})
    else:
        say(f"Asked {path.name or 'it'} to stop{how}")
    return OK


def _list(chosen: argparse.Namespace) -> int:
    from gpu_studio.runs.paths import command_in
    from gpu_studio.runs.study_view import StudyDesk

    found = StudyDesk(runs_folder(chosen)).look()
    if chosen.json:
        say_json([_listed(each) for each in found])
        return OK
    if not found:
        new = command_in(runs_folder(chosen), "study new scaling-strong my.plan.toml")
        note(f"No study was made or run here yet: {new}")
        return OK
    rows = [(each.name, each.progress, _verdict_in(each), str(each.path)) for each in found]
    say_table([("STUDY", "RUNS", "VERDICT", "FILE"), *rows])
    return OK


def _verdict_in(each: StudySnapshot) -> str:
    sentence, stop, _ = each.verdict.headline.partition(". ")
    return each.problem.partition("\n")[0] or (f"{sentence}{stop.rstrip()}" if each.done else "")


def _listed(each: StudySnapshot) -> dict[str, Any]:
    return {
        "study": each.name,
        "file": str(each.path),
        "problem": each.problem or None,
        "runs": each.total,
        "done": each.done,
        "failed": len(each.failed),
        "running": each.is_run,
        "seconds_left": each.seconds_left,
        "changed_since": each.stale,
        "verdict": each.verdict.headline if each.done else None,
        "chosen": each.verdict.chosen or None,
    }


def _check(chosen: argparse.Namespace, opened: OpenStudy, machine: Machine) -> None:
    """Refuse the study if the rules refuse any point, before anything is trained."""
    from gpu_studio.cli.given_plan import have_allowed
    from gpu_studio.runs.studies import study_problems

    for plan in opened.plans():
        have_allowed(plan, allow=chosen.allow_code, may_ask=not (chosen.json or chosen.detach))
    refused = list(study_problems(opened.points, opened.folder, machine))
    if refused:
        lines = [
            f"  {point.label}: {problem}" for point, error in refused for problem in error.problems
        ]
        count = f"{len(refused)} of {len(opened.points)} points"
        raise RefusedError("\n".join([f"{count} cannot be trained; nothing was begun:", *lines]))


def _tell_before(state: StudyRuns) -> None:
    from gpu_studio.common.figures import duration, plural
    from gpu_studio.runs.study_files import in_words

    left, each = len(state.left), state.seconds_each
    about = f", about {duration(left * each)}" if each and left else ""
    runs = plural(len(state.order), "run")
    note(f"{state.study.name}: {runs}, {len(state.done)} done, {left} left{about}")
    if stale := state.changed:
        files = in_words(path for each in stale for path in each.changed)
        note(
            f"{files} changed since {plural(len(stale), 'run')} of them read it. They still count: "
            "study run --anew measures them again."
        )


def _show(chosen: argparse.Namespace) -> int:
    from gpu_studio.runs.study_shelf import open_study

    state = _measured(chosen, open_study(chosen.study))
    if not chosen.json:
        _tell_before(state)
    _tell(state, chosen)
    return OK


def _tell(state: StudyRuns, chosen: argparse.Namespace) -> None:
    from gpu_studio.runs.studies import judged

    verdict, groups = judged(state), state.groups()
    if chosen.json:
        say_json(_document(state, verdict, groups))
        return
    say_table([_POINT_HEADINGS, *map(_row, groups)])
    say()
    say(verdict.headline)
    for line in verdict.more:
        say(line)


def _row(group: PointGroup) -> tuple[str, ...]:
    from gpu_studio.common.figures import UNKNOWN, metric, rounded, small_share, span
    from gpu_studio.lab.study_picture import spread_of

    if not group.rates:
        return (group.label, "failed" if group.failed else "not measured yet", "", "", "", "0")
    apart = spread_of(group)
    spread = UNKNOWN if apart is None else small_share(apart)
    steps = group.step_seconds
    loss = metric(group.loss) if group.is_sound else UNKNOWN
    step = span(sum(steps) / len(steps))
    return (group.label, rounded(group.rate), spread, step, loss, str(len(group.rates)))


def _document(state: StudyRuns, verdict: StudyVerdict, groups: list[PointGroup]) -> dict[str, Any]:
    import msgspec

    return {
        "study": state.study.name,
        "template": state.study.template,
        "plan": state.study.plan,
        "runs": len(state.order),
        "done": len(state.done),
        "points": [_point(group) for group in groups],
        "fits": [_law(each) for each in verdict.fits],
        "noise": verdict.noise,
        "verdict": verdict.headline,
        "more": list(verdict.more),
        "chosen": verdict.chosen or None,
        "largest": msgspec.to_builtins(state.study.largest),
        "run_ids": [each.run.id for each in state.done],
    }


def _point(group: PointGroup) -> dict[str, Any]:
    return {
        "label": group.label,
        "x": group.x,
        "samples_per_second": list(group.rates),
        "step_seconds": list(group.step_seconds),
        "losses": list(group.losses),
        "memory_bytes": group.memory,
        "shares": group.shares,
        "failed": group.failed or None,
    }


def _law(fit: Fit) -> dict[str, Any]:
    """A law with each estimate and the ends of its interval, null where there is none."""
    known = {"serial": fit.serial, "communication_seconds": fit.communication}
    numbers = {
        name: [None if math.isnan(each) else each for each in (found.value, found.low, found.high)]
        for name, found in known.items()
        if found is not None
    }
    return {"law": fit.law, **numbers}


def _report(chosen: argparse.Namespace) -> int:
    from gpu_studio.runs.results.report.study import write_study_report
    from gpu_studio.runs.studies import judged
    from gpu_studio.runs.study_shelf import open_study

    state = _measured(chosen, open_study(chosen.study))
    if not state.done:
        raise RefusedError(
            f"Nothing of {state.study.name} has been measured yet: "
            f"{typed('study', 'run', chosen.study)}"
        )
    target = chosen.to or chosen.study.with_name(f"{chosen.study.name.partition('.')[0]}.html")
    refuse_to_replace([target], force=chosen.force)
    write_study_report(state, judged(state), target)
    if chosen.json:
        say_json({"report": str(target)})
    else:
        say(str(target))
    return OK
