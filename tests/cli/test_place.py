"""`place`: the layers' devices, in a table, in JSON, in a plan file.

Every way in which it can fail is covered.
"""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import fake_place_asker
import msgspec
import pytest
from made_machines import TWO_CARDS
from made_plan_facts import DATA, FACTS, THREE_LAYERS
from patience import PATIENCE_S

from gpu_studio.cli import given_plan
from gpu_studio.cli.command import INTERRUPTED, REFUSED
from gpu_studio.lab.machine_figures import MachineFigures
from gpu_studio.plan import Carve, Data, DeviceSettings, ModelSettings, Plan, load, save
from gpu_studio.plan.scripts import FitCall, plan_of
from gpu_studio.runs.launch import TRAINER_VARIABLE

PLAN = Plan(
    model=ModelSettings(name="mlp"),
    data=Data(name="synthetic", options={"shape": [10], "samples": 800}),
    devices=DeviceSettings(carve=(Carve("CPU:0", (0, 0)),)),
)
NAMES = [layer.name for layer in THREE_LAYERS.layers]


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "three.plan.toml"
    save(PLAN, path)
    return path


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[list[str]]]:
    """Choose what the asked process does from then on.

    What it was asked so far, a list of words each.
    """
    starts = tmp_path / "asked"
    starts.touch()
    monkeypatch.setenv("FAKE_ASKER_STARTS", str(starts))

    def behaves(*flags: str) -> list[list[str]]:
        command = [sys.executable, fake_place_asker.__file__, *flags, "gpu_studio.trainer"]
        monkeypatch.setenv(TRAINER_VARIABLE, shlex.join(command))
        return [line.split() for line in starts.read_text("utf-8").splitlines()]

    behaves()
    return behaves


def test_that_a_table_says_which_layers_are_where_and_what_else_there_is(
    gpu_studio, plan, machine, asked
) -> None:
    answer = gpu_studio("place", plan)
    assert answer.code == 0, answer.err
    assert "CPU:0" in answer.out
    assert "one, two, three" in answer.out
    assert "ms a step" in answer.out
    assert "mirrored on CPU:0, CPU:1" in answer.out
    assert "training steps…" in answer.err


def test_that_measured_times_are_seconds_and_shared_cores_make_micro_batches_faster(
    gpu_studio, plan, machine, asked
) -> None:
    told = gpu_studio("place", plan, "--json").document
    assert (told["times"], told["micro_batches"]) == ("seconds", 2)
    assert set(told["layers"]) == set(NAMES)
    # 9 ms of layers by two hands, and three updates of 0.1 ms.
    assert told["step"] == pytest.approx(0.0045 + 0.0003)
    assert {other["strategy"] for other in told["others"]} == {"one_device", "mirrored"}
    one = gpu_studio("place", plan, "--json", "--micro-batches", "1").document
    assert one["step"] == pytest.approx(0.009 + 0.0003)


def test_that_an_estimate_goes_by_flops_and_times_nothing(gpu_studio, plan, machine, asked) -> None:
    told = gpu_studio("place", plan, "--estimate", "--json").document
    assert told["times"] == "FLOPs"
    assert [words[0] for words in asked()] == ["data", "model"]
    assert "By FLOPs, not measured" in gpu_studio("place", plan, "--estimate").out


def test_that_an_estimate_goes_at_the_pace_that_was_measured_of_this_machine(
    gpu_studio, plan, machine, asked, monkeypatch
) -> None:
    figures = MachineFigures({"CPU:0": {"float32": 2e9}}, {}, 9.0)
    monkeypatch.setattr("gpu_studio.runs.machine_figures.kept_figures", lambda _machine: figures)
    told = gpu_studio("place", plan, "--estimate", "--json").document
    assert told["times"] == "estimated seconds"
    assert told["figures"] == {
        "measured": 9.0,
        "flops_per_second": {"CPU:0": {"float32": 2e9}},
        "bytes_per_second": {},
    }
    monkeypatch.setattr(figures.__class__, "known", "at what was measured today")
    said = gpu_studio("place", plan, "--estimate").out
    assert "By FLOPs at what was measured today of this machine in float32" in said
    assert "CPU:0 2 GFLOP/s" in said
    assert gpu_studio("place", plan, "--json").document["times"] == "seconds"


