"""`lab …`: measure what this machine can do, keep it, and compare it with what was measured."""

from __future__ import annotations

import argparse
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
    add_group,
    add_json,
    note,
    say,
    say_json,
    say_table,
)

if TYPE_CHECKING:
    from gpu_studio.lab.benchmarks import BenchmarkResult, RowChange
    from gpu_studio.lab.hand_placement import HandPlacement
    from gpu_studio.plan import Machine, Plan
    from gpu_studio.runs.benchmarks import KeptResult

_SUMMARY = "measure what the devices, and the links between them, can do"
_NAMES: Final = ("compute", "launched", "together", "copies", "all-reduce", "place", "input")
_EXAMPLES: Final = """\
benchmarks:
  compute      multiply, convolve and go through memory, by type and size
  launched     fifty multiplications: when the calls return, and when they are done
  together     the devices one after another, and all at once
  copies       between the host and each device, and from device to device
  all-reduce   each way to add up gradients, by size
  place        operations on devices of your choice: which one has really executed each
  input        how fast the data of a plan can be read, alone

Each measures in a process of TensorFlow's own, with warm-up and repeats, and checks its results.

examples:
  gpu-studio lab run compute
  gpu-studio lab run all-reduce --plan four-slices.plan.toml
  gpu-studio lab run place --op a=matmul@CPU:0 --op b=matmul@CPU:1 --op "total=add(a,b)@CPU:0"
  gpu-studio lab run input --plan digits.plan.toml
  gpu-studio lab show compute
  gpu-studio lab compare 20261124T0150 latest"""
_RUN: Final = """\
Without --plan, all devices are measured: every card, or this CPU. A benchmark of several devices
takes two logical CPUs where there is no card. Ctrl+C keeps what was measured.

Operations that are placed by hand are written NAME=KIND(INPUT,…)@DEVICE. The kinds are matmul, add,
subtract, multiply, relu, tanh, softmax and transpose, of square matrices. What an operation takes
besides its inputs is made up; without @DEVICE TensorFlow chooses. Without --op there is one
multiplication on each device, and their sum on the CPU.

examples:
  gpu-studio lab run copies
  gpu-studio lab run place --op a=matmul@CPU:0 --op "b=relu(a)@GPU:3" --soft-placement off
  gpu-studio lab run together --plan four-slices.plan.toml --json

exit codes:
  0    all was measured, and the results of what was computed are right
  1    a part could not be measured, or a result was wrong
  2    refused, with nothing done
  130  interrupted"""
_RESULT_HELP: Final = (
    "the result: its name or the beginning of it, its file, a benchmark for its newest, or: latest"
)

_KEPT_HELP: Final = "the result: its name or the beginning of it, a benchmark, or: latest"


def register(commands: Commands) -> None:
    """Add the command and its actions."""
    actions = add_group(commands, "lab", _SUMMARY, _EXAMPLES)
    example = "example:\n  gpu-studio lab list --json"
    add_json(add_command(actions, "list", "list what was measured", example, _list))
    run = add_command(actions, "run", "measure, and keep the result", _RUN, _run, trains=True)
    run.add_argument("benchmark", metavar="BENCHMARK", choices=_NAMES, help=", ".join(_NAMES))
    run.add_argument(
        "--plan", metavar="PLAN", type=Path, help="measure the devices of this plan, or its data"
    )
    add_allowing(run)
    _add_by_hand(run)
    add_json(run)
    example = "examples:\n  gpu-studio lab show latest\n  gpu-studio lab show compute --json"
    show = add_command(actions, "show", "show a result, and what it says", example, _show)
    show.add_argument("result", metavar="RESULT", nargs="?", default="latest", help=_RESULT_HELP)
    add_json(show)
    example = "example:\n  gpu-studio lab compare 20261101T0900 compute"
    compare = add_command(actions, "compare", "say what has changed", example, _compare)
    compare.add_argument("before", metavar="BEFORE", help=_RESULT_HELP)
    compare.add_argument(
        "after", metavar="AFTER", nargs="?", default="latest", help="the later one"
    )
    add_json(compare)

    example = "examples:\n  gpu-studio lab delete 20261101T0900\n  gpu-studio lab delete copies"
    about = "delete a result; `lab restore` takes it back for a day"
    delete = add_command(actions, "delete", about, example, _delete)
    delete.add_argument("result", metavar="RESULT", help=_KEPT_HELP)
    add_json(delete)
    example = "example:\n  gpu-studio lab restore latest"
    restore = add_command(actions, "restore", "take a deleted result back", example, _restore)
    restore.add_argument("result", metavar="RESULT", nargs="?", default="latest", help=_KEPT_HELP)
    add_json(restore)


