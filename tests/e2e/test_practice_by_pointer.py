"""A machine without a card: carve one, mirror, place layers, run out of memory, and go on.

With a real pointer and real keys, on practice cards, whose memory TensorFlow gives out itself.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import warm_python
from x_desk import Desk
from x_program import started

from gpu_studio.common.figures import MIB
from gpu_studio.common.practice import PracticeCards
from gpu_studio.contract import events
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.hardware import practice
from gpu_studio.runs import catalogue
from gpu_studio.runs.launch import TRAINER_VARIABLE
from gpu_studio.runs.lineage import events_of
from gpu_studio.runs.questions.ask import ASKER
from gpu_studio.runs.reading.placements import judged

PROGRAM = Path(__file__).parents[1] / "support" / "practice_window.py"
ROOT = Path(__file__).parents[2]
GIB = 1024
SLICES = [f"GPU:{number}" for number in range(4)]
PLAN = """
version = 1
name = "first steps"
[model]
name = "mlp"
options = { hidden = [40000, 8, 8] }
[data]
name = "synthetic"
options = { shape = [2, 1], classes = 2, samples = 6000 }
[training]
epochs = 1
steps_per_epoch = 8
batch_size = 64
"""
"""A step of 4,096 samples computes 625 MiB after the first layer, and its gradients as much.

