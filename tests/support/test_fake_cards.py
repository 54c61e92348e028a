"""The cards of the tests: TensorFlow, NVML and CUDA agree about them, and about who holds what."""

import json
import os
import subprocess
import sys

import pytest
import warm_python
from fake_cards import CONTEXT_MIB, RESERVED_MIB

from gpu_studio.common.figures import MIB
from gpu_studio.common.practice import identity
from gpu_studio.hardware import inventory, practice
from gpu_studio.hardware.asking import WITH_USERS

pytestmark = pytest.mark.slow
TOTAL_MIB, HELD_MIB = 6144, 1500
KEPT_MIB = 1800
"""What TensorFlow keeps back of a card of compute capability 9 (gpu_device.cc)."""
HOLDS_AND_DIES = """
import os, signal, sys
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf
tf.load_op_library(os.environ["GPU_STUDIO_PRACTICE_LIBRARY"] + "/libpracticecards.so")
tf.config.experimental.set_memory_growth(tf.config.list_physical_devices("GPU")[1], True)
tf.config.experimental.set_memory_growth(tf.config.list_physical_devices("GPU")[0], True)
with tf.device("GPU:1"):
    held = tf.ones([64, 1024, 1024])
print("holds", flush=True)
sys.stdin.read()
"""


def asked():
    """What TensorFlow and CUDA say of the devices, in a process of its own."""
    command = [*warm_python.command("gpu_studio.trainer.ask"), "devices"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_that_tensorflow_nvml_and_cuda_see_the_same_cards(fake_cards):
    cards = fake_cards(2, TOTAL_MIB)
    with cards.hold(1, HELD_MIB):
        seen, told = inventory(command=WITH_USERS), asked()
    free = TOTAL_MIB - RESERVED_MIB
    assert [card.uuid for card in seen.cards] == [identity(0)[0], identity(1)[0]]
    assert [card["uuid"] for card in told["cuda"]["cards"]] == [card.uuid for card in seen.cards]
    assert [(card.total_mib, card.used_mib, card.free_mib) for card in seen.cards] == [
        (TOTAL_MIB, 0, free),
        (TOTAL_MIB, HELD_MIB, free - HELD_MIB),
    ]
    assert [[user.pid for user in card.users] for card in seen.cards] == [[], [os.getpid()]]
    limits = {row["name"]: row["limit_bytes"] for row in told["logical"]}
    assert limits["GPU:0"] == (free - CONTEXT_MIB - KEPT_MIB) * MIB
    assert limits["GPU:1"] == (free - CONTEXT_MIB - KEPT_MIB - HELD_MIB) * MIB


def test_that_a_killed_process_holds_nothing_any_more(fake_cards):
    cards = fake_cards(2, TOTAL_MIB)
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS_AND_DIES], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout.readline() == b"holds\n"
        assert cards.held_mib(1) >= CONTEXT_MIB + 256
        assert list(practice.held(cards.state, 1)) == [process.pid]
        assert inventory().cards[1].used_mib == int(cards.held_mib(1))
    finally:
        process.kill()
        process.communicate()
    assert cards.held_mib(1) == 0
    assert inventory().cards[1].used_mib == 0


def test_that_a_lost_card_is_one_that_the_driver_no_longer_answers_for(fake_cards):
    cards = fake_cards(2, TOTAL_MIB)
    cards.lose(1)
    first, second = inventory().cards
    assert (first.index, first.lost, second.index, second.lost) == (0, False, 1, True)
