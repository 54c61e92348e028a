"""Rules for `[cluster]`: only with a strategy of several processes, and numbers that can be."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from gpu_studio.common.figures import plural
from gpu_studio.plan.devices import Machine, gpus, visible_cards
from gpu_studio.plan.options import CLUSTER_LIMITS, KUBERNETES_LIMITS, SLURM_LIMITS, bounded
from gpu_studio.plan.strategies import BY_NAME, cluster_of, strategy_of
from gpu_studio.plan.values import Plan, Problem, listed, shown

PART = "cluster"
LAST_PORT = 65_535
FIRST_PORT = 1024

_TIME = re.compile(r"\d{1,6}|\d{1,4}:\d{2}|\d{1,3}:\d{2}:\d{2}|\d{1,3}-\d{1,2}(:\d{2}){0,2}")
_NOT_ONE_JOB = re.compile(r"(^|\s)(--(array|test-only|wait|wrap)(=|\s|$)|-[aW])")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_IMAGE = re.compile(r"[A-Za-z0-9][\w./:@-]{0,254}", re.ASCII)


def belongs(plan: Plan) -> Iterator[Problem]:
    """The part appears only with a strategy that runs as several processes."""
    if plan.cluster is not None and not strategy_of(plan).clusters:
        able = listed((shown(each.name) for each in BY_NAME.values() if each.clusters), "or")
        said = f"given with strategy {shown(plan.distribution.strategy)}"
        yield Problem(PART, said, f"leave [cluster] out, or choose strategy {able}")


def numbers(plan: Plan) -> Iterator[Problem]:
    """Every number is within its bounds, and every port is one that a program may have."""
    part = plan.cluster
    if part is None:
        return
    yield from bounded(PART, part, CLUSTER_LIMITS)
    if part.slurm is not None:
        yield from bounded(f"{PART}.slurm", part.slurm, SLURM_LIMITS)
    if part.kubernetes is not None:
        yield from bounded(f"{PART}.kubernetes", part.kubernetes, KUBERNETES_LIMITS)
    last = part.port + (cluster_of(plan) or part).processes - 1
    if 0 < part.port < FIRST_PORT:
        advice = f"those below {FIRST_PORT} are the system's: give a higher one, or 0 for free ones"
        yield Problem(f"{PART}.port", str(part.port), advice)
    elif FIRST_PORT <= part.port <= LAST_PORT < last:
        highest = max(FIRST_PORT, LAST_PORT - (last - part.port))
        advice = (
            f"each process takes the next one, and {LAST_PORT} is the last: give {highest} or less"
        )
        yield Problem(f"{PART}.port", str(part.port), advice)


def servers(plan: Plan) -> Iterator[Problem]:
    """Servers are there exactly if the strategy has some."""
    part, strategy = cluster_of(plan), strategy_of(plan)
    if part is None or part.servers < 0:
        return
    if part.servers and not strategy.serves:
        advice = "leave it out: every worker holds all variables under this strategy"
        yield Problem(f"{PART}.servers", str(part.servers), advice)


def local_cards(plan: Plan, machine: Machine | None) -> Iterator[Problem]:
    """Workers of one machine share its cards, as many for each, and as many slices."""
    part, devices = cluster_of(plan), plan.distribution.devices
    if part is None or strategy_of(plan).serves or part.start != "local" or part.workers < 2:
        return
    if any(name.startswith("GPU") for name in devices):
        advice = (
            "each worker trains on its own share of this machine's cards: leave it out, and choose "
            "cards by devices.visible"
        )
        yield Problem("distribution.devices", shown(devices), advice)
    elif machine is not None and not devices:
        cards = [card.device for card in visible_cards(plan.devices, machine)]
        slices = Counter(each.physical for each in gpus(plan.devices, cards, machine))
        each, rest = divmod(len(cards), part.workers)
        counts = [slices[card] for card in cards]
        shares = {sum(counts[first : first + each]) for first in range(0, len(cards), each or 1)}
        if cards and (rest or not each or len(shares) > 1):
            advice = (
                f"{plural(len(cards), 'card')} of this machine cannot be shared evenly: give a "
                "divisor, with as many slices for each, or train on the CPU by devices.visible"
            )
            yield Problem(f"{PART}.workers", str(part.workers), advice)


def elastic(plan: Plan) -> Iterator[Problem]:
    """With fewer workers a step has the same samples."""
    part = cluster_of(plan)
    if part is not None and part.with_fewer and plan.training.batch_scope == "replica":
        advice = (
            'a step would have fewer samples after a worker is lost: set batch_scope = "global", '
            "or leave this out"
        )
        yield Problem(f"{PART}.with_fewer", 'true with batch_scope "replica"', advice)


def slurm(plan: Plan) -> Iterator[Problem]:
    """What Slurm is asked for is in its words, and a line each."""
    part = plan.cluster.slurm if plan.cluster else None
    if part is None:
        return
    where = f"{PART}.slurm"
    if not _TIME.fullmatch(part.time):
        advice = 'write a limit as Slurm does: "04:00:00", "90" (minutes) or "1-12:00:00"'
        yield Problem(f"{where}.time", shown(part.time), advice)
    for index, flag in enumerate(part.flags):
        if not flag.startswith("-") or _breaks(flag):
            advice = 'write an option of sbatch, such as "--account=abc123"'
            yield Problem(f"{where}.flags[{index}]", shown(flag), advice)
        elif _NOT_ONE_JOB.search(flag):
            advice = "leave it out: a run is one job, which is submitted and then followed"
            yield Problem(f"{where}.flags[{index}]", shown(flag), advice)
    for index, line in enumerate(part.setup):
        if _breaks(line):
            advice = "give each line of shell a text of its own"
            yield Problem(f"{where}.setup[{index}]", shown(line), advice)
    for key in ("folder", "partition"):
        value = getattr(part, key)
        if value is not None and (not value.strip() or _breaks(value)):
            advice = "give a name of one line, or leave it out"
            yield Problem(f"{where}.{key}", shown(value), advice)


def kubernetes(plan: Plan) -> Iterator[Problem]:
    """An image is named where a manifest is wanted, and names are such as Kubernetes takes."""
    cluster = cluster_of(plan)
    if cluster is None:
        return
    part, where = cluster.kubernetes, f"{PART}.kubernetes"
    image = part.image if part else None
    if image is None and cluster.start == "kubernetes":
        advice = 'name the container that has GPU Studio, such as "registry.example/gpu-studio:1"'
        yield Problem(f"{where}.image", "missing", advice)
    if image is not None and not _IMAGE.fullmatch(image):
        advice = "name an image as a registry does, without spaces"
        yield Problem(f"{where}.image", shown(image), advice)
    for key in ("namespace", "claim"):
        value = getattr(part, key, None)
        if value is not None and not _LABEL.fullmatch(value):
            advice = "write small letters, digits and hyphens, at most 63"
            yield Problem(f"{where}.{key}", shown(value), advice)


def _breaks(text: str) -> bool:
    return not text.isprintable()
