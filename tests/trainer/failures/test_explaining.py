from __future__ import annotations

import errno
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from failed_scenes import scene_of
from training_runs import small_plan

from gpu_studio.common.practice import PRACTICE
from gpu_studio.contract import samples
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.events import DeviceMemory, Devices, LogicalDevice
from gpu_studio.plan import with_value
from gpu_studio.trainer.errors import DataError
from gpu_studio.trainer.failures import FailureContext, explain
from gpu_studio.trainer.failures.machine_recording import machine_seen
from gpu_studio.trainer.failures.out_of_memory import MemoryOutlook, outlook_of, shown_needs
from gpu_studio.trainer.user_code.admission import own_folders

MIB = 1024 * 1024


class ResourceExhaustedError(Exception):
    """As TensorFlow's, by its name."""


OOM = (
    "{{function_node __wrapped__MatMul}} OOM when allocating tensor with "
    "shape[8192,8192] and type float on "
    "/job:localhost/replica:0/task:0/device:GPU:1 by allocator GPU_1_bfc [Op:MatMul]"
)


# As TensorFlow 2.21 writes it for a step on a carved CPU, with a card's names.
OOM_IN_STEP = (
    "Graph execution error:\n\nDetected at node while/replica_1/mlp_1/dense_1/MatMul defined at "
    "(most recent call "
    "last):\nOOM when allocating tensor with shape[1024,1024] and type float on "
    "/job:localhost/replica:0/task:0/device:GPU:1 by allocator GPU_1_bfc\n\t "
    "[[{{node while/replica_1/mlp_1/dense_1/MatMul}}]] [Op:__inference__train_steps_1443]"
)
SYNC_FAILED = "GPU sync failed"  # https://github.com/tensorflow/tensorflow/issues/1450
ILLEGAL = (
    "Failed to enqueue async memcpy from device to host: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal "
    "memory access was "
    "encountered [[{{node MatMul}}]] on /job:localhost/replica:0/task:0/device:GPU:1"
)


# As TensorFlow 2.21 writes it; the stack is shortened.
UNCOMPILED = (
    "Graph execution error:\n\nDetected at node functional_1/text_1/AsString defined at (most "
    "recent call last):\n<stack traces unavailable>\nDetected unsupported operations when trying "
    "to compile graph __inference__train_step_240[] on XLA_CPU_JIT: AsString (No registered "
    "'AsString' OpKernel for XLA_CPU_JIT devices compatible with node "
    "{{node functional_1/text_1/AsString}}){{node functional_1/text_1/AsString}}\nThe op is "
    'created at: \nFile "FOLDER/models.py", line 6, in call\n\ttf2xla conversion failed while '
    "converting __inference__train_step_240[].\n\t [[while/body/_1/while/StatefulPartitionedCall]] "
    "[Op:__inference__train_steps_307]"
)


@pytest.mark.parametrize("chosen", ["true", "auto"])
def test_that_what_xla_cannot_compile_is_named_with_its_line_and_a_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str
) -> None:
    (tmp_path / "models.py").touch()
    monkeypatch.setattr(own_folders, "hold", lambda path: tmp_path in path.parents)
    text = UNCOMPILED.replace("FOLDER", str(tmp_path)[1:])  # without its slash, as XLA writes it
    plan = small_plan(f"training.jit_compile={chosen}")
    failed = explain(ValueError(text), FailureContext(plan=plan))
    assert failed.message == (
        "XLA could not compile the step: on a CPU it has no way to compute AsString."
    )
    off, made = failed.suggestions
    assert off.startswith("Set training.jit_compile to false")
    assert made.startswith(f"Line 6 of {tmp_path}/models.py made it")
    assert [(each.field, each.value) for each in failed.mends] == [("training.jit_compile", False)]


def test_that_out_of_memory_names_device_size_and_three_things_to_try() -> None:
    failed = explain(ResourceExhaustedError(OOM))
    assert failed.device == "GPU:1"
    assert failed.message.startswith(
        "Out of memory on GPU:1: there was no room for another 256 MiB"
    )
    assert "[8192,8192]" in failed.message
    assert len(failed.suggestions) >= 3


