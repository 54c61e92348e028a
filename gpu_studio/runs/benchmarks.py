"""Benchmarks: measured in the trainer's process, kept as files that two of can be compared."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from platformdirs import user_data_path

from gpu_studio import plan as plans
from gpu_studio.common.safe_files import read_regular
from gpu_studio.contract.files import make_private_directory, write_private
from gpu_studio.lab.benchmarks import (
    BENCHMARKS,
    BenchmarkError,
    BenchmarkResult,
    BenchmarkRow,
    Pace,
    dumps_result,
    loads_result,
    row_of,
    with_pace,
)
from gpu_studio.lab.hand_placement import (
    HandPlacement,
    checked,
    classic,
    unknown_devices,
    with_explanation,
)
from gpu_studio.lab.published_peaks import against_peak
from gpu_studio.plan import AbsolutePlan, DeviceSettings, Machine, Plan, logical_devices
from gpu_studio.plan.devices import default_devices
from gpu_studio.runs.machine_identity import identity, physical_names
from gpu_studio.runs.paths import runs_dir
from gpu_studio.runs.questions.ask import AskCancelledError, AskError, ask
from gpu_studio.runs.questions.plan_question import NotAllowedError, refuse_unless_allowed
from gpu_studio.runs.results.measured_steps import MeasuredSteps
from gpu_studio.runs.results.run_figures import figures_of

LONGEST_S: Final = 1800.0
SUFFIX: Final = ".benchmark.json"
_LARGEST: Final = 8 * 1024 * 1024
_TIME: Final = "%Y%m%dT%H%M%SZ"
TENSORFLOW: Final = "TensorFlow"
"""What a result calls its version."""
BY_HAND: Final = "place"
"""The benchmark of operations that are placed by hand."""
OF_CARDS: Final = ("compute", "launched", "together")
"""The benchmarks of which a row is held against the published peak of its card."""
INPUT: Final = "input"
"""The benchmark of the data of a plan."""
_TRASH: Final = ".trash"
_KEPT_IN_TRASH_S: Final = 86_400.0


def benchmarks_folder() -> Path:
    """The folder of the results, in the user's data directory; it need not exist."""
    return (user_data_path("gpu-studio") / "lab").absolute()


@dataclass(frozen=True, slots=True)
class KeptResult:
    """A result and its file. One that cannot be read has none, and `why_not` says why."""

    path: Path
    result: BenchmarkResult | None
    why_not: str = ""

    @property
    def name(self) -> str:
        """What it is called: the name of its file without the ending."""
        return self.path.name.removesuffix(SUFFIX)

    @property
    def benchmark(self) -> str:
        """Of which benchmark it is; of one that cannot be read, by its name, or empty."""
        if self.result is not None:
            return self.result.benchmark
        rest = self.name.partition("-")[2]
        return next((each for each in BENCHMARKS if f"{rest}-".startswith(f"{each}-")), "")


def kept_results(folder: Path | None = None) -> list[KeptResult]:
    """All results in the folder, the newest first. Raises OSError if it cannot be listed."""
    folder = folder or benchmarks_folder()
    if not folder.is_dir():
        return []
    names = (each.name for each in folder.iterdir() if each.name.endswith(SUFFIX))
    stems = sorted(name.removesuffix(SUFFIX) for name in names)
    return [_kept(folder / f"{stem}{SUFFIX}") for stem in reversed(stems)]


def _kept(path: Path) -> KeptResult:
    try:
        return KeptResult(path, load_result(path))
    except (BenchmarkError, OSError) as error:
        return KeptResult(path, None, str(error))


def load_result(path: Path) -> BenchmarkResult:
    """Read a result. Raises BenchmarkError, or OSError if the file cannot be read."""
    return loads_result(read_regular(path, _LARGEST, follow=True), path.name)


def result_named(text: str, folder: Path | None = None) -> KeptResult:
    """The one result that is meant: by its path, its name or the beginning of it, or a benchmark.

    A benchmark's name, or `latest`, means the newest of it, or of all. Raises BenchmarkError.
    """
    if (path := Path(text)).is_file():
        return KeptResult(path, load_result(path))
    results = kept_results(folder)
    for each in results:
        newest = text == "latest" or (each.result is not None and each.result.benchmark == text)
        if newest or each.name == text:
            return _readable(each)
    begun = [each for each in results if each.name.startswith(text)]
    if len(begun) == 1:
        return _readable(begun[0])
    if begun:
        names = ", ".join(each.name for each in begun[:5])
        raise BenchmarkError(f"{len(begun)} results begin with {text} ({names}): write more of it.")
    raise BenchmarkError(
        f"There is no result {text}. gpu-studio lab list shows those that are there."
    )