def _add_by_hand(run: argparse.ArgumentParser) -> None:
    placed = run.add_argument_group("operations placed by hand, of the benchmark place")
    placed.add_argument(
        "--op",
        metavar="OPERATION",
        action="append",
        help="an operation, after those whose results it takes: total=add(a,b)@CPU:0; may be given "
        "several times",
    )
    placed.add_argument(
        "--soft-placement",
        choices=("on", "off"),
        help="whether TensorFlow may take another device than was asked for (default: on)",
    )
    placed.add_argument(
        "--side", metavar="N", type=int, help="the side of the square matrices (default: 1000)"
    )


def _list(chosen: argparse.Namespace) -> int:
    from gpu_studio.common.figures import moment, plural
    from gpu_studio.runs.benchmarks import benchmarks_folder, kept_results

    results = kept_results()
    if chosen.json:
        say_json([_listed(each) for each in results])
        return OK
    if not results:
        note(f"Nothing was measured yet, or it is not in {benchmarks_folder()}.")
        note("Measure with: gpu-studio lab run compute")
        return OK
    rows: list[tuple[str, ...]] = [("NAME", "MEASURED", "WHAT", "ON")]
    for each in results:
        if each.result is None:
            rows.append((each.name, "", "cannot be read", each.why_not))
            continue
        count = plural(len(each.result.rows), "row")
        whole = count if each.result.complete else f"{count}, broken off"
        rows.append((each.name, moment(each.result.begun), whole, _devices(each.result)))
    say_table(rows)
    return OK


def _listed(kept: KeptResult) -> dict[str, Any]:
    found = kept.result
    return {
        "name": kept.name,
        "file": str(kept.path),
        "benchmark": found.benchmark if found else None,
        "begun": found.begun if found else None,
        "complete": found.complete if found else False,
        "why_not": kept.why_not or None,
    }


def _devices(result: BenchmarkResult) -> str:
    return ", ".join(dict.fromkeys(name for row in result.rows for name in row.devices))


def _run(chosen: argparse.Namespace) -> int:
    from gpu_studio import plan as plans
    from gpu_studio.cli.given_plan import have_allowed, this_machine
    from gpu_studio.lab.benchmarks import BenchmarkError, tolerance
    from gpu_studio.runs.benchmarks import (
        INPUT,
        benchmark_plan,
        data_alone,
        keep_result,
        run_benchmark,
    )

    machine = this_machine()
    given = None
    if chosen.plan:
        given = plans.with_absolute_files(plans.load(chosen.plan), chosen.plan.parent)
    try:
        plan = benchmark_plan(chosen.benchmark, machine, given)
        if chosen.benchmark == INPUT:
            data = data_alone(plans.AbsolutePlan(plan))
            have_allowed(data, allow=chosen.allow_code, may_ask=not chosen.json)
        by_hand = _by_hand(chosen, plan, machine)
        result = run_benchmark(chosen.benchmark, plan, machine, note, by_hand=by_hand)
    except BenchmarkError as error:
        raise RefusedError(str(error)) from error
    try:
        path = keep_result(result)
    except OSError as error:
        _tell(result, None, chosen)
        why = error.strerror or error
        note(f"It is kept in no file ({why}): redirect what is written here to keep it.")
        return FAILED
    _tell(result, path, chosen)
    if not result.complete:
        return INTERRUPTED if "cancelled" in result.why_not_complete else FAILED
    wrong = [r for r in result.rows if r.error is not None and r.error > tolerance(r.dtype)]
    refused = any(row.name and not row.devices for row in result.rows)
    return FAILED if wrong or refused else OK


def _by_hand(chosen: argparse.Namespace, plan: Plan, machine: Machine) -> HandPlacement | None:
    """The operations that are given; None of another benchmark. Raises BenchmarkError."""
    from gpu_studio.lab.benchmarks import BenchmarkError
    from gpu_studio.lab.hand_placement import SIDE, HandPlacement, classic, operation_of
    from gpu_studio.plan import default_devices, logical_devices
    from gpu_studio.runs.benchmarks import BY_HAND

    if chosen.benchmark != BY_HAND:
        if chosen.op or chosen.soft_placement or chosen.side is not None:
            raise BenchmarkError(
                f"--op, --soft-placement and --side are of {BY_HAND}: leave them out, or run it."
            )
        return None
    side = SIDE if chosen.side is None else chosen.side
    soft = chosen.soft_placement != "off"
    if not chosen.op:
        names = default_devices(logical_devices(plan, machine))
        return classic(names, side, soft_placement=soft)
    return HandPlacement(tuple(map(operation_of, chosen.op)), soft, side)


