"""Want of memory as CUDA, cuDNN and cuBLAS tell it: the words of TensorFlow 2.21 on an H100."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from failed_scenes import MIB, scene_of
from msgspec.structs import replace
from training_runs import small_plan

from gpu_studio.contract import samples
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.events import DeviceMemory
from gpu_studio.plan import with_value
from gpu_studio.trainer.failures import FailureContext, explain
from gpu_studio.trainer.failures.library_memory import WITHOUT_GUARDS
from gpu_studio.trainer.failures.out_of_memory import MemoryOutlook

UNAVAILABLE = "defined at (most recent call last):\n<stack traces unavailable>\n"
TRIED = (
    "  Profiling failure on CUDNN engine {}: RESOURCE_EXHAUSTED: Out of memory while trying to "
    "allocate {}. [tf-allocator-allocation-error='']\n"
)
GUARDED = "16.00MiB"
FORWARD = (
    f"Graph execution error:\n\nDetected at node while/cnn_1/conv_1/Relu {UNAVAILABLE}"
    "2 root error(s) found.\n"
    "  (0) NOT_FOUND:  No algorithm worked!  Error messages:\n"
    f"{TRIED.format('eng11{}', GUARDED)}{TRIED.format('eng0{}', GUARDED)}"
    "\t [[{{node while/cnn_1/conv_1/Relu}}]]\n\t [[while/body/_1/while/Identity_9/_72]]\n"
    "  (1) NOT_FOUND:  No algorithm worked!  Error messages:\n"
    f"{TRIED.format('eng11{}', GUARDED)}{TRIED.format('eng0{}', GUARDED)}"
    "\t [[{{node while/cnn_1/conv_1/Relu}}]]\n0 successful operations.\n"
    "0 derived errors ignored. [Op:__inference__train_steps_869]"
)
BACKWARD = (
    "No algorithm worked!  Error messages:\n"
    f"{TRIED.format('eng1{}', GUARDED)}"
    f"{TRIED.format('eng68{k2=0,k13=0,k18=1,k25=1,k27=1,k28=1}', '28.10MiB')}"
    "\t [[{{node gradient_tape/while/cnn_1/conv_1/convolution/Conv2DBackpropFilter}}]]\n"
    "0 successful operations.\n0 derived errors ignored. [Op:__inference__train_steps_869]"
)
RECURRENT = (
    "Failed to call DoRnn{} with model config: [rnn_mode, rnn_input_mode, rnn_direction_mode]: "
    "2, 0, 0 , [num_layers, input_size, num_units, dir_count, max_seq_length, batch_size, "
    "cell_num_units]: [1, 32, 128, 1, 50, 128, 128] \n"
    "\t [[{{{{node while/sequential_1_1/lstm_1/CudnnRNN{}V3}}}}]] "
    "[Op:__inference__train_steps_1110]"
)
START = "cudaSetDevice() on GPU:0 failed. Status: out of memory"
PRODUCT = (
    "Exception encountered when calling Dense.call().\n\n\x1b[1m{{function_node "
    "__wrapped__MatMul_device_/job:localhost/replica:0/task:0/device:GPU:0}} No blas support for "
    "stream [Op:MatMul] name: \x1b[0m\n\nArguments received by Dense.call():\n"
    "  • inputs=tf.Tensor(shape=(8, 128), dtype=float32)\n  • training=False"
)
HANDLE = "E0000 00:00:1795720244.6 1306 cuda_blas.cc:190] failed to create cublas handle: {}\n"
BFC = "W0000 00:00:1795720244.606361 13063 bfc_allocator.cc:{}] Allocator (GPU_{}_bfc) ran out of "
HARMLESS = BFC + (
    "memory trying to allocate {} with freed_by_count=0. The caller indicates that this is not a "
    "failure, but this may mean that there could be performance gains if more memory were "
    "available.\n"
)
REFUSED = BFC + (
    "memory trying to allocate 3.12MiB (rounded to 3276800)requested by op "
    "while/sequential_1_1/lstm_1/CudnnRNNV3\n"
)


class InternalError(Exception):
    """As TensorFlow's, by its name."""


