"""The sampler's measurements: one JSON object per line, on its stdout and in recordings.

A tagged union: the key `sample` names the kind. `time` is seconds since the epoch (UTC). Names end
in their units: `_mib` binary mebibytes, `_percent` of 100, `_w` watts, `_c` degrees Celsius, `_mhz`
megahertz, `_j` joules since the driver was loaded. A figure that is null is unknown, and `why`
gives the reason under the figure's name, in words that are shown in its place. `card` identifies a
card by the same key in every sample: its UUID, else its PCI address.
"""

from __future__ import annotations

import json
from typing import Annotated, Final, TypeVar

import msgspec

from gpu_studio.contract.files import JSON_ERRORS, lossy_line
from gpu_studio.contract.numbers import Moment, Seconds, Whole

T = TypeVar("T")
Few = Annotated[list[T], msgspec.Meta(max_length=256)]
"""Of cards: no machine has as many, and the window makes something for each."""
Several = Annotated[list[T], msgspec.Meta(max_length=16_384)]
"""Of processes."""
Why = dict[str, str]
MEASURED_NEXT: Final = "measured from the next time on"
"""Why a figure is unknown that takes two looks."""


class Sample(msgspec.Struct, kw_only=True, tag_field="sample", frozen=True):
    """The fields of every sample.

    `steady` is seconds of a monotonic clock since the machine was started; 0 if not known, as in
    recordings of an older GPU Studio. The sampler's process sets it when writing.
    """

    time: Moment
    steady: Seconds = 0.0


class SamplerStarted(Sample, tag="started", frozen=True):
    """The sampler is running.

    `simulated` names the simulated machine, `practice` the practice cards; both are empty for real
    cards.
    """

    pid: Whole
    gpu_studio: str
    simulated: str = ""
    practice: str = ""


class Opening(Sample, tag="opening", frozen=True):
    """The driver is about to be opened, which may take many seconds."""


class Asking(Sample, tag="asking", frozen=True):
    """The card of this NVML index is about to be queried.

    Sent only after the driver once failed to answer.
    """

    index: Whole


class Instance(msgspec.Struct, kw_only=True, frozen=True):
    """A part of a card in MIG mode; `card` is the key of its figures."""

    card: str
    name: str
    total_mib: Whole | None = None


class CardFacts(msgspec.Struct, kw_only=True, frozen=True):
    """What does not change while a card is there.

    `gone` is empty for a card that answers, and otherwise says why it does not (lost, asleep …);
    `index` is NVML's, null while it has none.
    """

    card: str
    index: Whole | None = None
    uuid: str = ""
    name: str = ""
    bus_id: str = ""
    gone: str = ""
    asleep: bool = False
    serial: str | None = None
    architecture: str | None = None
    compute_capability: str | None = None
    total_mib: Whole | None = None
    pcie_generation: Whole | None = None
    pcie_generation_max: Whole | None = None
    pcie_width: Whole | None = None
    pcie_width_max: Whole | None = None
    power_limit_w: float | None = None
    power_limit_min_w: float | None = None
    power_limit_max_w: float | None = None
    slowdown_c: Whole | None = None
    shutdown_c: Whole | None = None
    clock_sm_max_mhz: Whole | None = None
    clock_memory_max_mhz: Whole | None = None
    mig: bool | None = None
    instances: Annotated[list[Instance], msgspec.Meta(max_length=16)] = []
    why: Why = {}

    @property
    def lost(self) -> str:
        """Why it does not answer although it is awake; empty if it answers or sleeps."""
        return "" if self.asleep else self.gone


class Cards(Sample, tag="cards", frozen=True):
    """All cards: sent at the start and whenever something about them has changed.

    `why` says why no card answers, and is empty otherwise. `driver` and `cuda` are versions.
    """

    cards: Few[CardFacts]
    why: str = ""
    driver: str | None = None
    cuda: str | None = None


class FastFigures(msgspec.Struct, kw_only=True, frozen=True, gc=False):
    """Figures of a card or MIG instance.

    `memory_reserved_mib`, the driver's share, is not part of the used.
    """

    card: str
    memory_used_mib: Whole | None = None
    memory_free_mib: Whole | None = None
    memory_reserved_mib: Whole | None = None
    utilisation_percent: Whole | None = None
    memory_bus_percent: Whole | None = None
    power_w: float | None = None
    why: Why = {}


class Fast(Sample, tag="fast", frozen=True, gc=False):
    """The quickly changing figures of every card."""

    cards: Few[FastFigures]