@pytest.mark.slow
def test_that_what_lacks_room_in_no_layer_but_for_the_update_is_told_so() -> None:
    scene = scene_of("dense_1", "dense_2")
    for operation in ("while/body/_1/while/adam/update_1_2/Sub_2", "while/adam/Sub_10"):
        text = OOM_IN_STEP.replace("while/replica_1/mlp_1/dense_1/MatMul", operation)
        failed = explain(ResourceExhaustedError(text), scene)
        assert failed.layer is None
        assert failed.message.startswith(
            "Out of memory on GPU:1, in the optimizer's update of the weights: there was no room"
        )
    assert "update" not in explain(ResourceExhaustedError(OOM), scene).message


def test_that_out_of_memory_without_details_is_still_told() -> None:
    failed = explain(ResourceExhaustedError("failed to allocate memory"))
    assert failed.message == "Out of memory on a device."


def test_that_without_a_prediction_nothing_is_offered_before_the_first_step() -> None:
    failed = explain(ResourceExhaustedError(OOM), FailureContext(plan=small_plan()))
    assert failed.mends == []
    assert "weights alone" not in failed.message


class InternalError(Exception):
    """As TensorFlow's, by its name."""


def test_that_a_copy_without_room_is_out_of_memory_where_it_should_have_gone(
    tmp_path: Path,
) -> None:
    place = "/job:localhost/replica:0/task:0/device"
    text = (
        f"Failed copying input tensor from {place}:GPU:0 to {place}:GPU:2 in order to run "
        "Identity: Dst tensor is not initialized."
    )
    run = RunDirectory.create(tmp_path, "full")
    run.log_file.write_text(
        "W0 bfc_allocator.cc:502] Allocator (GPU_2_bfc) ran out of memory trying to allocate "
        "14.1KiB (rounded to 14592)requested by op Identity\n"
    )
    failed = explain(InternalError(text), FailureContext(run, plan=small_plan()))
    assert (failed.kind, failed.device) == ("out_of_memory", "GPU:2")
    assert failed.message == "Out of memory on GPU:2: there was no room for another 14.2 KiB."


def test_that_what_was_free_in_pieces_counts_for_nothing_and_each_device_shows_its_own_need() -> (
    None
):
    memory = [
        DeviceMemory(
            device=f"GPU:{index}", current=0, peak=9 * MIB, source="allocator", limit=15 * MIB
        )
        for index in (0, 1, 2)
    ]
    asked = {"GPU:0": 6 * MIB, "GPU:2": MIB, None: MIB}
    carved = small_plan()
    assert shown_needs(asked, memory, carved) == {"GPU:0": 21 * MIB, "GPU:2": 16 * MIB}
    growing = with_value(small_plan("devices.carve=[]"), "devices.memory_growth", True)
    assert shown_needs(asked, memory, growing) == {"GPU:0": 15 * MIB, "GPU:2": 10 * MIB}
    assert shown_needs({"GPU:1": 0}, [], None) == {}


@pytest.mark.slow
def test_that_what_an_earlier_process_of_the_run_was_refused_counts_for_nothing(
    tmp_path: Path, monkeypatch
) -> None:
    run, shown = RunDirectory.create(tmp_path, "again"), []
    refused = (
        "W0 bfc_allocator.cc:502] Allocator (GPU_{}_bfc) ran out of memory trying to allocate "
        "9.0MiB (rounded to {})requested by op while/mlp_1/dense_1/MatMul\n"
    )
    run.log_file.write_text(refused.format(0, 9 * MIB) + refused.format(1, 9 * MIB))
    scene = scene_of()
    context = FailureContext.of(run, lambda _event: None, lambda: False)
    context.plan, context.session, context.meter = scene.plan, scene.session, scene.meter
    monkeypatch.setattr(
        "gpu_studio.trainer.failures.out_of_memory.outlook_of",
        lambda *given: shown.append(given[-1]) or MemoryOutlook(),
    )
    with run.log_file.open("a") as log:
        log.write(refused.format(1, 2 * MIB))
    explain(ResourceExhaustedError(OOM.replace("8192,8192", "512,1024")), context)
    assert shown == [{"GPU:1": 1026 * MIB}]


