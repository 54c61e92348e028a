"""TensorFlow's devices: set up as the plan says, with their precision and their memory.

They are set up before anything initialises them. Mixed precision is chosen by what they compute
fast. Memory is measured as exactly as TensorFlow reports it.
"""

from __future__ import annotations

import ctypes
import os
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import keras
import psutil
import tensorflow as tf
from keras.src.backend.common.global_state import set_global_attribute
from msgspec.structs import replace
from tensorflow.python.eager import context
from tensorflow.python.framework.config import disable_op_determinism
from tensorflow.python.util import _pywrap_util_port

from gpu_studio.contract import DeviceMemory, LogicalDevice
from gpu_studio.plan import CPU, MIB, DeviceSettings, Plan
from gpu_studio.trainer import practice
from gpu_studio.trainer.cuda_driver import NO_CARD, CardIdentity, identities
from gpu_studio.trainer.errors import TrainerError

ONE_DNN = bool(_pywrap_util_port.IsMklEnabled())
"""Whether oneDNN's kernels replace Eigen's, as on CPUs that have the instructions for them."""


def set_up(
    plan: Plan,
    share: Callable[[Sequence[Any]], Sequence[Any]] = lambda cards: cards,
    first: Callable[[], object] = lambda: None,
) -> list[LogicalDevice]:
    """Apply carves, memory growth and soft placement, and whether products are made in TF32.

    Return the logical devices of this process in TensorFlow's order. `share` gives those of the
    cards that are this process's. `first` does what must be done before anything else initialises
    the devices.

    Raises TrainerError for a card that TensorFlow does not see.
    """
    devices = plan.devices
    count_host_memory()
    _cut_pieces(devices)
    tf.config.experimental.enable_tensor_float_32_execution(plan.training.tf32)
    disable_op_determinism()  # TF_DETERMINISTIC_OPS of a shell or a script forbids to time steps
    tf.config.set_soft_device_placement(devices.soft_placement)
    if devices.log_placement:
        tf.debugging.set_log_device_placement(True)
    everything = physical(devices)
    there = _shared(everything, share)
    for carve in devices.carve:
        if carve.device in everything and carve.device not in there:
            continue  # another process's
        _carve(_find(there, carve.device), carve.slices_mib)
    if devices.memory_growth:
        for card in tf.config.get_visible_devices("GPU"):
            tf.config.experimental.set_memory_growth(card, True)
    first()
    return _logical(devices, there)


def count_host_memory() -> None:
    """Have TensorFlow take the host's memory from an allocator that counts all of it.

    TensorFlow's own counts nothing, and refuses to tell what is in use (cpu_allocator_impl.cc);
    oneDNN's, which is the default on CPUs with AVX-512 VNNI, AVX-VNNI or AMX, counts no piece under
    256 KiB (mkl_cpu_allocator.h). The arena counts each; it is asked for by a variable that is read
    at the first allocation (process_state.cc), and is bounded by 64 GiB if nothing else is said.
    """
    os.environ["TF_CPU_ALLOCATOR_USE_BFC"] = "true"
    memory = psutil.virtual_memory().total // MIB
    os.environ.setdefault("TF_CPU_BFC_MEM_LIMIT_IN_MB", str(memory))


_LEAST = 16
"""MiB that TensorFlow is taken to have of a card that is not carved, at least."""


def _cut_pieces(devices: DeviceSettings) -> None:
    """Have the allocators of cards give out no more than is asked of them.

    They would give out a free piece whole that has less than twice the size, or 128 MiB more
    (bfc_allocator.cc): up to half of a slice is wasted, another part of it in each step.
    TensorFlow's Python sets this option nowhere, and takes it from here (context.py).
    """
    options = tf.compat.v1.GPUOptions()
    options.experimental.internal_fragmentation_fraction = _rest_cut_off(devices)
    context.context()._config = tf.compat.v1.ConfigProto(gpu_options=options)  # noqa: SLF001


