"""`model`: the layers and the memory of a plan, in a table or in JSON."""

from __future__ import annotations

import argparse
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from made_machines import TWO_CARDS
from made_plan_facts import DATA, FACTS, MODEL, THREE_LAYERS
from rich.console import Console

from gpu_studio.cli import model as model_command
from gpu_studio.cli.command import RefusedError
from gpu_studio.hardware.source import SIMULATE
from gpu_studio.placement.compiled_steps import XlaFacts
from gpu_studio.placement.device_memory import PredictedMemory
from gpu_studio.placement.memory import predict
from gpu_studio.placement.plan_facts import ArrayFacts, ModelNote, PlanFacts
from gpu_studio.plan import (
    Carve,
    Data,
    DeviceSettings,
    Distribution,
    ModelSettings,
    Plan,
    PlanError,
    Training,
    save,
)

SMALL = Plan(
    devices=DeviceSettings(carve=(Carve("GPU:0", (1,)),)), training=Training(batch_size=100_000)
)


def drawn(table) -> str:
    console = Console(file=io.StringIO(), width=200)
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def arguments(plan: Path, *, as_json: bool = False) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    model_command.register(parser.add_subparsers())
    return parser.parse_args(["model", str(plan), "--formulas", *(["--json"] if as_json else [])])


def test_that_every_layer_has_a_row_with_its_costs() -> None:
    lines = drawn(model_command.layer_table(THREE_LAYERS.layers)).splitlines()
    assert len(lines) == 1 + 3
    figures = "one Dense 100 1,000 3.9 KiB 400 B 2 kFLOP 4 kFLOP"
    assert " ".join(lines[1].split()) == figures


def test_that_what_was_not_counted_is_no_figure() -> None:
    dense = replace(THREE_LAYERS.layers[0], flops_forward=0.0, flops_backward=0.0, kept_bytes=0)
    _, line = drawn(model_command.layer_table([dense])).splitlines()
    assert " ".join(line.split()) == "one Dense 100 1,000 3.9 KiB – – –"


def test_that_a_device_that_is_too_small_is_named_in_words() -> None:
    text = drawn(model_command.memory_table(predict(SMALL, TWO_CARDS, FACTS)))
    assert "does not fit" in text
    assert "1 MiB" in text


@pytest.mark.parametrize("width", [40, 60, 80])
def test_that_a_narrow_terminal_shows_every_figure_of_memory_whole(width: int) -> None:
    """At 40 columns a device had 1…, g… and sl…, and at 80 gradien…"""
    memory = predict(SMALL, TWO_CARDS, FACTS)[0]
    memories = [replace(memory, device=f"GPU:{index}") for index in range(4)]
    whole = drawn(model_command.memory_table(memories))
    tables = model_command.memory_tables(memories, width)
    texts = [drawn(table) for table in tables]
    assert max(len(line.rstrip()) for text in texts for line in text.splitlines()) <= width
    assert sorted(" ".join(texts).split()) == sorted(
        " ".join([whole, *[whole.splitlines()[0]] * (len(tables) - 1)]).split()
    )
    assert [drawn(each) for each in model_command.memory_tables(memories, 200)] == [whole]


