"""Start a run: a detached trainer process, which outlives the one that started it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gpu_studio import plan as plans
from gpu_studio.common.processes import (
    module_command,
    module_environment,
    signals_await_handlers,
)
from gpu_studio.common.safe_files import open_regular
from gpu_studio.contract import Resume, RunDirectory, lock
from gpu_studio.contract.consent import is_shell_allowed
from gpu_studio.contract.directory import pass_on
from gpu_studio.hosts.slurm_run import can_be_named, shell_of
from gpu_studio.plan import AbsolutePlan, Cluster, Problem, cluster_of, shown
from gpu_studio.plan.rules.device_rules import allocator
from gpu_studio.runs.queue_entry import note_in
from gpu_studio.runs.sources import file_problems

TRAINER_VARIABLE = "GPU_STUDIO_TRAINER"
_PRIVATE_UMASK = 0o077


@dataclass(frozen=True, slots=True)
class Launched:
    """A started run, and its trainer process."""

    directory: RunDirectory
    process: subprocess.Popen[bytes]

    def poll(self) -> int | None:
        """Return the trainer's exit code, negative for a signal; None while it is alive.

        Call it from time to time while this process lives: otherwise an ended trainer remains as a
        zombie.
        """
        return self.process.poll()


def launch(
    plan: AbsolutePlan,
    runs: Path,
    *,
    python: str = sys.executable,
    trainer: Sequence[str] | None = None,
    resume: Resume | None = None,
    queued_as: str = "",
    base: Path | None = None,
    machine: plans.Machine | None = None,
    environment: Mapping[str, str] | None = None,
    fill: Callable[[RunDirectory], None] | None = None,
) -> Launched:
    """Start `plan` as a new run under `runs`, detached, and return at once.

    `base` is the folder that the trainer starts in, the current one by default. `trainer` is the
    command line to which the run directory is appended, by default this package's trainer under
    `python`. `queued_as` is the queue entry that it comes from. `environment` is added to this
    process's own. `fill` writes further files into the directory before others can see it.

    Raises PlanError if the plan is not valid (on `machine`, if one is given), or if the machines
    of a cluster lack something, with nothing written; OSError if the directory cannot be written
    or the process not started, with nothing left behind.
    """
    folder = (base or Path.cwd()).absolute()
    if problems := problems_of(plan, plan, machine) or machine_problems(plan, runs):
        raise plans.PlanError(problems, plan.name)
    command = list(trainer or trainer_command(python))
    directory = RunDirectory.prepare(runs, plan.name)
    try:
        _fill(directory, plan, resume, queued_as, fill)
        held = _reserved(directory, runs)
        directory = directory.publish()
        launched = Launched(directory, _start(command, directory, held, folder, environment or {}))
    except BaseException as error:
        shutil.rmtree(directory.path, ignore_errors=True)
        _name_folder(error, runs, directory.path)
        raise
    _give_number(runs)
    return launched


def _name_folder(error: BaseException, runs: Path, removed: Path) -> None:
    """Name the folder in what the system says, as of a full disk, without a file that remains."""
    if isinstance(error, OSError) and error.errno is not None:
        named = error.filename
        if named is None or Path(os.fsdecode(named)).is_relative_to(removed):
            error.filename = str(runs)


def _reserved(directory: RunDirectory, runs: Path) -> lock.Lock:
    try:
        return lock.reserve(directory.lock_file)
    except lock.NoLocksError as error:
        error.filename = str(runs)  # which can be chosen
        raise


def _fill(
    directory: RunDirectory,
    plan: plans.Plan,
    resume: Resume | None,
    queued_as: str,
    more: Callable[[RunDirectory], None] | None,
) -> None:
    """Write the files that a run has before its trainer starts; `more` writes further ones."""
    plans.save(plan, directory.plan_file)
    if resume:
        pass_on(resume, directory)
    if queued_as:
        note_in(directory, queued_as)
    if more is not None:
        more(directory)


def _give_number(runs: Path) -> None:
    """Number the runs without a number, the new one last. A failure does not prevent the run."""
    # Imported when it is first needed: the window's start waits for this module.
    from gpu_studio.runs.catalogue import numbered

    with suppress(OSError):
        numbered(runs)


def problems_of(
    written: plans.Plan, plan: AbsolutePlan, machine: plans.Machine | None = None
) -> list[plans.Problem]:
    """Every problem that prevents `plan` from running: values, files, and the `machine` if given.

    What they are about is called as in the plan as `written`.
    """
    return [
        *plans.validate(written, machine),
        *allocator(written, os.environ),
        *file_problems(written, plan),
    ]


def trainer_command(python: str = sys.executable) -> list[str]:
    """Return the command line of the trainer, without the run directory.

    It is `$GPU_STUDIO_TRAINER` if that is set (`numactl -N 0 python -m gpu_studio.trainer`), else
    this package's under `python`.
    """
    own = shlex.split(os.environ.get(TRAINER_VARIABLE, ""))
    return own or module_command("gpu_studio.trainer", python)


def trainer_environment(added: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment with the variables that every trainer gets, and `added`."""
    return module_environment({"PYTHONFAULTHANDLER": "1", "PYTHONUNBUFFERED": "1", **added})