@pytest.mark.slow
def test_that_graphs_are_rewritten_elsewhere_while_a_failure_is_to_be_reported(monkeypatch) -> None:
    from gpu_studio.placement.plan_facts import ModelFacts
    from gpu_studio.trainer.answers import building
    from gpu_studio.trainer.answers.rewriting_apart import rewritten_apart

    def facts_of(*_given: Any, loaded: bool, rewriting: Any = None) -> ModelFacts:
        asked.append((loaded, rewriting))
        return ModelFacts()

    monkeypatch.setattr("gpu_studio.trainer.devices.set_precision", lambda *_given, **_own: None)
    monkeypatch.setattr(building, "model_of", lambda *_: None)
    monkeypatch.setattr(building, "facts_of", facts_of)
    asked: list[tuple[bool, Any]] = []
    scene = scene_of()
    setattr(scene.session, "dataset", object())  # noqa: B010 (a stand-in for a session)
    outlook_of(scene, ResourceExhaustedError(OOM), "GPU:1", {})
    assert asked
    assert {rewriting for _, rewriting in asked} == {rewritten_apart}


def test_that_advice_fits_the_plan_and_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    placed = with_value(small_plan("devices.carve=[]"), "distribution.strategy", "placed")
    devices = Devices(
        logical=[
            LogicalDevice(name="GPU:1", physical="GPU:0", limit_mib=64),
            LogicalDevice(name="GPU:2", physical="GPU:1"),
        ],
        replicas=["GPU:1", "GPU:2"],
        strategy="placed",
        tensorflow="2.21.0",
        keras="3",
    )
    meter: Any = SimpleNamespace(read=list)
    for device, words in (("GPU:1", "devices.carve"), ("GPU:2", "nvidia-smi")):
        context = FailureContext(plan=placed, reported=devices, meter=meter)
        text = OOM.replace("GPU:1", device)
        said = " ".join(explain(ResourceExhaustedError(text), context).suggestions)
        assert "distribution.strategy = placed" not in said
        assert f"put fewer of its layers on {device}" in said
        assert ("nvidia-smi" in said, "devices.carve" in said) == (
            words == "nvidia-smi",
            words == "devices.carve",
        )
    monkeypatch.setenv(PRACTICE, "2x1GiB")  # a card that nobody else uses
    text = OOM.replace("GPU:1", "GPU:2")
    said = " ".join(explain(ResourceExhaustedError(text), context).suggestions)
    assert "nvidia-smi" not in said


@pytest.mark.slow
def test_that_the_allocator_s_figures_and_the_layer_by_its_operation_are_told() -> None:
    failed = explain(ResourceExhaustedError(OOM_IN_STEP), scene_of("conv", "dense"))
    assert (failed.kind, failed.device, failed.layer) == ("out_of_memory", "GPU:1", "dense")
    assert failed.message == (
        "Out of memory on GPU:1, in the layer dense: there was no room for another 4 MiB "
        "(a tensor of shape [1024,1024], float). At most 1,000 MiB of its 1 GiB were in use there; "
        "40 B of it are the weights and the optimizer's state on GPU:1."
    )
    assert [mend.field for mend in failed.mends] == [
        "training.batch_size",
        "training.mixed_precision",
    ]


@pytest.mark.slow
def test_that_no_smaller_batch_is_advised_for_data_that_come_in_batches() -> None:
    scene = scene_of("conv", "dense")
    for batched, advised in ((False, True), (True, False)):
        scene.session.dataset.train.stream = SimpleNamespace(batched=batched)
        failed = explain(ResourceExhaustedError(OOM_IN_STEP), scene)
        assert ("training.batch_size" in [each.field for each in failed.mends]) is advised
        assert ("training.batch_size" in " ".join(failed.suggestions)) is advised


def test_that_what_a_compiled_function_asked_for_in_one_piece_is_told() -> None:
    # https://github.com/NVIDIA/DeepLearningExamples/issues/405
    text = (
        "Out of memory while trying to allocate 68852648264 bytes.\n\t [[{{node "
        "cluster_0_1/xla_run}}]]"
    )
    failed = explain(ResourceExhaustedError(text), scene_of("dense"))
    assert failed.message.startswith(
        "Out of memory on a device: there was no room for another 64.1 GiB."
    )
    by_xla = scene_of("dense")
    by_xla.session.program.by_xla = True
    without = "Set training.jit_compile to false"
    assert not any(each.startswith(without) for each in failed.suggestions)
    told = explain(ResourceExhaustedError(text), by_xla).suggestions
    assert any(each.startswith(without) for each in told)