def test_that_the_layers_are_timed_once_and_again_if_asked_for(
    gpu_studio, plan, machine, asked
) -> None:
    gpu_studio("place", plan)
    gpu_studio("place", plan)
    assert [words[0] for words in asked()].count("times") == 1
    gpu_studio("place", plan, "--fresh")
    assert [words[0] for words in asked()].count("times") == 2


def test_that_a_measured_step_corrects_what_a_step_is_said_to_hold(
    gpu_studio, plan, machine, asked
) -> None:
    def step(*options: str) -> int:
        (device,) = (
            each for each in gpu_studio("model", plan, "--json", *options).document["devices"]
        )
        return int(device["total"]) - device["weights"]["bytes"] - device["slots"]["bytes"]

    assert step() != fake_place_asker.HELD
    assert step("--measured") == pytest.approx(fake_place_asker.HELD, rel=0.001)
    assert (
        "corrected by a measured step" in gpu_studio("model", plan, "--measured", "--formulas").out
    )
    assert [words[0] for words in asked()].count("times") == 1


def test_that_a_step_that_cannot_be_measured_is_no_figure(gpu_studio, plan, machine, asked) -> None:
    asked("refuse-times")
    answer = gpu_studio("model", plan, "--measured")
    assert answer.code == 2
    assert "No step could be measured: " in answer.err
    assert "Without --measured it is predicted." in answer.err


def test_that_other_threads_an_operation_are_another_question_and_reach_the_process(
    gpu_studio, plan, machine, asked, monkeypatch
) -> None:
    gpu_studio("place", plan)
    monkeypatch.setenv("TF_NUM_INTRAOP_THREADS", "1")
    gpu_studio("place", plan)
    gpu_studio("place", plan)
    assert [words[2:] for words in asked() if words[0] == "times"] == [[], ["1"]]


def test_that_threads_that_are_no_number_do_no_harm(
    gpu_studio, plan, machine, asked, monkeypatch
) -> None:
    monkeypatch.setenv("TF_NUM_INTRAOP_THREADS", "many")
    assert gpu_studio("place", plan, "--estimate").code == 0


def test_that_the_plan_is_written_with_its_layers_placed(
    gpu_studio, plan, machine, asked, tmp_path
) -> None:
    target = tmp_path / "placed.plan.toml"
    answer = gpu_studio("place", plan, "--to", target, "--micro-batches", "4")
    assert f"gpu-studio train {target}" in answer.err
    written = load(target).distribution
    assert written.strategy == "placed"
    assert written.placed is not None
    assert (set(written.placed.layers), written.placed.micro_batches) == (set(NAMES), 4)


def test_that_a_plan_written_elsewhere_still_names_its_own_files_and_leaves_to_its_script(
    gpu_studio, machine, tmp_path, monkeypatch
) -> None:
    code, path, target = (
        tmp_path / "own.py",
        tmp_path / "own.plan.toml",
        tmp_path / "other" / "placed.plan.toml",
    )
    code.write_text("model.fit(x, y, epochs=some())\n", "utf-8")
    own = plan_of("own.py", FitCall(1, {}, ("epochs",)))
    save(replace(own, devices=PLAN.devices), path)
    target.parent.mkdir()
    facts = replace(FACTS, data=replace(DATA, fit={"epochs": 7}))
    monkeypatch.setattr(given_plan, "asked_facts", lambda _plan: facts)
    for written, named in ((target, f"{code}:fit"), (tmp_path / "placed.plan.toml", "own.py:fit")):
        answer = gpu_studio("place", path, "--allow-code", "--estimate", "--to", written)
        assert answer.code == 0, answer.err
        plan = load(written)
        assert (plan.model.python, plan.training.as_in_script) == (named, ("epochs",))