def _rest_cut_off(devices: DeviceSettings) -> float:
    """The share of a card's memory from which on the rest of a piece is cut off.

    There is one for all cards. Of the smallest it has to be a byte, as no rest of nothing can be
    cut off; of the largest it is then some KiB.
    """
    slices = (size for carve in devices.carve for size in carve.slices_mib if size)
    return 2 / (min([_LEAST, *slices]) * MIB)


def on_host() -> AbstractContextManager[object]:
    """While this is entered, the host computes what nothing else puts on a device.

    TensorFlow would take the first card, whether the plan uses it or not; and from a card without
    a carve, the first small tensor takes nearly all memory. Enter it after `set_up` only, because
    it initialises the devices.
    """
    scope: AbstractContextManager[object] = tf.device(CPU)
    return scope


def physical(devices: DeviceSettings) -> dict[str, Any]:
    """TensorFlow's physical devices under the names that the plan gives them.

    Raises TrainerError for a card that TensorFlow does not see.
    """
    practice.load()
    cards = tf.config.list_physical_devices("GPU")
    named = [name for name in devices.visible if not name.startswith("CPU")]
    if not devices.visible:
        named = [f"GPU:{index}" for index in range(len(cards))]
    if len(cards) < len(named):
        raise TrainerError(
            f"The plan wants {', '.join(named)}, but TensorFlow sees {_count(len(cards))}.",
            [
                "Take the missing card out of devices.visible.",
                "Look whether the driver still answers for it: nvidia-smi.",
                "Look at the beginning of trainer.log for what TensorFlow says about CUDA.",
            ],
        )
    host = {f"CPU:{index}": cpu for index, cpu in enumerate(tf.config.list_physical_devices("CPU"))}
    return dict(zip(named, cards, strict=False)) | host


def _shared(
    there: dict[str, Any], share: Callable[[Sequence[Any]], Sequence[Any]]
) -> dict[str, Any]:
    """These devices without the cards that are other processes'."""
    cards = [device for device in there.values() if device.device_type == "GPU"]
    mine = list(share(cards))
    if len(mine) == len(cards):
        return there
    tf.config.set_visible_devices(mine, "GPU")
    return {
        name: device
        for name, device in there.items()
        if device.device_type != "GPU" or device in mine
    }


def _count(cards: int) -> str:
    return {0: "no card", 1: "one card"}.get(cards, f"{cards} cards")


def _find(physical: dict[str, Any], name: str) -> Any:
    if name in physical:
        return physical[name]
    raise TrainerError(
        f"The plan carves {name}, which TensorFlow does not see.",
        [f"Carve one of {', '.join(sorted(physical))}.", "Or add it to devices.visible."],
    )


def _carve(device: Any, slices_mib: Sequence[int]) -> None:
    # A limit is required on a GPU and refused on a CPU.
    slices = [tf.config.LogicalDeviceConfiguration(memory_limit=mib or None) for mib in slices_mib]
    tf.config.set_logical_device_configuration(device, slices)


def _logical(devices: DeviceSettings, physical: dict[str, Any]) -> list[LogicalDevice]:
    limits = {carve.device: carve.slices_mib for carve in devices.carve}
    described = {device.name: _describe(device) for device in physical.values()}
    known = identities({name: card for name, card in described.items() if "GPU" in name})
    rows = []
    for kind in ("GPU", "CPU"):
        slices = [
            _slice(name, limit, described[device.name], known.get(device.name, NO_CARD))
            for name, device in physical.items()
            if device.device_type == kind
            for limit in limits.get(name) or (0,)
        ]
        names = own_names(kind)
        rows += [replace(one, name=logical) for logical, one in zip(names, slices, strict=True)]
    return rows


_TASK = re.compile(r"/job:\w+/replica:\d+/task:\d+/")