def test_that_libraries_without_room_beside_tensorflow_s_are_given_some() -> None:
    # https://github.com/tensorflow/tensorflow/issues/60713
    text = (
        "No algorithm worked!  Error messages:\n  Profiling failure on CUDNN engine: UNKNOWN: "
        "CUDNN_STATUS_ALLOC_FAILED"
    )
    failed = explain(RuntimeError(text), scene_of("conv"))
    assert failed.kind == "out_of_memory"
    assert (
        "CUDA's libraries found no room beside TensorFlow's (CUDNN_STATUS_ALLOC_FAILED)"
        in failed.message
    )
    assert failed.mends[0].field == "devices.memory_growth"
    assert "memory_growth" in failed.suggestions[0]


@pytest.mark.parametrize(("text", "device"), [(SYNC_FAILED, None), (ILLEGAL, "GPU:1")])
def test_that_a_card_that_fails_is_told_as_that_with_the_others_to_go_on_with(
    text: str, device: str | None
) -> None:
    failed = explain(RuntimeError(text), scene_of("dense"))
    assert (failed.kind, failed.device) == ("device_lost", device)
    assert "Resume from the last checkpoint on the other devices." in failed.suggestions
    assert [mend.value for mend in failed.mends] == ([["GPU:0"]] if device else [])


def test_that_too_little_memory_to_load_a_library_is_no_missing_library() -> None:
    failed = explain(ImportError("libtensorflow_cc.so.2: failed to map segment from shared object"))
    assert (failed.kind, failed.message.partition(":")[0]) == (
        "host_memory",
        "There was not enough memory to load a library",
    )
    assert "ulimit -v" in failed.suggestions[0]


def test_that_a_limit_of_threads_is_told_with_where_it_may_be_set() -> None:
    failed = explain(RuntimeError("can't start new thread"))
    assert failed.message == "The system let the trainer start no further thread."
    assert "ulimit -u" in failed.suggestions[0]


def test_that_a_module_that_is_missing_is_named() -> None:
    failed = explain(ModuleNotFoundError("No module named 'einops'"))
    assert (failed.kind, failed.message) == (
        "import",
        "The trainer could not start: No module named 'einops'.",
    )


def test_that_our_own_errors_keep_their_sentence_and_advice() -> None:
    failed = explain(DataError("There is no file x.npz.", ["Look for it."]))
    assert (failed.message, failed.suggestions) == ("There is no file x.npz.", ["Look for it."])


@pytest.mark.parametrize("where", ["Exception encountered when calling memory\n\n", ""])
def test_that_a_batch_of_another_size_than_a_kept_state_is_told_as_such(where: str) -> None:
    context = FailureContext()
    memory = SimpleNamespace(name="memory", stateful=True, weights=[])
    vars(context)["layers"] = lambda _error: [memory]
    failed = explain(ValueError(f"{where}Incompatible shapes: [2,20] vs. [12,20]"), context)
    assert failed.message.startswith("The layer memory keeps a state of each sample of a batch")
    assert "drop_remainder" in failed.suggestions[0]
    failed = explain(ValueError(f"{where}Incompatible shapes: [12,20] vs. [12,5]"), context)
    assert "keeps a state" not in failed.message


@pytest.mark.parametrize(
    "reason",
    [
        "bad shapes",
        "\x1b[1mbad shapes\x1b[0m",
        "{{function_node __wrapped__MatMul_device_/device:CPU:0}} bad shapes [Op:MatMul]",
    ],
)
def test_that_an_exception_in_a_layer_names_the_layer_and_its_reason(reason: str) -> None:
    words = f"Exception encountered when calling Dense.call().\n\n{reason}\n\nArguments received by"
    failed = explain(ValueError(words))
    assert failed.message == "The layer Dense could not compute: bad shapes"


STACK = """Detected at node sequential_1/embedding_1/GatherV2 defined at (most recent call last):
  File "/home/ada/train.py", line 8, in <module>

  File "/usr/lib/python3/keras/src/ops/numpy.py", line 7924, in take
<stack traces unavailable>
"""


SEVERAL = f"""{STACK}
2 root error(s) found.
  (0) CANCELLED:  Operation was cancelled
\t [[{{{{node a}}}}]]
  (1) INVALID_ARGUMENT:  Incompatible shapes: [2] vs. [3]
\t [[{{{{node b}}}}]]"""