Few steps show all: each takes what the model holds, of every slice.
"""


@pytest.fixture
def desk(
    x_environment: dict[str, str],
    cards_library: tuple[Path, Path],
    tmp_path: Path,
    runs: Path,
) -> Iterator[Desk]:
    """The window on one practice card of 4 GiB, with a plan that does not carve it."""
    state, plan = tmp_path / "cards", tmp_path / "first.plan.toml"
    state.mkdir(mode=0o700)
    plan.write_text(PLAN)
    environment = {
        **x_environment,
        **practice.environment(PracticeCards(1, 4 * GIB), cards_library[0], state),
        "GPU_STUDIO_SETTINGS": str(tmp_path / "window.ini"),
        "PRACTICE_ASKER": shlex.join(warm_python.command(ASKER)),
        TRAINER_VARIABLE: shlex.join(warm_python.command("gpu_studio.trainer")),
        "PYTHONPATH": f"{ROOT}:{PROGRAM.parent}",
    }
    words = ["--practice", "1x4GiB", "--runs-dir", str(runs), str(plan)]
    with started([sys.executable, str(PROGRAM), *words], environment) as program:
        yield Desk(program, environment)
    assert program.returncode == 0


def carve(desk: Desk) -> None:
    """Split the card, and drag the ends of its slices until there are four of a GiB."""
    desk.sees(lambda facts: "bar" in facts["parts"] and "Train" in facts["parts"])
    desk.enter()
    desk.settle()
    assert "practice: 1 × 4 GiB" in desk.facts["marked"]
    split(desk, 2 * GIB, [2 * GIB, 2 * GIB])
    drag_end(desk, 0, 1 * GIB, [1 * GIB, 3 * GIB])
    split(desk, 2 * GIB, [1 * GIB, 1536, 1536])
    drag_end(desk, 1, 2 * GIB, [1 * GIB, 1 * GIB, 2 * GIB])
    split(desk, 3 * GIB, [1 * GIB] * 4)
    desk.click("mirrored")
    desk.sees(lambda facts: facts["strategy"] == "mirrored")


def split(desk: Desk, mib: int, wanted: list[int]) -> None:
    """Halve the slice that has this place on the card."""
    desk.hands("mousemove", *on_bar(desk, mib - 300), "click", 1, "key", "s")
    desk.sees(lambda facts: facts["slices"] == wanted)


def drag_end(desk: Desk, index: int, mib: int, wanted: list[int]) -> None:
    """Drag the end of a slice nearly to this place: it snaps to the whole GiB."""
    (left, top, *_), (x, y) = desk.facts["parts"][f"end {index}"], on_bar(desk, mib + 20)
    desk.hands("mousemove", left, top, "mousedown", 1)
    for part in range(1, 6):
        desk.hands("mousemove", left + (x - left) * part // 5, y)
    desk.hands("mouseup", 1)
    desk.sees(lambda facts: facts["slices"] == wanted and f"end {index}" in facts["parts"])


def on_bar(desk: Desk, mib: int) -> tuple[int, int]:
    left, top, width, height = desk.facts["parts"]["bar"]
    return left + round(width * mib / (4 * GIB)), top + height // 2


def train(desk: Desk, runs: Path) -> RunDirectory:
    """Press Train, and wait until the run has ended."""
    before = set(catalogue.directories(runs))
    desk.settle()
    desk.click("Train")
    desk.sees(lambda _: set(catalogue.directories(runs)) - before)
    (run,) = set(catalogue.directories(runs)) - before
    desk.sees(
        lambda facts: (
            facts.get("state") in ("finished", "failed")
            and any(isinstance(each, events.Finished | events.Failed) for each in events_of(run))
        )
    )
    return run


def assert_finished_within_limits(run: RunDirectory) -> None:
    """No slice ever held more than its GiB; what the run was trained on is on record."""
    told = list(events_of(run))
    assert any(isinstance(each, events.Finished) for each in told), run.log_file.read_text()
    (begun,) = (each for each in told if isinstance(each, events.Started))
    assert begun.practice == "1x4GiB"
    seen = [one for each in told if isinstance(each, events.Memory) for one in each.devices]
    assert {one.device for one in seen} >= set(SLICES)
    assert all(one.peak <= GIB * MIB for one in seen if one.device in SLICES)


def place(desk: Desk) -> dict[str, str]:
    """Choose to place layers, and drag three of them onto slices of their own."""
    desk.hands("key", "ctrl+2")
    desk.click("placed")
    desk.sees(lambda facts: facts["strategy"] == "placed")
    desk.hands("key", "alt+6")
    wanted = {"flatten": 0, "dense": 0, "dense_1": 1, "dense_2": 2, "outputs": 3}
    wanted = {layer: SLICES[number] for layer, number in wanted.items()}
    for layer, device in wanted.items():
        desk.sees(
            lambda facts, layer=layer, device=device: (
                {f"layer {layer}", f"lane {device}"} <= set(facts["parts"])
            )
        )
        desk.settle()
        drag_layer(desk, layer, device)
    return wanted


def drag_layer(desk: Desk, layer: str, device: str) -> None:
    left, top, width, height = desk.facts["parts"][f"layer {layer}"]
    start = left + width // 2, top + height // 2
    end = desk.facts["parts"][f"lane {device}"][:2]
    desk.hands("mousemove", *start, "click", 1)
    desk.settle()
    desk.hands("mousemove", *start, "mousedown", 1)
    for part in range(1, 6):
        there = (a + (b - a) * part // 5 for a, b in zip(start, end, strict=True))
        desk.hands("mousemove", *there)
    desk.sees(lambda facts: facts["over"] == f"drop to run on {device}")
    desk.hands("mouseup", 1)
    desk.sees(lambda facts: facts["layers"].get(layer) == [device])


def overfill(desk: Desk, runs: Path) -> None:
    """Type a batch too large for a slice: the failure names the slice and the layer."""
    desk.hands("key", "ctrl+2")
    desk.settle()
    desk.click("batch")
    desk.hands("key", "ctrl+a", "type", "--delay", 20, "4096")
    desk.hands("key", "ctrl+s")
    desk.sees(lambda facts: facts["batch"] == 4096 and "unsaved" not in facts["marked"])
    run = train(desk, runs)
    (failed,) = (each for each in events_of(run) if isinstance(each, events.Failed))
    assert "Out of memory on GPU:1, in the layer dense_1" in failed.message
    mend = next(each.text for each in failed.mends if each.field == "training.batch_size")
    desk.sees(lambda facts: facts["failure"] == failed.message and mend in facts["parts"])
    desk.click(mend)
    desk.sees(lambda facts: facts["page"] == "plan")


@pytest.mark.whole("tests/e2e/test_story_by_pointer.py", "tests/ui/window/test_practising.py")
@pytest.mark.slow
def test_that_a_card_that_is_not_there_is_carved_trained_on_filled_and_trained_on_again(
    desk: Desk, runs: Path
) -> None:
    carve(desk)
    assert_finished_within_limits(train(desk, runs))
    limits = dict.fromkeys(SLICES, GIB * MIB)
    desk.sees(lambda facts: facts["drawn"].get("Memory") == SLICES and facts["limits"] == limits)

    placed = place(desk)
    run = train(desk, runs)
    assert_finished_within_limits(run)
    (proof,) = (each for each in events_of(run) if isinstance(each, events.Placement))
    found = judged(proof)
    assert found.wrong == ()
    asked = {layer.layer: layer.asked for layer in found.layers}
    assert {layer: asked[layer] for layer in placed} == {
        layer: (device,) for layer, device in placed.items()
    }
    desk.sees(lambda facts: facts["proof"].startswith("All "))

    overfill(desk, runs)
    assert_finished_within_limits(train(desk, runs))
