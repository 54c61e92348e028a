"""Slurm by its own commands: what it says of a request before and of a job after it is submitted.

Nothing is kept here: Slurm knows its jobs. Every command is given up after a time, as the
controller may not answer.
"""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from gpu_studio.common.figures import size
from gpu_studio.plan.cluster_values import minutes

COMMAND_S: Final = 20.0
MOST_BYTES: Final = 4 << 20
"""More than Slurm says of all that one user has."""
_MOST_SAID: Final = 200
_LONGEST_WORDS: Final = 1_000
"""So many letters an error or a field of a job may have; only lists of nodes come near."""
_LOOK_EVERY_S = 0.1
_GRACE_S = 1.0
_PART_BYTES = 1 << 16

REASONS: Final[Mapping[str, str]] = {
    "None": "Slurm has not looked at it yet",
    "Priority": "jobs of higher priority go first",
    "Resources": "it waits until enough nodes are free",
    "Dependency": "it waits for another job to end",
    "BeginTime": "it may not begin yet",
    "JobHeldUser": "you hold it back: scontrol release lets it go",
    "JobHeldAdmin": "an administrator holds it back",
    "Licenses": "it waits for a licence",
    "ReqNodeNotAvail": "a node that it asks for is not available now",
    "PartitionConfig": "its partition does not allow what it asks for, such as its time",
    "PartitionDown": "its partition is down",
    "PartitionInactive": "its partition takes no jobs now",
    "PartitionNodeLimit": "it asks for more nodes than its partition gives to one job",
    "PartitionTimeLimit": "it asks for more time than its partition gives to one job",
    "Reservation": "it waits for its reservation",
    "NodeDown": "a node that it needs is down",
    "QOSMaxJobsPerUserLimit": "you have as many jobs running as your quality of service allows",
    "QOSMaxCpuPerUserLimit": "you use as many cores as your quality of service allows",
    "QOSMaxGRESPerUser": "you use as many cards as your quality of service allows",
    "AssocGrpGRES": "your account uses as many cards as it may",
    "AssocGrpCpuLimit": "your account uses as many cores as it may",
    "AssocGrpJobsLimit": "your account has as many jobs running as it may",
    "AssocMaxJobsLimit": "your account has as many jobs running as it may",
    "InvalidAccount": "its account is not valid here",
    "InvalidQOS": "its quality of service is not valid here",
    "NodeFail": "a node failed, and Slurm has put it back into the queue",
}
"""Why a job waits, by Slurm's own reason, as the rest of a sentence."""


class SlurmError(Exception):
    """Slurm said no, or nothing: in its words."""


class SlurmMissingError(SlurmError):
    """A command of Slurm is not on this machine, so that nothing was asked."""


class SlurmSilentError(SlurmError):
    """Slurm did not answer: whether it has done what it was asked for is not known."""


_UNANSWERED: Final = ("Unable to contact", "Unable to connect", "Socket timed out", "Zero Bytes")
"""What Slurm's commands say where no controller answers them."""


def no_job_words(error: SlurmError) -> tuple[str, str]:
    """Why there is no job, in a sentence, and where to look."""
    if isinstance(error, SlurmMissingError):
        return f"There is no job: {error}.", "Start it where Slurm is, such as on a login node."
    if isinstance(error, SlurmSilentError):
        return f"Slurm does not answer: {error}.", "See whether it answers you: sinfo"
    return f"Slurm refuses the job: {error}.", (
        "Look at what there is: sinfo --Format=partition,nodes,cpus,gres,time"
    )


def run(
    command: Sequence[str],
    *,
    text: str | None = None,
    folder: Path | None = None,
    seconds: float = COMMAND_S,
) -> str:
    """What a command of Slurm writes to stdout; `text` is its input. Raises SlurmError."""
    return _done(command, text, folder, seconds).stdout.strip()


def submit(words: Sequence[str], *, text: str | None = None, folder: Path | None = None) -> str:
    """Submit a job, by the `words` behind sbatch, and return its number. Raises SlurmError."""
    said = run(["sbatch", "--parsable", *words], text=text, folder=folder)
    # A cluster's own sbatch may say more; what follows the number names a cluster of several.
    numbers = re.findall(r"^([0-9]{1,18})(?:;\S*)?\s*$", said, re.MULTILINE)
    if not numbers:
        # Without a number, scontrol tells of all jobs: whose would be followed?
        raise SlurmError(f"sbatch gave no number of a job, but {said[:_MOST_SAID]!r}")
    return str(numbers[-1])


