"""What workers say to their supervisor and agree on with each other, in steps of a given length.

    control_messages.py WORKERS STEP_SECONDS

Prints the seconds a step that worker 0 spends on messages, and on agreements, and the CPU seconds a
step of all its threads in these. The others are waited for before each agreement, untimed, so that
what is measured is the exchange and not their lateness.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import numpy as np

from gpu_studio.contract.events import Event, Steps
from gpu_studio.trainer.cluster.channel import Channel, Relayed, pair
from gpu_studio.trainer.cluster.status import Status, Telling
from gpu_studio.trainer.progress import CALL_SECONDS

CALLS, FIRST_CALLS = 60, 15


def main(count: int, step: float) -> None:
    """Start the workers, hear what they say, and print what worker 0 has measured."""
    with ExitStack() as held:
        ports = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in ports:
            each.bind(("127.0.0.1", 0))
        addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in ports]
    processes = []
    for index in range(count):
        mine, other = pair()
        task = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
        environment = {"TF_CONFIG": json.dumps(task), "CUDA_VISIBLE_DEVICES": "-1"}
        words = [str(count), str(step), str(index), str(other.fileno())]
        processes.append(
            subprocess.Popen(
                [sys.executable, "-P", __file__, *words],
                env={**os.environ, **environment},
                stdout=subprocess.PIPE,
                text=True,
                pass_fds=(other.fileno(),),
            )
        )
        other.close()
        threading.Thread(target=_drain, args=(mine,), daemon=True).start()
    said = [each.communicate()[0] for each in processes]
    if any(each.returncode for each in processes):
        sys.exit("a worker failed")
    print(said[0].splitlines()[-1])


def _drain(channel: Channel) -> None:
    while not channel.closed:
        list(channel.hear())


class Timed:
    """A channel that counts the seconds which its process spends on saying something."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.seconds = 0.0

    def say(self, what: Any) -> bool:
        """Say it."""
        began = time.perf_counter()
        heard = self._channel.say(what)
        self.seconds += time.perf_counter() - began
        return heard


def work(count: int, step: float, index: int, descriptor: int) -> None:
    """As one of the workers, sleep where it would compute, and do all else as a run does."""
    import tensorflow as tf

    from gpu_studio.trainer.cluster.clustered import Clustered, summing

    ring = tf.distribute.experimental.CommunicationImplementation.RING
    options = tf.distribute.experimental.CommunicationOptions(implementation=ring)
    strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
    channel: Any = Timed(Channel(socket.socket(fileno=descriptor)))
    status = Status(channel, threading.Event())

    def told(event: Event) -> Event:
        channel.say(Relayed(event))  # type: ignore[arg-type]
        return event

    telling = Telling(status, told)
    team = Clustered(index, count, None, status, lambda: None)
    team.joined(strategy)
    all_are_here = summing(strategy)
    status.start()
    control: Any = SimpleNamespace(
        stopping=False, pausing=False, take_checkpoint_wish=lambda: False
    )
    steps = max(1, int(CALL_SECONDS / step))
    exchanged, worked = 0.0, 0.0
    for call in range(FIRST_CALLS + CALLS):
        time.sleep(steps * step)
        all_are_here(np.zeros(1))
        began, used = time.perf_counter(), time.process_time()
        team.agree(control, steps, call * steps, "training", together=True)
        seconds, used = time.perf_counter() - began, time.process_time() - used
        losses: list[float | None] = [0.5] * steps
        telling.write(
            Steps(epoch=1, first_step=call * steps, losses=losses, samples=64, seconds=0.1)
        )
        team.worked(steps, steps * step, seconds)
        if call == FIRST_CALLS - 1:
            exchanged = worked = channel.seconds = 0.0
        elif call >= FIRST_CALLS:
            exchanged += seconds
            worked += used
    status.close()
    done = CALLS * steps
    found = {"messages": channel.seconds, "agreements": exchanged, "cpu": worked}
    print(json.dumps({name: seconds / done for name, seconds in found.items()}))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    if len(sys.argv) > 3:
        work(int(sys.argv[1]), float(sys.argv[2]), *map(int, sys.argv[3:]))
    else:
        main(int(sys.argv[1]), float(sys.argv[2]))