@pytest.mark.parametrize(
    ("words", "told", "advice"),
    [
        (f"{STACK}\nindices[0,0] = 99 is not in [0, 77)", "indices[0,0] = 99", "largest id + 1"),
        (
            f"{STACK}\nReceived a label value of 5 which is outside the valid range of [0, 2).  L",
            "Received a label value of 5 which is outside the valid range of [0, 2).",
            "one unit for each class",
        ),
        (
            SEVERAL,
            "Incompatible shapes: [2] vs. [3]",
            "trainer.log",
        ),
        ("no words of its own", "no words of its own", "trainer.log"),
    ],
)
def test_that_the_reason_stands_where_a_graph_failed_and_not_its_stack(
    words: str, told: str, advice: str
) -> None:
    node = "\n\t [[{{node sequential_1/embedding_1/GatherV2}}]] [Op:__inference_train_1]"
    failed = explain(ValueError(f"Graph execution error:\n\n{words}{node}"))
    assert told in failed.message
    assert "Graph execution error" not in failed.message
    assert "train.py" not in failed.message
    assert advice in " ".join(failed.suggestions)


def test_that_the_last_line_tells_what_stopped_a_function_that_was_traced() -> None:
    words = """in user code:

    File "/home/ada/losses.py", line 3, in focal  *
        return x @ y

    ValueError: Dimensions must be equal, but are 3 and 4
    """
    assert explain(ValueError(words)).message.endswith("Dimensions must be equal, but are 3 and 4")


def test_that_a_full_disk_is_never_told_as_a_device_without_memory() -> None:
    """TensorFlow has one type of error for both."""
    text = "/runs/x/events.out.tfevents.1; No space left on device"
    failed = explain(ResourceExhaustedError(text))
    assert (failed.kind, failed.mends) == ("disk", [])
    assert failed.message == f"A disk took no more (No space left on device): {text}"
    assert "df -h" in failed.suggestions[0]


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "df -h"),
        (errno.EDQUOT, "df -h"),
        (errno.EROFS, "mounted"),
        (errno.EFBIG, "ulimit -f"),
    ],
)
def test_that_what_a_disk_refuses_names_the_disk_and_the_way_out(number: int, advice: str) -> None:
    failed = explain(OSError(number, os.strerror(number), "/runs/x/file"))
    assert failed.kind == "disk"
    assert os.strerror(number) in failed.message
    assert "/runs/x/file" in failed.message
    assert advice in failed.suggestions[0]


@pytest.mark.parametrize(
    "error", [MemoryError(), OSError(28, "No space left on device"), KeyError("x"), ValueError()]
)
def test_that_every_exception_gets_a_sentence_advice_and_its_traceback(error: Exception) -> None:
    try:
        raise error
    except Exception as caught:  # noqa: BLE001
        failed = explain(caught)
    assert failed.message
    assert failed.suggestions
    assert "test_explaining" in failed.traceback


@pytest.mark.slow
def test_that_a_layer_which_only_the_allocator_names_is_told(tmp_path: Path) -> None:
    context = scene_of("conv", "dense")
    context.run = RunDirectory.create(tmp_path, "full")
    context.run.log_file.write_text(
        "W0 bfc_allocator.cc:502] Allocator (GPU_1_bfc) ran out of memory trying to allocate "
        "4.0MiB (rounded to 4194304)requested by op while/mlp_1/dense_1/MatMul\n"
        "W0 bfc_allocator.cc:502] Allocator (GPU_0_bfc) ran out of memory trying to allocate "
        "2.0MiB (rounded to 2097152)requested by op while/mlp_1/conv_1/Conv2D\n"
    )
    failed = explain(ResourceExhaustedError(OOM), context)
    assert (failed.device, failed.layer) == ("GPU:1", "dense")


@pytest.mark.parametrize(("mine", "others"), [(4096, 0), (2048, 2048), (0, 4096)])
def test_that_what_the_run_itself_holds_is_not_held_by_others(tmp_path, mine, others):
    """A run that begins quickly has taken its memory before the sampler first looks."""
    run, whole = RunDirectory.create(tmp_path, "quick"), mine + others
    held = [
        samples.Process(card="GPU-1", pid=pid, kinds=["compute"], memory_mib=amount)
        for pid, amount in ((os.getpid(), mine), (1, others))
        if amount
    ]
    recorded = (
        samples.Cards(cards=[samples.CardFacts(card="GPU-1", index=0)], time=1.0),
        samples.Fast(cards=[samples.FastFigures(card="GPU-1", memory_used_mib=whole)], time=1.0),
        samples.Processes(processes=held, time=1.0),
    )
    run.hardware_file.write_bytes(b"".join(map(samples.encode, recorded)))
    (card,) = machine_seen(FailureContext(run)).cards
    assert card.used_mib == others