def _done(
    command: Sequence[str], text: str | None, folder: Path | None, seconds: float = COMMAND_S
) -> subprocess.CompletedProcess[str]:
    done = answer_of(command, text=text, folder=folder, seconds=seconds)
    if done.returncode != 0:
        said = words_of(done.stderr or done.stdout)
        unanswered = any(each in said for each in _UNANSWERED)
        kind = SlurmSilentError if unanswered else SlurmError
        raise kind(said or f"{command[0]} failed")
    return done


def answer_of(
    command: Sequence[str],
    *,
    text: str | None = None,
    folder: Path | None = None,
    seconds: float = COMMAND_S,
    most: int = MOST_BYTES,
) -> subprocess.CompletedProcess[str]:
    """What a command writes, `most` bytes on each stream, and its exit code; `text` is its input.

    A site may have put anything in the place of Slurm's commands. One that takes longer, or writes
    more, is ended with all of its process group. Raises SlurmError.
    """
    # In memory: the disk may be full.
    with os.fdopen(os.memfd_create("input"), "w+b") as given:
        given.write((text or "").encode("utf-8", "replace"))
        given.seek(0)
        process = _started(command, given, folder)
        heard: list[bytearray] = []
        try:
            heard = _heard(process, time.monotonic() + seconds, most)
        except TimeoutError as error:
            raise SlurmSilentError(f"{command[0]} gave no answer in {seconds:.0f} s") from error
        except OverflowError as error:
            found = f"{command[0]} writes without an end: more than {size(most)}"
            raise SlurmSilentError(found) from error
        finally:
            if not heard:
                _end(process)
            for stream in filter(None, (process.stdout, process.stderr)):
                stream.close()
    out, err = (bytes(each).decode("utf-8", "replace") for each in heard)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def _started(
    command: Sequence[str], given: IO[bytes], folder: Path | None
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            process_group=0,
        )
    except FileNotFoundError as error:
        raise SlurmMissingError(f"there is no command {command[0]} on this machine") from error
    except OSError as error:
        raise SlurmError(f"{command[0]}: {error.strerror or error}") from error


def _heard(process: subprocess.Popen[bytes], end: float, most: int) -> list[bytearray]:
    """What it writes until it ends, also if what it has started holds its streams open.

    Raises TimeoutError if that lasts beyond `end`, OverflowError for more than `most` bytes.
    """
    streams = [each for each in (process.stdout, process.stderr) if each is not None]
    heard = {each.fileno(): bytearray() for each in streams}
    open_, poll = set(heard), select.poll()  # unlike select(), for descriptors above 1,023 as well
    for each in open_:
        poll.register(each, select.POLLIN)
    while open_ or process.poll() is None:
        left = end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        over = process.poll() is not None
        ready = poll.poll(min(left, _LOOK_EVERY_S) * 1000)
        for each, _ in ready:
            part = os.read(each, _PART_BYTES)
            heard[each] += part
            if not part:
                open_.discard(each)
                poll.unregister(each)
            if len(heard[each]) > most:
                raise OverflowError
        if over and not ready:
            break
    return list(heard.values())


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process group, asked first, then killed; its leader, `process`, may be gone."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        end = time.monotonic() + _GRACE_S
        with suppress(ProcessLookupError, PermissionError):  # all are gone, or another user's
            os.killpg(process.pid, number)
            while time.monotonic() < end:
                time.sleep(_LOOK_EVERY_S)
                process.poll()
                os.killpg(process.pid, 0)


def words_of(text: str) -> str:
    """What an error of Slurm's says, without the names of its programs."""
    lines = [re.sub(r"^(\w+: )*(error: )?", "", line).strip() for line in text.splitlines()]
    said = [line for line in lines if line and not line.startswith("Batch job submission failed")]
    last = (
        re.sub(r"^.*Batch job submission failed: ", "", text.strip().splitlines()[-1])
        if text.strip()
        else ""
    )
    words = (said[-1] if said else last).removeprefix("allocation failure: ")
    return words[:_LONGEST_WORDS].rstrip(".")


def would_start(script: str) -> str:
    """What Slurm says of a job that is not submitted: when and where it would start.

    Raises SlurmError for one that can never run, or that is not allowed.
    """
    done = _done(["sbatch", "--test-only"], script, None)
    said = words_of(done.stderr or done.stdout)
    found = re.search(r"to start at (\S+).* on nodes (\S+)", said)
    if found:
        return f"It could start at {found[1].replace('T', ' ')} on {found[2]}"
    return said or "It does not say when the job could start"