class NotFoundError(Exception):
    """As TensorFlow's, by its name."""


@pytest.fixture(autouse=True)
def no_variables_of_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in WITHOUT_GUARDS:
        monkeypatch.delenv(name, raising=False)


def logged(context: FailureContext, folder: Path, words: str) -> FailureContext:
    """The same run with this in its log."""
    context.run = RunDirectory.create(folder, "full")
    context.run.log_file.write_text(words)
    return context


def on_one_card(context: FailureContext, peak: int = 53, limit: int = 54) -> FailureContext:
    """The same run on one slice, of which it held at most `peak` MiB."""
    session: Any = context.session
    session.logical = session.logical[:1]
    session.spread.replicas = ("GPU:0",)
    row = DeviceMemory(
        device="GPU:0", current=0, peak=peak * MIB, source="allocator", limit=limit * MIB
    )
    meter: Any = context.meter
    meter.read = lambda: [row]
    return context


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What devices proved to need, in the order asked."""
    found: list[Any] = []
    monkeypatch.setattr(
        "gpu_studio.trainer.failures.out_of_memory.outlook_of",
        lambda *given: found.append(given[-1]) or MemoryOutlook(),
    )
    return found


@pytest.mark.slow
def test_that_trials_of_algorithms_without_room_are_want_of_memory_of_the_layer(
    shown: list[Any],
) -> None:
    failed = explain(NotFoundError(FORWARD), on_one_card(scene_of("conv", "dense")))
    assert (failed.kind, failed.device, failed.layer) == ("out_of_memory", "GPU:0", "conv")
    assert failed.message.startswith(
        "Out of memory on GPU:0, in the layer conv: there was no room for another 16 MiB, in which "
        "cuDNN tries its algorithms (each with 16 MiB of guards around it). At most 53 MiB of its "
        "54 MiB were in use there"
    )
    assert "TF_CUDNN_WORKSPACE_LIMIT_IN_MB=8 TF_DISABLE_RZ_CHECK=1" in failed.suggestions[0]
    assert "batch_size" in failed.suggestions[1]
    assert failed.mends[0].field == "training.batch_size"
    assert shown == [{"GPU:0": (54 + 16 + 16) * MIB}]


@pytest.mark.slow
def test_that_the_largest_trial_and_its_guards_are_what_the_device_needs_beyond_its_limit(
    shown: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = explain(NotFoundError(BACKWARD), on_one_card(scene_of("conv")))
    assert ("another 28.1 MiB" in failed.message, failed.layer) == (True, "conv")
    for name, value in WITHOUT_GUARDS.items():
        monkeypatch.setenv(name, value)
    failed = explain(NotFoundError(BACKWARD), on_one_card(scene_of("conv")))
    assert "guards" not in failed.message
    assert not any("TF_" in each for each in failed.suggestions), "they are set already"
    most = round(28.10 * MIB)
    assert shown == [{"GPU:0": 70 * MIB + most}, {"GPU:0": 54 * MIB + most}]


@pytest.mark.slow
def test_that_of_several_devices_the_one_is_told_whose_allocator_refused_such_a_trial(
    tmp_path: Path,
) -> None:
    words = HARMLESS.format(310, 1, "28.10MiB") + HARMLESS.format(310, 0, "3.00MiB")
    context = logged(scene_of("conv"), tmp_path, words)
    failed = explain(NotFoundError(BACKWARD), context)
    assert (failed.kind, failed.device) == ("out_of_memory", "GPU:1")


@pytest.mark.slow
def test_that_where_no_allocator_says_it_the_only_device_that_is_full_is_told() -> None:
    context = scene_of("conv")
    full = DeviceMemory(
        device="GPU:1", current=0, peak=1000 * MIB, source="allocator", limit=1010 * MIB
    )
    free = replace(full, device="GPU:0", peak=100 * MIB)
    meter: Any = context.meter
    meter.read = lambda: [free, full]
    assert explain(NotFoundError(BACKWARD), context).device == "GPU:1"
    meter.read = lambda: [full, replace(full, device="GPU:0")]
    assert explain(NotFoundError(BACKWARD), context).device is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "why",
    [
        "CUDNN failed to allocate the scratch space for the runner.",
        "Failed to allocate memory of size 16 bytes",
    ],
)
def test_that_older_words_of_a_trial_without_room_are_known(why: str) -> None:
    text = f"No algorithm worked!  Error messages:\n  Profiling failure on CUDNN engine eng0: {why}"
    failed = explain(NotFoundError(text), on_one_card(scene_of("conv")))
    assert failed.kind == "out_of_memory"
    assert "no room for the workspace, in which cuDNN tries" in failed.message


def test_that_no_algorithm_for_another_reason_is_no_want_of_memory(tmp_path: Path) -> None:
    """Even where an allocator once refused what it took for harmless."""
    text = (
        "No algorithm worked!  Error messages:\n  Profiling failure on CUDNN engine eng11{}: "
        "UNKNOWN: CUDNN_STATUS_NOT_SUPPORTED\n\t [[{{node while/cnn_1/conv_1/Relu}}]]"
    )
    context = logged(on_one_card(scene_of("conv")), tmp_path, HARMLESS.format(310, 0, GUARDED))
    failed = explain(NotFoundError(text), context)
    assert (failed.kind, failed.mends) == ("layer", [])
    assert failed.message == (
        "The layer conv could not compute: cuDNN found no algorithm that works "
        "(No algorithm worked!)"
    )
    assert "cuDNN's reason" in failed.suggestions[0]


@pytest.mark.slow
@pytest.mark.parametrize("way", [("Forward", ""), ("Backward", "Backprop")])
def test_that_a_recurrent_layer_is_without_memory_where_its_allocator_said_so(
    way: tuple[str, str], tmp_path: Path, shown: list[Any]
) -> None:
    context = logged(on_one_card(scene_of("lstm"), 32, 40), tmp_path, REFUSED.format(501, 0))
    failed = explain(InternalError(RECURRENT.format(*way)), context)
    assert (failed.kind, failed.device, failed.layer) == ("out_of_memory", "GPU:0", "lstm")
    assert failed.message.startswith(
        "Out of memory on GPU:0, in the layer lstm: there was no room for another 3.1 MiB, in "
        "which cuDNN computes the layer. At most 32 MiB of its 40 MiB"
    )
    assert not any("TF_CUDNN" in each for each in failed.suggestions), "it has no effect there"
    assert failed.mends[0].field == "training.batch_size"
    assert shown == [{"GPU:0": 40 * MIB + 3276800}]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "peak", "kind"),
    [
        ("", 54, "layer"),
        (HARMLESS.format(310, 0, "3.12MiB"), 30, "layer"),
        (HARMLESS.format(310, 0, "3.12MiB"), 54, "out_of_memory"),
        ("E cuda_dnn.cc(1459): 'CUDNN_STATUS_ALLOC_FAILED'\n", 30, "out_of_memory"),
        (None, 54, "out_of_memory"),
        (None, 30, "layer"),
    ],
)
def test_that_without_such_words_the_log_and_the_figures_have_to_agree(
    words: str | None, peak: int, kind: str, tmp_path: Path
) -> None:
    """A question has no log: there the figures alone say it."""
    context = on_one_card(scene_of("lstm"), peak)
    context = context if words is None else logged(context, tmp_path, words)
    failed = explain(InternalError(RECURRENT.format("Forward", "")), context)
    assert failed.kind == kind
    if kind == "layer":
        assert failed.message == (
            "The layer lstm could not compute: cuDNN could not compute the sequence, and gave no "
            "reason (Failed to call DoRnnForward)"
        )
        assert "trainer.log" in failed.suggestions[0]


def recorded(run: RunDirectory, used_mib: int, *others: tuple[int, int]) -> None:
    """A recording of one card of 81,559 MiB, and of other processes on it."""
    mine = [(os.getpid(), 512)]
    held = [
        samples.Process(
            card="GPU-1",
            pid=pid,
            kinds=["compute"],
            memory_mib=amount,
            command="python",
            user="ada",
        )
        for pid, amount in (*mine, *others)
    ]
    figures = samples.FastFigures(card="GPU-1", memory_used_mib=used_mib)
    told = (
        samples.Cards(
            cards=[samples.CardFacts(card="GPU-1", index=0, uuid="GPU-1", total_mib=81559)],
            time=1.0,
        ),
        samples.Fast(cards=[figures], time=1.0),
        samples.Processes(processes=held, time=1.0),
    )
    run.hardware_file.write_bytes(b"".join(map(samples.encode, told)))


def test_that_a_card_on_which_cuda_finds_no_room_to_start_is_held_by_others(
    tmp_path: Path,
) -> None:
    run = RunDirectory.create(tmp_path, "full")
    recorded(run, 81000, (4711, 7 * 1024), (4712, 70 * 1024))
    told: list[Any] = []
    plan = small_plan("devices.carve=[]")
    failed = explain(InternalError(START), FailureContext(run, plan=plan, tell=told.append))
    assert (failed.kind, failed.device, failed.layer) == ("out_of_memory", "GPU:0", None)
    assert failed.message == (
        "Out of memory on GPU:0: its memory is held by python 4712 of ada (70 GiB), python 4711 of "
        "ada (7 GiB), and CUDA found none to start with."
    )
    words = " ".join(failed.suggestions)
    assert all(each in words for each in ("nvidia-smi", "devices.visible", "gpu-studio queue add"))
    assert "batch_size" not in words, "nothing of the plan is to blame"
    assert (failed.mends, told) == ([], [])


def test_that_a_card_is_looked_up_as_the_plan_shows_it_to_cuda(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path, "full")
    recorded(run, 81000, (4711, 7 * 1024))
    for visible, found in ((["GPU:0"], True), (["GPU:1"], False)):
        plan = with_value(small_plan("devices.carve=[]"), "devices.visible", visible)
        failed = explain(InternalError(START), FailureContext(run, plan=plan))
        assert ("held by" in failed.message) == found
    assert explain(InternalError(START)).message.endswith("CUDA found none to start with.")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("used_mib", "words", "full"),
    [
        (81300, "", True),
        (40000, "", False),
        (40000, HANDLE.format("the resource allocation failed"), True),
        (40000, HANDLE.format("the library was not initialized"), False),
    ],
)
def test_that_cublas_without_a_handle_is_want_of_memory_on_a_full_card_only(
    used_mib: int, words: str, full: bool, tmp_path: Path
) -> None:
    context = logged(on_one_card(scene_of("dense")), tmp_path, words)
    assert context.run
    recorded(context.run, used_mib)
    if full:
        context.plan = small_plan("devices.carve=[]")
        failed = explain(InternalError(PRODUCT), context)
        assert (failed.kind, failed.device) == ("out_of_memory", "GPU:0")
        assert "CUDA's libraries found no room beside TensorFlow's (No blas" in failed.message
        assert failed.mends[0].field == "devices.memory_growth"
        return
    failed = explain(InternalError(PRODUCT), context)
    assert failed.kind == "layer"
    assert failed.message.endswith(
        "could not compute: cuBLAS did not start on the card (No blas support for stream)"
    )
    assert "nvidia-smi" in failed.suggestions[0]


@pytest.mark.parametrize(("used_mib", "kind"), [(81300, "out_of_memory"), (40000, "layer")])
def test_that_of_several_slices_whose_product_failed_none_is_named_but_the_card_is_looked_at(
    used_mib: int, kind: str, tmp_path: Path
) -> None:
    text = "No blas support for stream\n\t [[{{node while/mlp_1/dense_1/MatMul}}]]"
    context = logged(scene_of("dense"), tmp_path, "")
    session: Any = context.session
    session.logical = [replace(each, physical="GPU:0", uuid="GPU-1") for each in session.logical]
    assert context.run
    recorded(context.run, used_mib)
    failed = explain(InternalError(text), context)
    assert (failed.kind, failed.device) == (kind, None)
    assert "the layer dense" in failed.message.lower()
