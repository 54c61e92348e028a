"""The language in which the sampler tells what it sees: one JSON object a line, on its stdout and in recordings.

A tagged union: the key `sample` names the kind. `time` is seconds since the epoch (UTC). Units stand in the names:
`_mib` binary mebibytes, `_percent` of 100, `_w` watts, `_c` degrees Celsius, `_mhz` megahertz, `_j` joules since the
driver was loaded. A figure that is null is not known, and `why` says why under the figure's name, in words that stand
on the screen in its place. A card is named by `card`, the same key in every sample: its UUID, else its PCI address.
"""

from __future__ import annotations

import json

import msgspec

Why = dict[str, str]


class Sample(msgspec.Struct, kw_only=True, tag_field="sample", frozen=True):
    """What every sample has.

    `steady` is seconds of a clock that nobody sets, since the machine was started; 0 where it is not known, as in
    recordings of an older GPU Studio. The sampler's process sets it as it writes.
    """

    time: float
    steady: float = 0.0


class Started(Sample, tag="started", frozen=True):
    """The sampler lives. `simulated` names what is shown in place of this machine's cards; empty for the real ones."""

    pid: int
    gpu_studio: str
    simulated: str = ""


class Opening(Sample, tag="opening", frozen=True):
    """The driver is about to be opened, which may take it many seconds."""


class Asking(Sample, tag="asking", frozen=True):
    """The card of this NVML index is about to be asked. Told only after the driver has once not answered."""

    index: int


class Instance(msgspec.Struct, kw_only=True, frozen=True):
    """A part of a card in MIG mode; `card` is the key of its figures."""

    card: str
    name: str
    total_mib: int | None = None


class CardFacts(msgspec.Struct, kw_only=True, frozen=True):
    """What does not change while a card is there.

    `gone` is empty for a card that answers, and else says why it does not (lost, asleep …); `index` is NVML's, and
    null while it has none.
    """

    card: str
    index: int | None = None
    uuid: str = ""
    name: str = ""
    bus_id: str = ""
    gone: str = ""
    asleep: bool = False
    serial: str | None = None
    architecture: str | None = None
    compute_capability: str | None = None
    total_mib: int | None = None
    pcie_generation: int | None = None
    pcie_generation_max: int | None = None
    pcie_width: int | None = None
    pcie_width_max: int | None = None
    power_limit_w: float | None = None
    power_limit_min_w: float | None = None
    power_limit_max_w: float | None = None
    slowdown_c: int | None = None
    shutdown_c: int | None = None
    clock_sm_max_mhz: int | None = None
    clock_memory_max_mhz: int | None = None
    mig: bool | None = None
    instances: list[Instance] = []
    why: Why = {}


class Cards(Sample, tag="cards", frozen=True):
    """Every card, told at the start and again whenever something about them has changed.

    `why` says in words why there is none that answers; it is empty otherwise. `driver` and `cuda` are versions.
    """

    cards: list[CardFacts]
    why: str = ""
    driver: str | None = None
    cuda: str | None = None


class FastFigures(msgspec.Struct, kw_only=True, frozen=True):
    """Of one card or one MIG instance. `memory_reserved_mib` is the driver's own share, and no part of the used."""

    card: str
    memory_used_mib: int | None = None
    memory_free_mib: int | None = None
    memory_reserved_mib: int | None = None
    utilisation_percent: int | None = None
    memory_bus_percent: int | None = None
    power_w: float | None = None
    why: Why = {}


class Fast(Sample, tag="fast", frozen=True):
    """What changes quickly, of every card."""

    cards: list[FastFigures]


class SlowFigures(msgspec.Struct, kw_only=True, frozen=True):
    """Of one card. `throttle` lists in words what holds the clocks down; ECC errors count since the last boot."""

    card: str
    temperature_c: int | None = None
    clock_sm_mhz: int | None = None
    clock_memory_mhz: int | None = None
    fan_percent: int | None = None
    throttle: list[str] | None = None
    p_state: int | None = None
    ecc_corrected: int | None = None
    ecc_uncorrected: int | None = None
    energy_j: float | None = None
    why: Why = {}