def own_names(kind: str) -> list[str]:
    """The names of this process's logical devices of a kind: of a cluster TensorFlow lists all."""
    names = [device.name for device in tf.config.list_logical_devices(kind)]
    if any(map(_TASK.search, names)):
        mine = _TASK.search(f"{context.context().host_address_space()}/")
        names = [name for name in names if mine and mine.group() in name]
    return [f"{kind}:{name.rpartition(':')[2]}" for name in names]


def _slice(physical: str, limit_mib: int, description: str, card: CardIdentity) -> LogicalDevice:
    """A slice of a physical device that TensorFlow has not named yet."""
    return LogicalDevice(
        name="",
        physical=physical,
        limit_mib=limit_mib or None,
        description=description,
        uuid=card.uuid,
        bus_id=card.bus_id,
    )


def _describe(device: Any) -> str:
    if device.device_type != "GPU":
        return ""
    details = tf.config.experimental.get_device_details(device)
    return str(details.get("device_name", ""))


HOST = "host"
SERVERS = "ps"
"""TensorFlow's name of the processes that hold variables for others."""
_HOST_ARENA = "CPU:0"


def bytes_by_device(variables: Iterable[Any]) -> dict[str, int]:
    """Bytes of the Keras variables by the logical device that holds them.

    A mirrored one counts on each device; one that lies on a server, on none of this process.
    """
    total: dict[str, int] = {}
    for variable in variables:
        for part in _parts(variable.value):
            device = tf.DeviceSpec.from_string(part.device)
            if device.job == SERVERS:
                continue
            name = f"{device.device_type}:{device.device_index}"
            total[name] = total.get(name, 0) + part.shape.num_elements() * part.dtype.size
    return total


def _parts(variable: Any) -> Sequence[Any]:
    parts: Sequence[Any] = getattr(variable, "values", None) or (variable,)
    return parts


def allocator_limits() -> dict[str, int]:
    """The most that TensorFlow's allocators take of each GPU in bytes; empty if it does not tell.

    Of a card without slices TensorFlow decides itself, by what is free when it starts. No part of
    its Python says how much that is, so its C API is asked (`c_api.h`, `eager/c_api.h`).
    """
    try:
        return _asked(ctypes.CDLL(str(Path(tf.__file__).with_name("libtensorflow_cc.so.2"))))
    except (AttributeError, OSError, ValueError):  # a TensorFlow that is built in another way
        return {}


def _asked(library: ctypes.CDLL) -> dict[str, int]:
    pointer, number = ctypes.c_void_p, ctypes.c_int
    status = _function(library.TF_NewStatus, pointer)()
    devices = _function(library.TFE_ContextListDevices, pointer, pointer, pointer)(
        _context(), status
    )
    count = _function(library.TF_DeviceListCount, number, pointer)(devices)
    name = _function(library.TF_DeviceListName, ctypes.c_char_p, pointer, number, pointer)
    size = _function(library.TF_DeviceListMemoryBytes, ctypes.c_int64, pointer, number, pointer)
    limits = {
        name(devices, place, status).decode().rpartition("device:")[2]: size(devices, place, status)
        for place in range(count)
    }
    _function(library.TF_DeleteDeviceList, None, pointer)(devices)
    _function(library.TF_DeleteStatus, None, pointer)(status)
    return {device: limit for device, limit in limits.items() if device.startswith("GPU")}


def _function(function: Any, result: Any, *takes: Any) -> Any:
    function.restype, function.argtypes = result, takes
    return function


def _context() -> int | None:
    pointer_in = _function(
        ctypes.pythonapi.PyCapsule_GetPointer, ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p
    )
    found: int | None = pointer_in(context.context()._handle, None)  # noqa: SLF001
    return found