def _start(
    command: list[str], run: RunDirectory, held: lock.Lock, folder: Path, added: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    environment = trainer_environment({**added, lock.ENVIRONMENT: str(held.descriptor)})
    try:
        process = _spawn([*command, str(run.path)], run.log_file, held, folder, environment)
        # Whoever stops it now must not take it for this process. It may have signed itself: behind
        # a script that starts it, it is another.
        if not held.signed:
            held.sign(process.pid)
        return process
    finally:
        # Closing, not unlocking: the lock is one and the same open file, and now the trainer's.
        held.hand_over()


def _spawn(
    command: list[str], log_file: Path, held: lock.Lock, folder: Path, environment: dict[str, str]
) -> subprocess.Popen[bytes]:
    log = open_regular(log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        with signals_await_handlers():
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=folder,
                env=environment,
                pass_fds=(held.descriptor,),
                start_new_session=True,
                umask=_PRIVATE_UMASK,
            )
    finally:
        os.close(log)


@dataclass(frozen=True, slots=True)
class MachineProblem(Problem):
    """Something that the plan's machines lack: `received` says what, `advice` what to do."""

    def __str__(self) -> str:
        return f"{self.received} {self.advice}"


def _of_start(cluster: Cluster, runs: Path) -> Iterator[MachineProblem]:
    """What keeps another engine from starting the workers, as far as it is known at once."""
    if cluster.start == "kubernetes":
        how = "gpu-studio export PLAN --to kubernetes writes the manifest."
        said = "Its workers are to be started by Kubernetes, which no run asks for them."
        yield MachineProblem("cluster.start", said, f'{how} Or set cluster.start = "local".')
        return
    if shutil.which("sbatch") is None:
        said = "Its workers are to be started by Slurm, and there is no sbatch on this machine."
        how = 'Train on a machine that submits jobs, or set cluster.start = "local".'
        yield MachineProblem("cluster.start", said, how)
    if not can_be_named(runs.resolve()):
        said = f"Slurm's scripts cannot name the folder of runs, {shown(str(runs.resolve()))}."
        how = "Train with --runs-dir and a folder without line breaks and backslashes in its path."
        yield MachineProblem("cluster.start", said, how)
    shared = cluster.slurm.folder if cluster.slurm else None
    if shared is not None and not runs.resolve().is_relative_to(Path(shared).resolve()):
        said = f"The nodes share {shared}, and runs are in {runs}."
        how = f"Train with --runs-dir {Path(shared, 'runs')}, or leave cluster.slurm.folder out."
        yield MachineProblem("cluster.slurm.folder", said, how)


def _of_shell(lines: Sequence[str]) -> Iterator[MachineProblem]:
    if not is_shell_allowed(lines):
        said = f"The plan gives Slurm lines of shell, which run as you: {shown(lines)}."
        how = "If you have read and trust them: gpu-studio train PLAN --allow-shell."
        yield MachineProblem("cluster.slurm", said, how)


def machine_problems(plan: AbsolutePlan, runs: Path) -> list[Problem]:
    """What keeps a run from training the workers of `plan`; nothing for plans of one process.

    Takes part of a second. `runs` is the folder of runs. Slurm is asked by the run itself: it may
    take its time.
    """
    cluster = cluster_of(plan)
    if cluster is None:
        return []
    if cluster.start != "local":
        return [*_of_start(cluster, runs), *_of_shell(shell_of(plan))]
    # Imported where it is needed: few plans have a cluster.
    from gpu_studio.hosts.examination import examined

    return [
        MachineProblem("cluster", each.shown, " ".join(each.mend))
        for each in examined(plan, runs)
        if each.state == "bad"
    ]
