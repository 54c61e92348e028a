"""Whether TensorFlow can use the cards: checks of TensorFlow, and of each card.

Of TensorFlow: its build, CUDA's libraries, and CUDA's start. Of a card: whether it answers,
suits this TensorFlow, is seen by it, and is free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from gpu_studio.common.figures import MIB, plural, size_of
from gpu_studio.hardware.doctor.facts import DriverCard, Facts, Library, TensorFlowView
from gpu_studio.hardware.doctor.findings import Finding, State
from gpu_studio.hardware.doctor.machine_checks import numbers
from gpu_studio.hardware.identity import Identity
from gpu_studio.plan import CardUser, listed

MEND_CUDA = {
    "CUDA_ERROR_NO_DEVICE": (
        "nvidia-smi -L    # does the driver list a card?",
        "env | grep CUDA_VISIBLE_DEVICES",
    ),
    "CUDA_ERROR_SYSTEM_NOT_READY": ("sudo systemctl enable --now nvidia-fabricmanager",),
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": ("sudo reboot",),
    "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE": (
        (
            "# a libcuda.so.1 of the cuda-compat package comes before the driver's "
            "own: take it out of LD_LIBRARY_PATH"
        ),
    ),
    "CUDA_ERROR_UNKNOWN": (
        "sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm    # often after the machine slept",
    ),
}
"""CUDA error names, and what to do. cuInit is CUDA's first call, and the one that fails."""


def tensorflow(facts: Facts) -> Finding | None:
    """Which TensorFlow this is, and whether it was built for NVIDIA's cards."""
    view = facts.tensorflow
    if view is None:
        return _no_answer(facts.why_no_tensorflow) if facts.why_no_tensorflow else None
    if not view.build.is_cuda:
        return _without_cuda(view, facts.has_card)
    cuda = f"CUDA {view.build.cuda} and cuDNN {view.build.cudnn}" if view.build.cuda else "CUDA"
    return Finding("tensorflow", "good", "TensorFlow", f"{_which(view)}, built for {cuda}.")


def libraries(facts: Facts) -> Finding | None:
    """Whether TensorFlow can load the CUDA libraries that it needs; without a card it needs none.

    If it sees no card, what it says itself counts besides what was found.
    """
    view = facts.tensorflow
    if view is None or not facts.has_card:
        return None
    missing = _missing(view)
    if not missing:
        found = f"All {len(view.libraries)} that TensorFlow loads are found."
        return _about_libraries("good", found) if view.libraries else None
    names = f"{listed([one.name for one in missing])} ({missing[0].why_not})"
    if view.gpus:
        found = (
            f"TensorFlow found {plural(len(view.gpus), 'card')}, but these cannot be loaded, and "
            f"a run may need them: {names}."
        )
        return _about_libraries("warning", found, *_how_to_load(facts, view, missing))
    found = f"TensorFlow uses no card, because it cannot load {names}."
    return _about_libraries("bad", found, *_how_to_load(facts, view, missing))


def _missing(view: TensorFlowView) -> list[Library]:
    missing = {library.name: library for library in view.libraries if library.why_not}
    if not view.gpus:
        # The driver's own library is CUDA's matter.
        said = (each for each in view.unloaded if not each.name.startswith("libcuda.so"))
        missing |= {library.name: library for library in said}
    return list(missing.values())


def _about_libraries(state: State, found: str, *mend: str) -> Finding:
    return Finding("libraries", state, "CUDA and cuDNN libraries", found, mend)