def _readable(kept: KeptResult) -> KeptResult:
    if kept.result is None:
        raise BenchmarkError(kept.why_not)
    return kept


def benchmark_plan(name: str, machine: Machine, given: Plan | None = None) -> Plan:
    """The plan of which the devices are measured: those of `given`, else all that are there.

    Without a card, two logical CPUs stand for the devices of a benchmark of several, or of what is
    placed by hand. Raises BenchmarkError for a simulated machine or practice cards, for too few
    devices, and where a plan is needed and none is given.
    """
    wanted = BENCHMARKS[name]
    if machine.simulated:
        raise BenchmarkError("Simulated cards compute nothing: they are never measured.")
    if machine.practice:
        raise BenchmarkError(
            "Practice cards compute on the CPU: how fast they are says nothing of real ones. "
            "Measure without them."
        )
    if given is None and wanted.of_a_plan:
        raise BenchmarkError(f"{wanted.title} is measured of a plan: name it with --plan.")
    if given is not None and wanted.of_a_plan:
        return given
    devices = given.devices if given is not None else DeviceSettings()
    spread = wanted.several or name == BY_HAND
    if given is None and spread and not machine.cards:
        devices = DeviceSettings(carve=(plans.Carve("CPU:0", (0, 0)),))
    plan = Plan(name=f"benchmark {name}", devices=devices)
    names = default_devices(logical_devices(plan, machine))
    if wanted.several and len(names) < 2:
        raise BenchmarkError(
            f"{wanted.title} needs two devices, and there is {names[0] if names else 'none'}: "
            "carve it in a plan, and measure the devices of that plan."
        )
    return plan


def run_benchmark(
    name: str,
    plan: Plan,
    machine: Machine,
    progress: Callable[[str], None],
    *,
    by_hand: HandPlacement | None = None,
    pace: Pace | None = None,
    command: Sequence[str] | None = None,
    cancel: threading.Event | None = None,
    measured: Callable[[BenchmarkRow], None] | None = None,
) -> BenchmarkResult:
    """Measure in a process of TensorFlow's. What was measured before an end is in the result.

    `by_hand` are the operations of the benchmark `place`; without them, one multiplication on each
    device, and their sum on the CPU. The files of a plan whose data are read must be absolute, and
    `pace` is how fast it trains, if that is known; without it, as its newest run did.
    `measured` is called with each row as it comes. Raises BenchmarkError if nothing was measured,
    or the data are code that is not allowed.
    """
    begun, rows, known, why_not = time.time(), list[BenchmarkRow](), identity(machine), ""
    about: dict[str, Any] = {"benchmark": name, "plan": plans.dumps(plan)}
    logical = [each.name for each in logical_devices(plan, machine)]
    explained: dict[str, str] = {}
    cards = _cards(plan, machine)
    if name == BY_HAND:
        placement = by_hand or classic(default_devices(logical_devices(plan, machine)))
        explained = unknown_devices(checked(placement), logical)
        about = {**about, "plan": plans.dumps(_as_placed(plan, placement)), **placement.asked}
        known["soft placement"] = "on" if placement.soft_placement else "off"

    if name == INPUT:
        data = data_alone(AbsolutePlan(plan))
        _refuse_unless_allowed(data)
        about, pace = {**about, "plan": plans.dumps(data)}, pace or newest_pace(AbsolutePlan(plan))
        known["data"] = _name_of(plan.data)

    def take(part: dict[str, Any]) -> None:
        row = with_pace(row_of(part), pace)
        if name in OF_CARDS and len(row.devices) == 1:
            row = against_peak(row, cards.get(row.devices[0], ""))
        rows.append(with_explanation(row, explained))
        if measured is not None:
            measured(rows[-1])

    try:
        found = ask(
            "benchmark",
            about=about,
            command=command,
            timeout=LONGEST_S,
            fresh=True,
            progress=progress,
            part=take,
            cancel=cancel,
        ).value
        known[TENSORFLOW] = str(found.get("tensorflow", "unknown"))
    except (KeyboardInterrupt, AskCancelledError):
        why_not = "it was cancelled"
    except AskError as error:
        why_not = str(error)
    if why_not and not rows:
        raise BenchmarkError(f"Nothing was measured: {why_not}.")
    names = {physical: uuid for uuid, physical in physical_names(machine).items()}
    devices = {each.name: names.get(each.physical, "") for each in logical_devices(plan, machine)}
    return BenchmarkResult(name, begun, known, tuple(rows), not why_not, why_not, devices)


