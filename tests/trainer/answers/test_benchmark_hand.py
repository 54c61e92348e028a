"""Operations placed by hand: the table against TensorFlow's own log, and refusals."""

from __future__ import annotations

import json
import random
import re
import subprocess

import pytest
import warm_python

from gpu_studio.lab.hand_placement import KINDS, HandOperation, HandPlacement, checked

DEVICES = ("CPU:0", "CPU:1", "CPU:2")
PROGRAM = """
import json, os, sys
import tensorflow as tf
from gpu_studio.plan import Carve, DeviceSettings, Plan
from gpu_studio.trainer.answers import benchmark_hand, benchmark_timing
from gpu_studio.trainer.devices import set_up
benchmark_timing.LEAST_S, benchmark_timing.REPEATS, benchmark_hand.RECORDED = 1e-6, 1, 1
out = os.dup(1)
set_up(Plan(devices=DeviceSettings(carve=(Carve("CPU:0", (0, 0, 0)),), log_placement=True)))
logs, captured = [], benchmark_hand._own_output
class Kept:
    def __enter__(self):
        self.inner = captured()
        self.said = self.inner.__enter__()
        return self.said
    def __exit__(self, *error):
        self.inner.__exit__(*error)
        logs.append(self.said[0])
benchmark_hand._own_output = Kept
found = []
for each in json.load(open(sys.argv[1])):
    tf.config.set_soft_device_placement(each["soft"])
    rows = list(benchmark_hand.by_hand(each, ["CPU:0", "CPU:1", "CPU:2"], lambda said: None))
    found.append({"rows": rows, "log": logs[-1]})
os.write(out, b"\\n" + json.dumps([sorted(benchmark_hand._kinds()), found]).encode() + b"\\n")
"""


def some_placement(chance: random.Random) -> HandPlacement:
    """Operations of every kind, in any order, on devices that are there, that are not, or any."""
    made: list[HandOperation] = []
    for place in range(chance.randint(2, 9)):
        kind = chance.choice(list(KINDS))
        count = chance.randint(0, min(KINDS[kind], len(made)))
        inputs = tuple(each.name for each in chance.sample(made, count))
        device = chance.choice((*DEVICES, *DEVICES, "GPU:0", "CPU:7", ""))
        made.append(HandOperation(f"Op_{place}", kind, inputs, device))
    return checked(HandPlacement(tuple(made), side=chance.choice((1, 5, 32))))


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    """Twenty random placements, and one that TensorFlow refuses, in one process."""
    chance = random.Random(20)
    asked = [some_placement(chance) for _ in range(20)]
    refused = HandPlacement(
        (HandOperation("a", "matmul", (), "CPU:1"), HandOperation("b", "relu", ("a",), "GPU:3")),
        soft_placement=False,
    )
    file = tmp_path_factory.mktemp("asked") / "asked.json"
    every = [*asked, refused]
    file.write_text(json.dumps([{**each.asked, "soft": each.soft_placement} for each in every]))
    done = subprocess.run(
        [*warm_python.command("-c"), PROGRAM, str(file)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    kinds, found = json.loads(done.stdout.strip().splitlines()[-1])
    return kinds, list(zip(every, found, strict=True))


@pytest.mark.slow
def test_that_the_table_agrees_with_tensorflows_log_for_twenty_random_placements(answered):
    _, found = answered
    told = 0
    for placement, answer in found[:20]:
        # TensorFlow's lines, read by the test itself: `placed_0/Op_0: (MatMul): /job…:CPU:1`.
        log = re.findall(r"^placed_(\d+)/\S+: \(\S+\): \S+/device:(\S+)$", answer["log"], re.M)
        rows = [row for row in answer["rows"] if row.get("name") and row["what"] != "sent"]
        assert {int(place): device for place, device in log} == {
            place: row["devices"][0] for place, row in enumerate(rows)
        }
        assert [row["asked"] for row in rows] == [one.device for one in placement.operations]
        assert all(row["error"] < 1e-4 for row in rows)
        there = [row for row in rows if row["asked"] in DEVICES]
        assert all(row["devices"] == [row["asked"]] for row in there)
        told += len(rows)
    assert told > 60


@pytest.mark.slow
def test_that_what_is_sent_goes_from_where_it_was_made_to_where_it_is_taken(answered):
    _, found = answered
    sent = 0
    for _, answer in found[:20]:
        rows = [row for row in answer["rows"] if row["what"] != "sent"]
        on = {row.get("name"): row["devices"] for row in rows}
        for row in (row for row in answer["rows"] if row["what"] == "sent"):
            source, target = row["devices"]
            assert on[row["name"]] == [source]
            assert all(on[taker] == [target] for taker in row["inputs"])
            sent += 1
    assert sent


@pytest.mark.slow
def test_that_a_refusal_is_in_tensorflows_own_words(answered):
    _, found = answered
    rows = found[20][1]["rows"]
    assert [row["devices"] for row in rows] == [[], []]
    assert all("Unable to find any devices for spec /device:GPU:3" in row["told"] for row in rows)


@pytest.mark.slow
def test_that_the_kinds_of_the_trainer_are_those_that_a_person_may_choose(answered):
    assert answered[0] == sorted(KINDS)