class Slow(Sample, tag="slow", frozen=True):
    """What changes slowly, of every card."""

    cards: list[SlowFigures]


class PcieFigures(msgspec.Struct, kw_only=True, frozen=True):
    """What goes over one card's links: PCIe's in the last 20 ms, all NVLinks' since the question before."""

    card: str
    sent_mib_s: float | None = None
    received_mib_s: float | None = None
    nvlink_sent_mib_s: float | None = None
    nvlink_received_mib_s: float | None = None
    why: Why = {}


class Pcie(Sample, tag="pcie", frozen=True):
    """Some of the cards: they take turns, because each question holds the driver for 20 ms."""

    cards: list[PcieFigures]


class Process(msgspec.Struct, kw_only=True, frozen=True):
    """A process on a card. `kinds` are "compute" and "graphics"; `cpu_percent` is 100 for one whole core."""

    card: str
    pid: int
    kinds: list[str]
    memory_mib: int | None = None
    user: str | None = None
    command: str | None = None
    cpu_percent: float | None = None
    host_memory_mib: int | None = None
    why: Why = {}


class Processes(Sample, tag="processes", frozen=True):
    """All processes on all cards. `why` says under a card's key why its processes are not known."""

    processes: list[Process]
    why: Why = {}


class HostProcess(msgspec.Struct, kw_only=True, frozen=True):
    """A process that uses much of the host. `memory_mib` is its resident memory; `cpu_percent` is 100 for one core."""

    pid: int
    user: str | None = None
    command: str | None = None
    cpu_percent: float | None = None
    memory_mib: int | None = None
    why: Why = {}


class HostProcesses(Sample, tag="host_processes", frozen=True):
    """Who uses much of the host's cores or memory, and every trainer. `why` says why nobody can be told."""

    processes: list[HostProcess]
    why: str = ""


class Host(Sample, tag="host", frozen=True):
    """The host. `disk_*` is the file system of the runs folder."""

    cpu_percent: float | None = None
    memory_used_mib: int | None = None
    memory_total_mib: int | None = None
    swap_used_mib: int | None = None
    swap_total_mib: int | None = None
    disk_free_mib: int | None = None
    disk_total_mib: int | None = None
    load_1: float | None = None
    why: Why = {}


class Happened(Sample, tag="happened", frozen=True):
    """Something befell a card. `kind` is "xid", "ecc_corrected" or "ecc_uncorrected"; `code` the number of an XID."""

    card: str
    kind: str
    code: int
    words: str


class Beat(Sample, tag="beat", frozen=True):
    """The sampler lives, and what it costs: share of one core, its memory, questions to the driver since its start."""

    cpu_percent: float
    memory_mib: float
    nvml_calls: int


class Owner(Sample, tag="owner", frozen=True):
    """Its owner's word about the sampler itself: it was started anew, and why."""

    words: str


AnySample = (
    Started | Opening | Asking | Cards | Fast | Slow | Pcie | Processes | HostProcesses | Host | Happened | Beat | Owner
)

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[AnySample] = msgspec.json.Decoder(AnySample)
_KINDS = frozenset(kind.__struct_config__.tag for kind in AnySample.__args__)


class SampleError(ValueError):
    """A line that is no sample."""


def encode(sample: Sample) -> bytes:
    """The line of a sample, with its newline."""
    return _encoder.encode(sample) + b"\n"


def decode(line: bytes) -> AnySample | None:
    """The sample of a line; None for a kind that a newer sampler may write. Raises SampleError for what is none."""
    try:
        return _decoder.decode(line)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        if _is_newer(line):
            return None
        raise SampleError(f"no sample of the hardware: {error}") from error


def _is_newer(line: bytes) -> bool:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return False
    kind = found.get("sample") if isinstance(found, dict) else None
    return isinstance(kind, str) and kind not in _KINDS