def cuda(facts: Facts) -> Finding | None:
    """Whether CUDA itself starts."""
    view = facts.tensorflow
    if view is None or not facts.survey.cards or not view.build.is_cuda:
        return None
    if not view.cuda.why_not:
        found = f"CUDA {view.cuda.version} starts and shows {plural(len(view.cuda.cards), 'card')}."
        return Finding("cuda", "good", "CUDA", found)
    if view.cuda.error == "CUDA_ERROR_NO_DEVICE" and facts.system.variables.visible is not None:
        return None
    why = f"{view.cuda.why_not} ({view.cuda.error})" if view.cuda.error else view.cuda.why_not
    mend = MEND_CUDA.get(view.cuda.error, ("nvidia-smi", "sudo dmesg | grep -iE 'nvrm|xid'"))
    return Finding("cuda", "bad", "CUDA", f"CUDA does not start: {why}.", mend)


def _which(view: TensorFlowView) -> str:
    keras = f" with Keras {view.keras}" if view.keras else ""
    return f"TensorFlow {view.tensorflow}{keras} under Python {view.python}"


def _no_answer(why: str) -> Finding:
    mend = ('python -c "import tensorflow"    # what does it say?',)
    return Finding(
        "tensorflow", "bad", "TensorFlow", f"TensorFlow does not start: {why.rstrip('.')}.", mend
    )


def _without_cuda(view: TensorFlowView, has_card: bool) -> Finding:
    found = f"{_which(view)}, built without CUDA: it uses the CPU only."
    if not has_card:
        return Finding("tensorflow", "good", "TensorFlow", found)
    return Finding("tensorflow", "bad", "TensorFlow", found, (_install(view),))


def _how_to_load(facts: Facts, view: TensorFlowView, missing: Sequence[Library]) -> tuple[str, ...]:
    there = {library.name: library.path for library in view.libraries if not library.why_not}
    folders = [there[one.name].rpartition("/")[0] for one in missing if one.name in there]
    if len(folders) == len(missing) and all(folders):
        # They lie where TensorFlow does not look. (Links beside it, as its guide has them, are
        # where it does not look either: the RUNPATH of its libraries leaves its own folder out.)
        path = ":".join([*dict.fromkeys(folders), "$LD_LIBRARY_PATH"])
        return (f"export LD_LIBRARY_PATH={path}",)
    if facts.system.library_path:
        return (
            _install(view),
            f"unset LD_LIBRARY_PATH    # it comes first, and is {facts.system.library_path}",
        )
    return (_install(view),)


def _install(view: TensorFlowView) -> str:
    python = view.executable or "python"
    return f"{python} -m pip install 'tensorflow[and-cuda]=={view.tensorflow}'"


Capability = tuple[int, int]
Fit = Literal["native", "compiled", "too_old", "too_new", "unknown"]

NEWEST_KNOWN: tuple[tuple[tuple[int, int], Capability], ...] = (
    ((12, 9), (12, 1)),
    ((12, 8), (12, 0)),
    ((11, 8), (9, 0)),
    ((11, 1), (8, 6)),
)
"""Since which CUDA toolkit which capability is the newest it compiles for; later toolkits first."""


def fit(card: Capability, code: Iterable[str], toolkit: tuple[int, ...]) -> Fit:
    """How `code` (`sm_80`, `compute_90`) fits the card.

    `toolkit` is the version of CUDA it was built with. "'compute_xy' refers to both PTX and SASS,
    'sm_xy' refers to SASS only", SASS being machine code (`compute_capabilities` in OpenXLA's
    third_party/gpus/cuda_configure.bzl, by which TensorFlow is built).
    """
    parts = [parsed for word in code if (parsed := _parse(word))]
    if not parts:
        return "unknown"
    if any(_runs(binary, card) for _, binary in parts):
        return "native"
    newest = next((known for since, known in NEWEST_KNOWN if toolkit[:2] >= since), None)
    if newest is not None and card > newest:
        return "too_new"
    if any(kind == "compute" and ptx <= card for kind, ptx in parts):
        return "compiled"
    return "too_old" if card < min(each for _, each in parts) else "too_new"


def _runs(binary: Capability, card: Capability) -> bool:
    return binary[0] == card[0] and binary[1] <= card[1]