def _cards(plan: Plan, machine: Machine) -> dict[str, str]:
    """The name of the card of each logical device that is a whole one, or a slice of one.

    An instance of a card has a part of its peak, which nobody publishes.
    """
    known = {each.name: machine.card(each.physical) for each in logical_devices(plan, machine)}
    return {name: card.name for name, card in known.items() if card and not card.instance}


def data_alone(plan: AbsolutePlan) -> AbsolutePlan:
    """The plan without what its data do not need: nothing of its model is run."""
    training = plans.Training(
        batch_size=plan.training.batch_size,
        batch_scope=plan.training.batch_scope,
        steps_per_epoch=plan.training.steps_per_epoch,
        seed=plan.training.seed,
        epochs=plan.training.epochs,
    )
    blank = AbsolutePlan(Plan(name=plan.name))
    return replace(
        blank,
        devices=plan.devices,
        data=plan.data,
        training=training,
        distribution=plan.distribution,
    )


def _refuse_unless_allowed(plan: AbsolutePlan) -> None:
    try:
        refuse_unless_allowed(plan)
    except NotAllowedError as error:
        raise BenchmarkError(str(error)) from error


def _name_of(data: plans.Data) -> str:
    return str(data.python or data.table or data.folder or data.file or data.name)


def newest_pace(plan: AbsolutePlan, runs: Path | None = None) -> Pace | None:
    """How fast the newest run trained that trains like this plan; None if there is none."""
    try:
        for run in MeasuredSteps(runs or runs_dir()).alike(plan):
            if rate := figures_of(run).samples_per_second:
                return Pace(rate, f"as in run {run.id}")
    except OSError:
        return None
    return None


def _as_placed(plan: Plan, placement: HandPlacement) -> Plan:
    """The plan with the placement's soft placement, and TensorFlow's log of it."""
    devices = replace(plan.devices, soft_placement=placement.soft_placement, log_placement=True)
    return replace(plan, devices=devices)


def keep_result(result: BenchmarkResult, folder: Path | None = None) -> Path:
    """Write the result to a new file, readable by its user alone. Raises OSError."""
    folder = folder or benchmarks_folder()
    make_private_directory(folder)
    stem = f"{time.strftime(_TIME, time.gmtime(result.begun))}-{result.benchmark}"
    for path in _free(folder, stem):
        write_private(path, dumps_result(result))
        return path
    raise FileExistsError(folder / stem)


def delete_result(kept: KeptResult) -> Path:
    """Move a result to the trash of its folder, and return where it lies now. Raises OSError.

    What was deleted a day ago or earlier is removed for good.
    """
    trash = kept.path.parent / _TRASH
    if trash.is_symlink():
        why_not = "this is a link, which is not followed: remove it"
        raise NotADirectoryError(errno.ENOTDIR, why_not, str(trash))
    make_private_directory(trash)
    for old in trash.iterdir():
        if old.lstat().st_mtime < time.time() - _KEPT_IN_TRASH_S:
            old.unlink()
    os.utime(kept.path, follow_symlinks=False)
    return kept.path.rename(trash / kept.path.name)


def restore_result(path: Path) -> Path:
    """Move a result out of the trash again. Raises OSError, also if another has its name now."""
    target = path.parent.parent / path.name
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
    return path.rename(target)


def _free(folder: Path, stem: str) -> Iterator[Path]:
    names = (stem, *(f"{stem}-{number}" for number in range(2, 1000)))
    paths = (folder / f"{name}{SUFFIX}" for name in names)
    return (path for path in paths if not os.path.lexists(path))
