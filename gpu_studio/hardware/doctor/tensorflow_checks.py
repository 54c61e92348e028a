"""Whether this TensorFlow can use the cards: its build, CUDA's libraries, and CUDA's start."""

from __future__ import annotations

from gpu_studio.hardware.doctor.facts import Facts
from gpu_studio.hardware.doctor.findings import Finding
from gpu_studio.hardware.tensorflow_view import TensorFlowView

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
    """Whether the CUDA libraries that TensorFlow loads exist; without a card it needs none."""
    view = facts.tensorflow
    if view is None or not facts.has_card or not view.libraries:
        return None
    missing = [library for library in view.libraries if library.why_not]
    if not missing:
        found = f"All {len(view.libraries)} that TensorFlow loads are found."
        return Finding("libraries", "good", "CUDA and cuDNN libraries", found)
    names = f"{', '.join(one.name for one in missing)} ({missing[0].why_not})"
    if view.gpus:
        found = (
            "TensorFlow found its card(s), but these cannot be loaded, and "
            f"a run may need them: {names}."
        )
        return Finding(
            "libraries", "warning", "CUDA and cuDNN libraries", found, _how_to_load(facts, view)
        )
    found = f"TensorFlow uses no card, because these cannot be loaded: {names}."
    return Finding("libraries", "bad", "CUDA and cuDNN libraries", found, _how_to_load(facts, view))


def cuda(facts: Facts) -> Finding | None:
    """Whether CUDA itself starts."""
    view = facts.tensorflow
    if view is None or not facts.survey.cards or not view.build.is_cuda:
        return None
    if not view.cuda.why_not:
        found = f"CUDA {view.cuda.version} starts and shows {len(view.cuda.cards)} card(s)."
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


def _how_to_load(facts: Facts, view: TensorFlowView) -> tuple[str, ...]:
    if facts.system.library_path:
        return (
            _install(view),
            f"unset LD_LIBRARY_PATH    # it comes first, and is {facts.system.library_path}",
        )
    return (_install(view),)


def _install(view: TensorFlowView) -> str:
    python = view.executable or "python"
    return f"{python} -m pip install 'tensorflow[and-cuda]=={view.tensorflow}'"