def _parse(word: str) -> tuple[str, Capability] | None:
    kind, _, number = word.partition("_")
    # A letter at the end (sm_90a) is code for that one architecture.
    digits = number.rstrip("af")
    if kind not in {"sm", "compute"} or not digits.isdecimal() or len(digits) < 2:
        return None
    return kind, (int(digits[:-1]), int(digits[-1]))


MUCH_TAKEN = 0.1
"""The part of a card's memory that others may hold before it is worth a word."""
MOST_TAKEN = 0.9
PROHIBITED, ONE_PROCESS = 2, 3
MOST_NAMED = 3


def label(card: DriverCard) -> str:
    """The card's name in a title."""
    return f"GPU {card.index} ({card.name})"


def answers(card: DriverCard, _facts: Facts) -> Finding | None:
    """Whether the driver answers for the card."""
    if not card.why_unknown:
        return None
    mend = (
        "sudo dmesg | grep -iE 'nvrm|xid'",
        "sudo reboot    # a card that fell off the bus comes back only so",
    )
    return _finding(
        "answers", "bad", card, f"{card.why_unknown[0].upper()}{card.why_unknown[1:]}.", *mend
    )


def capability(card: DriverCard, facts: Facts) -> Finding | None:
    """Whether this TensorFlow has code for the card."""
    if card.capability is None or facts.tensorflow is None or not facts.tensorflow.build.is_cuda:
        return None
    build = facts.tensorflow.build
    has = f"Compute capability {card.capability[0]}.{card.capability[1]}"
    code, cuda = ", ".join(build.capabilities), f"CUDA {build.cuda}"
    match fit(card.capability, build.capabilities, numbers(build.cuda)):
        case "native":
            found = f"{has}: this TensorFlow has machine code for it."
            return _finding("capability", "good", card, found)
        case "compiled":
            found = (
                f"{has}: code for it ({code}) is compiled at the first start, for some minutes, "
                "and then kept."
            )
            mend = "export CUDA_CACHE_MAXSIZE=4294967296"
            return _finding("capability", "warning", card, found, mend)
        case "too_old":
            found = f"{has} is older than all code in this TensorFlow ({code})."
            mend = "# an older TensorFlow, or CPU devices in the plan"
            return _finding("capability", "bad", card, found, mend)
        case "too_new":
            found = (
                f"{has} is newer than what {cuda}, which this TensorFlow was built with, can "
                f"compile for ({code})."
            )
            mend = (
                "# a TensorFlow built with a newer CUDA, such as NVIDIA's container "
                "nvcr.io/nvidia/tensorflow"
            )
            return _finding("capability", "bad", card, found, mend)
        case _:
            return None


def seen(
    card: DriverCard,
    facts: Facts,
    identity: Identity | None,
    left: tuple[Identity, ...],
    *,
    explained: bool = False,
) -> Finding | None:
    """Whether TensorFlow sees the card, and by which name; nothing if a variable hides the card.

    `explained` says that another finding tells what may keep TensorFlow from it.
    """
    view = facts.tensorflow
    if view is None or identity is None or card.why_unknown or identity not in left:
        return None
    if identity.tensorflow_index is not None:
        cuda = (
            ""
            if identity.cuda_ordinal is None
            else f", CUDA calls it device {identity.cuda_ordinal}"
        )
        return _finding(
            "seen", "good", card, f"TensorFlow calls it {identity.tensorflow_name}{cuda}."
        )
    if any(not gpu.bus_id for gpu in view.gpus):
        found = (
            f"TensorFlow sees {plural(len(view.gpus), 'card')} but did not tell where: which one "
            "this is, is unknown."
        )
        return _finding("seen", "warning", card, found, "gpu-studio doctor --fresh")
    return _unseen(card, view, explained=explained)