def _show(chosen: argparse.Namespace) -> int:
    kept = _named(chosen.result)
    assert kept.result is not None
    _tell(kept.result, kept.path, chosen)
    return OK


def _named(text: str) -> KeptResult:
    from gpu_studio.lab.benchmarks import BenchmarkError
    from gpu_studio.runs.benchmarks import result_named

    try:
        return result_named(text)
    except BenchmarkError as error:
        raise RefusedError(str(error)) from error


def _delete(chosen: argparse.Namespace) -> int:
    from gpu_studio.lab.benchmarks import BenchmarkError
    from gpu_studio.runs.benchmark_shelf import delete_result, kept_named

    try:
        kept = kept_named(chosen.result)
    except BenchmarkError as error:
        raise RefusedError(str(error)) from error
    where = delete_result(kept)
    if chosen.json:
        say_json({"name": kept.name, "trash": str(where)})
    else:
        note(f"{kept.name} is deleted. Take it back with: gpu-studio lab restore {kept.name}")
    return OK


def _restore(chosen: argparse.Namespace) -> int:
    from gpu_studio.lab.benchmarks import BenchmarkError
    from gpu_studio.runs.benchmark_shelf import deleted_named, restore_result

    try:
        kept = deleted_named(chosen.result)
    except BenchmarkError as error:
        raise RefusedError(str(error)) from error
    where = restore_result(kept.path)
    if chosen.json:
        say_json({"name": kept.name, "file": str(where)})
    else:
        note(f"{kept.name} is back.")
    return OK


def _tell(result: BenchmarkResult, path: Path | None, chosen: argparse.Namespace) -> None:
    import msgspec

    from gpu_studio.common.figures import moment
    from gpu_studio.lab.benchmark_figures import HEADINGS, row_words
    from gpu_studio.lab.benchmarks import BENCHMARKS, judged

    verdict = judged(result)
    if chosen.json:
        file = str(path) if path else None
        say_json({"file": file, "verdict": verdict, **msgspec.to_builtins(result)})
        return
    about = BENCHMARKS[result.benchmark]
    say(f"{about.title}, {moment(result.begun)}")
    say(", ".join(f"{what} {name}" for what, name in result.machine.items()))
    say()
    say_table([tuple(each.upper() for each in HEADINGS), *map(row_words, result.rows)])
    say()
    for line in verdict:
        say(line)
    if path is not None:
        note(f"Kept in {path}")


def _compare(chosen: argparse.Namespace) -> int:
    from gpu_studio.common.figures import span
    from gpu_studio.lab.benchmark_figures import row_words
    from gpu_studio.lab.benchmarks import BenchmarkError, changes, other_machine

    before, after = _named(chosen.before).result, _named(chosen.after).result
    assert before is not None
    assert after is not None
    try:
        found = changes(before, after)
    except BenchmarkError as error:
        raise RefusedError(str(error)) from error
    differs = other_machine(before, after)
    if chosen.json:
        say_json({"machine": differs, "rows": [_change_document(each) for each in found]})
        return OK
    for line in differs:
        say(line)
    clear = [each for each in found if each.is_clear]
    rows: list[tuple[str, ...]] = [
        ("WHAT", "DEVICES", "TYPE", "SIZE", "BEFORE", "AFTER", "TIMES AS FAST")
    ]
    for each in sorted(clear, key=lambda one: one.ratio):
        what, devices, dtype, size, *_ = row_words(each.after)
        both = span(each.before.middle), span(each.after.middle)
        rows.append((what, devices, dtype, size, *both, f"{each.ratio:.2f}"))
    if clear:
        say_table(rows)
    say(f"{len(clear)} of {len(found)} measurements differ by more than the noise.")
    return OK


def _change_document(each: RowChange) -> dict[str, Any]:
    return {
        "what": each.after.what,
        "devices": list(each.after.devices),
        "dtype": each.after.dtype,
        "size": each.after.size,
        "before_seconds": each.before.middle,
        "after_seconds": each.after.middle,
        "times_as_fast": each.ratio,
        "told_apart": each.is_clear,
    }