def test_that_a_file_that_is_there_is_replaced_by_force_only(
    gpu_studio, plan, machine, asked, tmp_path
) -> None:
    target = tmp_path / "there.toml"
    target.write_text("precious", "utf-8")
    answer = gpu_studio("place", plan, "--to", target)
    assert (answer.code, target.read_text("utf-8")) == (REFUSED, "precious")
    assert "--force" in answer.err
    assert asked() == []  # refused before anything is measured
    assert gpu_studio("place", plan, "--to", target, "--force").code == 0
    assert load(target).distribution.strategy == "placed"


def test_that_a_model_without_room_is_refused_with_what_is_lacking(
    gpu_studio, tmp_path, asked
) -> None:
    cards = tmp_path / "machine.json"
    cards.write_bytes(msgspec.json.encode(TWO_CARDS))
    path = tmp_path / "large.plan.toml"
    devices = DeviceSettings(visible=("GPU:0",), carve=(Carve("GPU:0", (1,)),))
    save(Plan(model=PLAN.model, data=PLAN.data, devices=devices), path)
    answer = gpu_studio("place", path, "--machine", cards, "--set", "training.batch_size=1000000")
    assert (answer.code, answer.out) == (REFUSED, "")
    assert "GPU:0 lacks" in answer.err
    assert "a smaller batch" in answer.err


def test_that_a_model_with_room_if_it_recomputes_says_so_and_is_written_so(
    gpu_studio, tmp_path, asked
) -> None:
    asked("heavy")  # its first two layers share a device, which holds several micro-batches
    cards, target = tmp_path / "machine.json", tmp_path / "placed.plan.toml"
    cards.write_bytes(msgspec.json.encode(TWO_CARDS))
    path = tmp_path / "kept.plan.toml"
    save(
        Plan(
            model=PLAN.model,
            data=PLAN.data,
            devices=DeviceSettings(carve=(Carve("GPU:0", (1, 1)),)),
        ),
        path,
    )
    words = (
        "place",
        path,
        "--machine",
        cards,
        "--set",
        "devices.visible=['GPU:0']",
        "--set",
        "training.batch_size=400",
        "--micro-batches",
        "4",
    )
    refused = gpu_studio(*words)
    assert refused.code == REFUSED
    assert "Recomputed it fits: add --recompute." in refused.err
    told = gpu_studio(*words, "--recompute", "--json", "--to", target)
    assert told.code == 0, told.err
    assert told.document["recompute"] is True
    placed = load(target).distribution.placed
    assert placed is not None
    assert placed.recompute
    assert ", activations recomputed" in gpu_studio("place", target, "--machine", cards).out


def test_that_what_is_wrong_with_the_data_is_said_with_advice(
    gpu_studio, plan, machine, asked
) -> None:
    answer = gpu_studio("place", plan, "--set", "data.options={ shape = [10], samples = 13 }")
    assert (answer.code, answer.err.splitlines()[-1]) == (
        2,
        "gpu-studio: There are 13 samples. Give more.",
    )


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        ("refuse", "TensorFlow did not tell of the model"),
        ("refuse-times", "Add --estimate to go by FLOPs."),
        ("nonsense-times", "Add --estimate to go by FLOPs."),
    ],
)
def test_that_an_answer_that_does_not_come_is_explained(
    gpu_studio, plan, machine, asked, flag, said
) -> None:
    asked(flag)
    answer = gpu_studio("place", plan)
    assert (answer.code, answer.out) == (REFUSED, "")
    assert said in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.parametrize("count", ["0", "-1", "1025", "some"])
def test_that_no_number_of_micro_batches_is_a_mistake(gpu_studio, plan, count) -> None:
    answer = gpu_studio("place", plan, f"--micro-batches={count}")
    assert answer.code == REFUSED
    assert "give one from 1 to 1024" in answer.err


def test_that_a_plan_with_a_problem_is_not_placed(gpu_studio, plan, machine, asked) -> None:
    answer = gpu_studio("place", plan, "--set", "training.epochs=0")
    assert answer.code == REFUSED
    assert "epochs" in answer.err
    assert asked() == []


def test_that_ctrl_c_while_the_layers_are_timed_leaves_no_process(
    gpu_studio_process, plan, asked
) -> None:
    asked("hang-times")
    process = gpu_studio_process("place", plan)
    while "training steps" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out) == (INTERRUPTED, "")
    assert "Traceback" not in errors