class MemoryMeter:
    """Reads the allocators of the logical devices that take part in a run, from several threads.

    TensorFlow counts each logical GPU separately, but all logical CPUs together: for those the
    host's arena is reported once, and for each the bytes of the variables on it.

    An allocator knows the most that was in use since it was last reset. Each sample resets it, and
    so learns the most of its interval; the run's peak is the greatest of these.
    """

    def __init__(self, logical: Sequence[LogicalDevice], variables: dict[str, int]) -> None:
        self._cards = [device for device in logical if device.name.startswith("GPU")]
        cpus = [device.name for device in logical if device.name.startswith("CPU")]
        self._variables = variables
        self._cpus = cpus if len(cpus) > 1 or not self._cards else []
        self._limits = allocator_limits() if self._cards else {}
        self._peaks: dict[str, int] = {}
        self._newest: dict[str, int] = {}
        self._between: dict[str, int] = {}
        self._lock = threading.Lock()

    def look_between_calls(self) -> None:
        """Take note of what is in use while no step runs. It takes a microsecond a device."""
        arenas = [device.name for device in self._cards] + [_HOST_ARENA] * bool(self._cpus)
        with self._lock:
            self._between = {arena: _info(arena)["current"] for arena in arenas}

    def read(self) -> list[DeviceMemory]:
        """Return one row per logical device, then the host's arena if the run computes on CPUs.

        The most is that of the newest sample's interval and since: what made a run fail counts.
        """
        with self._lock:
            return self._rows(self._now)

    def sample(self) -> list[DeviceMemory]:
        """Return the same rows, with the most since the sample before."""
        with self._lock:
            return self._rows(self._since)

    def _rows(self, row: Callable[[str], DeviceMemory]) -> list[DeviceMemory]:
        rows = [replace(row(each.name), limit=self._limit(each)) for each in self._cards]
        rows += [self._placed(name) for name in self._cpus]
        host = [replace(row(_HOST_ARENA), device=HOST, source="host")] if self._cpus else []
        return rows + host

    def _limit(self, device: LogicalDevice) -> int | None:
        return device.limit_mib * MIB if device.limit_mib else self._limits.get(device.name)

    def _now(self, arena: str) -> DeviceMemory:
        info = _info(arena)
        return self._row(arena, info["current"], max(info["peak"], self._newest.get(arena, 0)))

    def _since(self, arena: str) -> DeviceMemory:
        info = _info(arena)
        tf.config.experimental.reset_memory_stats(arena)
        self._newest[arena] = info["peak"]
        return self._row(arena, info["current"], info["peak"])

    def _row(self, arena: str, current: int, most: int) -> DeviceMemory:
        peak = self._peaks[arena] = max(self._peaks.get(arena, 0), most)
        least = min(self._between.get(arena, current), current)
        return DeviceMemory(
            device=arena, current=current, peak=peak, source="allocator", most=most, least=least
        )

    def _placed(self, name: str) -> DeviceMemory:
        size = self._variables.get(name, 0)
        return DeviceMemory(device=name, current=size, peak=size, source="variables")


def _info(arena: str) -> dict[str, int]:
    found: dict[str, int] = tf.config.experimental.get_memory_info(arena)
    return found


AMPERE = (8, 0)


def set_precision(mixed: bool, replicas: Sequence[str], *, own: bool = False) -> str:
    """Set Keras' policy for layers created from now on, and return its name.

    A model of the user's `own` has none set but a mixed one: then `keras.config.set_floatx` counts.

    bfloat16 where it is fast (compute capability 8.0 and later, and CPUs): it has float32's range,
    so that the loss needs no scaling. float16 with loss scaling on older cards, which have no
    bfloat16.
    """
    policy = "float32"
    if mixed:
        old = any(name.startswith("GPU") for name in replicas) and any(
            _older(card) for card in _cards()
        )
        policy = "mixed_float16" if old else "mixed_bfloat16"
    if own and not mixed:
        set_global_attribute("dtype_policy", None)  # which Keras makes of `floatx` once it is asked
    else:
        keras.mixed_precision.set_global_policy(policy)
    return policy


def _cards() -> list[Any]:
    cards: list[Any] = tf.config.list_physical_devices("GPU")
    return cards


def _older(card: Any) -> bool:
    capability = tf.config.experimental.get_device_details(card).get("compute_capability", AMPERE)
    return tuple(capability) < AMPERE