def test_that_a_narrow_terminal_cuts_no_name_of_a_layer(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(model_command.sys.stdout, "isatty", lambda: True, raising=False)
    model_command._say(THREE_LAYERS, predict(SMALL, TWO_CARDS, FACTS), formulas=False)
    told = capsys.readouterr().out
    assert "…" not in told
    assert drawn(model_command.layer_table(THREE_LAYERS.layers)).splitlines()[1].rstrip() in told


def test_that_a_device_with_little_room_for_cudnn_neither_fits_nor_does_not() -> None:
    graph = replace(
        THREE_LAYERS, layers=tuple(replace(each, kind="LSTM") for each in THREE_LAYERS.layers)
    )
    plan = replace(SMALL, devices=DeviceSettings(carve=(Carve("GPU:0", (400,)),)))
    # As Keras says of an LSTM of cuDNN's.
    model = replace(MODEL, graph=graph, xla=XlaFacts(cannot=("lstm (LSTM)",)))
    memories = predict(plan, TWO_CARDS, PlanFacts(DATA, model))
    row = drawn(model_command.memory_table(memories)).splitlines()[1]
    assert row.rstrip().endswith("may lack room for cuDNN")
    device = json.loads(json.dumps(model_command.document(graph, memories)))["devices"][0]
    assert (device["fits"], device["may_lack"]) == (None, True)
    assert (device["without"], device["room_bytes"]) == ("cuDNN's workspaces", 512 << 20)


def test_that_a_total_that_most_steps_do_not_reach_is_called_the_most_they_take() -> None:
    memory = PredictedMemory("CPU:0", total=3 << 20)
    for bound, words in ((False, "3 MiB"), (True, "at most 3 MiB")):
        (known,) = model_command.document(THREE_LAYERS, [replace(memory, bound=bound)])["devices"]
        row = drawn(model_command.memory_table([replace(memory, bound=bound)])).splitlines()[1]
        assert [each.strip() for each in row.split("  ") if each][6] == words
        assert known["bound"] == bound


def test_that_the_document_can_be_read_by_programs() -> None:
    told = json.loads(
        json.dumps(model_command.document(THREE_LAYERS, predict(SMALL, TWO_CARDS, FACTS)))
    )
    assert told["parameters"] == 1600
    assert told["devices"][0]["fits"] is False
    assert told["devices"][0]["weights"]["formula"].startswith("1,600 parameters")


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that is known, and two L4, a third of the second held by grace's program.

    The cards are simulated.
    """
    monkeypatch.setenv(SIMULATE, "2xL4")
    monkeypatch.setattr(model_command, "_known", lambda _plan: (THREE_LAYERS, FACTS))


def asked(batch: int, folder: Path) -> Path:
    path = folder / "asked.plan.toml"
    training, distribution = (
        Training(batch_size=batch),
        Distribution("one_device", devices=("GPU:1",)),
    )
    save(
        Plan(
            "asked", DeviceSettings(), ModelSettings("mlp"), Data("digits"), training, distribution
        ),
        path,
    )
    return path


@pytest.mark.usefixtures("told")
@pytest.mark.parametrize(
    ("batch", "verdict", "code"),
    [(5_000_000, "fits", 0), (12_000_000, "does not fit now", 1), (10**8, "not fit", 1)],
)
def test_that_what_others_hold_of_a_card_is_no_room(tmp_path, capsys, batch, verdict, code) -> None:
    assert model_command.model(arguments(asked(batch, tmp_path))) == code
    told = capsys.readouterr()
    row = next(line for line in told.out.splitlines() if line.startswith("GPU:1"))
    assert row.endswith(verdict)
    # Also where all of the card would be too little: who holds it is the first thing to know.
    assert ("held by the run digits 4194306 of grace (7." in told.err) == bool(code)


@pytest.mark.usefixtures("told")
def test_that_programs_are_told_what_is_free_now(tmp_path, capsys) -> None:
    assert model_command.model(arguments(asked(12_000_000, tmp_path), as_json=True)) == 1
    device = json.loads(capsys.readouterr().out)["devices"][0]
    assert (device["fits"], device["waits"]) == (False, True)
    assert device["free_bytes"] < device["total"] < device["limit_bytes"]


def test_that_a_plan_with_a_problem_is_refused(tmp_path) -> None:
    path = tmp_path / "wrong.plan.toml"
    save(
        Plan(
            model=ModelSettings(name="mlp"), data=Data(name="digits"), training=Training(epochs=0)
        ),
        path,
    )
    with pytest.raises(PlanError, match="epochs"):
        model_command.model(arguments(path))


@pytest.mark.slow
@pytest.mark.usefixtures("warm_asker")
def test_that_tensorflow_tells_of_a_plan_and_refuses_a_misfit(tmp_path, capsys) -> None:
    path = tmp_path / "digits.plan.toml"
    save(Plan(model=ModelSettings(name="mlp"), data=Data(name="digits")), path)
    assert model_command.model(arguments(path)) == 0
    out = capsys.readouterr().out
    assert "335,114 parameters, of which 335,114 are trained" in out
    assert "trainable parameters × 4 B" in out
    assert "A sample, as the model gets it: 28 × 28 × 1, float32 in 0…1" in out
    assert "Samples: 1,455 train, 162 validate, 180 test\n" in out
    save(Plan(model=ModelSettings(name="linear"), data=Data(name="digits")), path)
    with pytest.raises((RefusedError, PlanError)):
        model_command.model(arguments(path))


def test_that_the_numbers_that_a_model_gets_and_notes_on_it_are_told() -> None:
    note = ModelNote(
        "compiled model", "own.py:build is compiled with SGD.", "The plan's optimizer counts."
    )
    lacks = "The test split has no samples of class 2. Its figures say nothing of it."
    data = replace(DATA, x_shape=(8, 8, 3), highest=1.0, pixels=True, notes=(lacks,))
    plan = Plan(data=Data(table="homes.csv", options={"targets": ["price"]}))
    data = replace(data, fit={"epochs": 3})
    facts = PlanFacts(data, replace(MODEL, notes=(note,)))
    told = model_command.what_it_sees(plan, facts)
    assert told == {
        "sample": "8 × 8 × 3, float32 in 0…1, bytes divided by 255",
        "samples": {"train": 800, "validation": 100, "test": 100},
        "stream": "",
        "fit": {"epochs": 3},
        "data_notes": [lacks],
        "notes": [{"name": "compiled model", "text": note.text, "why": note.why}],
    }
    prices = replace(data, targets=(ArrayFacts(dtype="int32", ids=2021, sparse=True),))
    _, told_too = model_command.what_it_sees(plan, replace(facts, data=prices))["notes"]
    assert "taken for 2,021 class ids" in told_too["text"]