def _unseen(card: DriverCard, view: TensorFlowView, *, explained: bool) -> Finding:
    said = view.errors[:1] or view.words
    reported = f" It says: {' '.join(said)}" if said else ""
    mend: tuple[str, ...]
    if explained:
        mend = ("# mend what else is marked ✘, then: gpu-studio doctor --fresh",)
    else:
        reported = reported or " It says nothing of why."
        python = view.executable or "python"
        mend = (
            f"{python} -c \"import tensorflow as tf; tf.config.list_physical_devices('GPU')\"",
            "gpu-studio doctor --fresh    # once more, after a change",
        )
    return _finding("seen", "bad", card, f"TensorFlow does not see it.{reported}", *mend)


def memory(card: DriverCard, facts: Facts) -> Finding | None:
    """Whether other programs hold much of the card's memory."""
    if not card.total_mib or card.used_mib is None:
        return None
    taken = card.used_mib / card.total_mib
    taken_of_all = size_of(card.used_mib * MIB, card.total_mib * MIB, "of")
    found = f"{taken_of_all} of its memory are taken{_by(card.users)}."
    if taken < MUCH_TAKEN:
        return _finding("memory", "good", card, found)
    more = " Little is left to train in." if taken > MOST_TAKEN else ""
    look = "gpu-studio devices" if facts.survey.practice else f"nvidia-smi -i {card.index}"
    return _finding("memory", "warning", card, found + more, f"{look}    # who uses it")


def persistence(card: DriverCard, facts: Facts) -> Finding | None:
    """Whether the driver stays loaded for an unused card; not checked in a container or WSL."""
    if card.persistent is not False or facts.system.wsl or facts.system.container:
        return None
    found = (
        "Persistence mode is off: the driver lets go of an unused card, and "
        "each start takes seconds longer."
    )
    return _finding("persistence", "warning", card, found, "sudo nvidia-smi -pm 1")


def compute_mode(card: DriverCard, _facts: Facts) -> Finding | None:
    """Whether the card may be used for computing, and by how many processes."""
    reset = f"sudo nvidia-smi -i {card.index} -c 0"
    if card.compute_mode == PROHIBITED:
        return _finding("compute_mode", "bad", card, "Its compute mode forbids computing.", reset)
    if card.compute_mode == ONE_PROCESS:
        found = (
            "Its compute mode is exclusive: a second process on it fails, "
            "so runs must follow each other."
        )
        return _finding("compute_mode", "warning", card, found, reset)
    return None


def mig(card: DriverCard, _facts: Facts) -> Finding | None:
    """Whether a card in MIG mode has instances."""
    if not card.mig:
        return None
    if card.instances:
        found = f"MIG divides it into {card.instances} instances; a process can use one of them."
        return _finding("mig", "good", card, found)
    found = "MIG is on, but the card has no instances yet, so CUDA sees nothing of it."
    mend = (
        f"sudo nvidia-smi mig -i {card.index} -cgi 0 -C",
        f"sudo nvidia-smi -i {card.index} -mig 0    # or without MIG",
    )
    return _finding("mig", "bad", card, found, *mend)


CHECKS: tuple[Callable[[DriverCard, Facts], Finding | None], ...] = (
    answers,
    capability,
    memory,
    compute_mode,
    mig,
    persistence,
)
"""Those that look at nothing but the card and the facts."""
OF_PRACTICE = (answers, memory)
"""Those that a practice card can be asked."""


def _finding(check: str, state: State, card: DriverCard, found: str, *mend: str) -> Finding:
    return Finding(check, state, label(card), found, mend, card.uuid or card.bus_id, card.index)


def _by(users: tuple[CardUser, ...]) -> str:
    if not users:
        return ""
    ranked = sorted(users, key=lambda user: -(user.used_mib or 0))
    more = f" and {len(users) - MOST_NAMED} more" if len(users) > MOST_NAMED else ""
    return f", by {', '.join(map(_who, ranked[:MOST_NAMED]))}{more}"


def _who(user: CardUser) -> str:
    owner = f" of {user.user}" if user.user else ""
    return f"{user.command or 'a process'} {user.pid}{owner}"