@dataclass(frozen=True, slots=True)
class SlurmJob:
    """A job as Slurm tells it: its state (`PENDING`, `RUNNING`, …), why it waits, its nodes.

    `output` is the file that it writes to.
    """

    id: str
    name: str
    state: str
    reason: str
    nodes: str
    limit: str
    restarts: int = 0
    exit_code: str = ""
    output: str = ""

    @property
    def words(self) -> str:
        """Its state in a sentence."""
        if self.state == "PENDING":
            again = " again, after Slurm has put it back into the queue" if self.restarts else ""
            return f"waits{again}: {self.why_waiting}."
        plain = f"{self.state.lower().replace('_', ' ')}."
        status = self.exit_code.partition(":")[0]
        again = " again, after Slurm had put it back into the queue," if self.restarts else ""
        return _WORDS.get(self.state, plain).format(job=self, status=status, again=again)

    @property
    def why_waiting(self) -> str:
        """Why it waits: `it waits until enough nodes are free (Resources)`."""
        words = REASONS.get(self.reason.partition(",")[0])
        return f"{words} ({self.reason})" if words else self.reason

    @property
    def waits(self) -> bool:
        """Whether it has no nodes yet, or they are not ready."""
        return self.state in ("PENDING", "CONFIGURING", "REQUEUED")

    @property
    def ended(self) -> bool:
        """Whether it has left the queue, or Slurm has forgotten it."""
        return self.state in _ENDS


FORGOTTEN: Final = "UNKNOWN"
_ENDS: Final = frozenset(
    {
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "DEADLINE",
        "FAILED",
        FORGOTTEN,
        "LAUNCH_FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "RECONFIG_FAIL",
        "REVOKED",
        "TIMEOUT",
    }
)
"""All others pass, such as SIGNALING, STAGE_OUT and REQUEUE_HOLD: a run is not lost by them."""
_WORDS: Final[Mapping[str, str]] = {
    "RUNNING": "runs{again} on {job.nodes}, with a time limit of {job.limit}.",
    "COMPLETING": "is ending.",
    "COMPLETED": "has ended well.",
    "TIMEOUT": "was ended by its time limit of {job.limit}.",
    "CANCELLED": "was cancelled.",
    "FAILED": "has failed, with exit status {status}.",
    "NODE_FAIL": "has lost a node.",
    "OUT_OF_MEMORY": "ran out of memory.",
}


def job_of(number: str, seconds: float = COMMAND_S) -> SlurmJob:
    """What Slurm says of a job.

    Raises SlurmError for one that it does not know any more, and for an answer that tells no state.
    """
    said = run(["scontrol", "-o", "show", "job", number], seconds=seconds)
    pairs = dict(pairs_in(said.partition("\n")[0]))
    if not pairs.get("JobState"):
        raise SlurmError(f"scontrol gave no state of job {number}")
    short = {name: value[:_LONGEST_WORDS] for name, value in pairs.items()}
    restarts = re.fullmatch("[0-9]{1,9}", short.get("Restarts", ""))
    return SlurmJob(
        short.get("JobId", number),
        short.get("JobName", ""),
        short["JobState"],
        short.get("Reason", "None"),
        short.get("NodeList", ""),
        short.get("TimeLimit", ""),
        int(restarts[0]) if restarts else 0,
        short.get("ExitCode", ""),
        pairs.get("StdOut", ""),
    )


def pairs_in(line: str) -> Iterator[tuple[str, str]]:
    """The `Name=value` of a line of scontrol; a value may have spaces. As quick as it is long."""
    name, words = "", [""]
    for word in line.split(" "):
        key, is_pair, value = word.partition("=")
        if is_pair and re.fullmatch(r"\w+", key):
            yield name, " ".join(words)
            name, words = key, [value]
        else:
            words.append(word)
    yield name, " ".join(words)


def most_minutes(partition: str | None) -> float | None:
    """The longest time that a partition gives to a job, in minutes; None if it has no limit.

    Of several, with commas between, Slurm takes one that allows the job: that of the longest.
    Without a name, that of the default one. Raises SlurmError.
    """
    named = [] if partition is None else ["-p", partition]
    rows = [line.split() for line in run(["sinfo", "-h", "-o", "%P %l", *named]).splitlines()]
    limits = [limit for name, limit in rows if partition is not None or name.endswith("*")]
    if not limits or "infinite" in limits:
        return None
    return max(map(minutes, limits))


def output_of(number: str) -> Path:
    """The file that a job writes its output to. Raises SlurmError."""
    output = job_of(number).output
    if not output:
        raise SlurmError(f"Slurm does not say where job {number} writes")
    return Path(output)