class SlowFigures(msgspec.Struct, kw_only=True, frozen=True, gc=False):
    """Figures of a card. `throttle` lists what limits the clocks; ECC errors count since boot."""

    card: str
    temperature_c: Whole | None = None
    clock_sm_mhz: Whole | None = None
    clock_memory_mhz: Whole | None = None
    fan_percent: Whole | None = None
    throttle: list[str] | None = None
    p_state: Whole | None = None
    ecc_corrected: int | None = None
    ecc_uncorrected: int | None = None
    energy_j: float | None = None
    why: Why = {}


class Slow(Sample, tag="slow", frozen=True, gc=False):
    """The slowly changing figures of every card."""

    cards: Few[SlowFigures]


class PcieFigures(msgspec.Struct, kw_only=True, frozen=True, gc=False):
    """A card's link traffic: PCIe over the last 20 ms, all NVLinks since the previous query."""

    card: str
    sent_mib_s: float | None = None
    received_mib_s: float | None = None
    nvlink_sent_mib_s: float | None = None
    nvlink_received_mib_s: float | None = None
    why: Why = {}


class Pcie(Sample, tag="pcie", frozen=True, gc=False):
    """The link traffic of some cards. They take turns: each query occupies the driver for 20 ms."""

    cards: Few[PcieFigures]


class Process(msgspec.Struct, kw_only=True, frozen=True):
    """A process on a card. `kinds` are "compute" and "graphics".

    `cpu_percent` is 100 for one whole core.
    """

    card: str
    pid: Whole
    kinds: list[str]
    memory_mib: Whole | None = None
    user: str | None = None
    command: str | None = None
    cpu_percent: float | None = None
    host_memory_mib: Whole | None = None
    why: Why = {}


class Processes(Sample, tag="processes", frozen=True):
    """All processes on all cards. `why` says by card's key why its processes are unknown."""

    processes: Several[Process]
    why: Why = {}


class HostProcess(msgspec.Struct, kw_only=True, frozen=True):
    """A process that uses much of the host. `memory_mib` is resident memory.

    `cpu_percent` 100 is one core.
    """

    pid: Whole
    user: str | None = None
    command: str | None = None
    cpu_percent: float | None = None
    memory_mib: Whole | None = None
    why: Why = {}


class HostProcesses(Sample, tag="host_processes", frozen=True):
    """The heavy users of the host's cores or memory, and every trainer.

    `why` says why none is known.
    """

    processes: Several[HostProcess]
    why: str = ""


class Host(Sample, tag="host", frozen=True, gc=False):
    """The host. `disk_*` is the file system of the runs folder."""

    cpu_percent: float | None = None
    memory_used_mib: Whole | None = None
    memory_total_mib: Whole | None = None
    swap_used_mib: Whole | None = None
    swap_total_mib: Whole | None = None
    disk_free_mib: Whole | None = None
    disk_total_mib: Whole | None = None
    load_1: float | None = None
    why: Why = {}


class Happened(Sample, tag="happened", frozen=True):
    """An event on a card: "xid" (`code` is its number), "ecc_corrected" or "ecc_uncorrected"."""

    card: str
    kind: str
    code: Whole
    words: str


class Beat(Sample, tag="beat", frozen=True):
    """The sampler is alive, and its cost: share of a core, memory, driver queries since start."""

    cpu_percent: float
    memory_mib: float
    nvml_calls: Whole


class Owner(Sample, tag="owner", frozen=True):
    """A note by the sampler's owner: it restarted the sampler, and why."""

    words: str


AnySample = (
    SamplerStarted
    | Opening
    | Asking
    | Cards
    | Fast
    | Slow
    | Pcie
    | Processes
    | HostProcesses
    | Host
    | Happened
    | Beat
    | Owner
)

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[AnySample] = msgspec.json.Decoder(AnySample)
_KINDS = frozenset(kind.__struct_config__.tag for kind in AnySample.__args__)


class SampleError(ValueError):
    """A line that holds no sample."""


def encode(sample: Sample) -> bytes:
    """Return the line of a sample, with its newline."""
    return lossy_line(_encoder, sample)


def decode(line: bytes) -> AnySample | None:
    """Return the sample of a line; None for an unknown, newer kind.

    Raises SampleError if it is none.
    """
    try:
        return _decoder.decode(line)
    except JSON_ERRORS as error:
        if _is_newer(line):
            return None
        raise SampleError(f"no sample of the hardware: {error}") from error


def _is_newer(line: bytes) -> bool:
    try:
        found = json.loads(line)
    except JSON_ERRORS:
        return False
    kind = found.get("sample") if isinstance(found, dict) else None
    return isinstance(kind, str) and kind not in _KINDS
