"""Sessions of several plans in one TensorFlow process with fake cards, and what each card held.

`python card_jobs.py` is the process; `answers` starts it, in an environment with `fake_cards`. A
job is a name and the `settings` of its plan. After its first step it goes on from the checkpoint
that the job before it took there. The result has the `losses` of some steps, `held`, the
most bytes that each logical card held of the job, from its beginning to its end, and `where` the
variables of model and optimizer are. `GIVEN` is besides what a slice and a card gave out for
`ASKED` bytes.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PLAN = """
version = 1
[[devices.carve]]
device = "GPU:0"
slices_mib = [8, 128, 128, 128]
[model]
name = "mlp"
options = { hidden = [256, 128] }
[data]
name = "synthetic"
options = { shape = [64], samples = 60, classes = 4 }
validation_fraction = 0.2
[training]
batch_size = 16
optimizer = "adam"
"""
STEPS = 3
GIVEN, ASKED = "given", 64 << 10


def answers(jobs: Mapping[str, Sequence[str]], folder: Path) -> dict[str, Any]:
    """The result of every job, by its name: they are done in one process, in their order."""
    import warm_python

    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = warm_python.command(__file__)
    done = subprocess.run(
        command, input=json.dumps(jobs), capture_output=True, text=True, cwd=folder, env=environment
    )
    assert done.returncode == 0, done.stderr[-4000:]
    results: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return results


class Worker:
    """Does the jobs; only the devices are set up once for all of them."""

    def __init__(self) -> None:
        from gpu_studio.plan import loads
        from gpu_studio.trainer import devices, session

        self._session, self._plan = session, loads(PLAN)
        self._logical = logical = devices.set_up(self._plan)
        vars(session)["devices"].set_up = lambda *_: logical
        self._checkpoint: dict[str, Any] = {}

    def do(self, settings: Sequence[str]) -> dict[str, Any]:
        import tensorflow as tf

        from gpu_studio.plan import with_settings
        from gpu_studio.trainer import devices

        gc.collect()
        cards = [each.name for each in self._logical if each.name.startswith("GPU")]
        memory = tf.config.experimental.get_memory_info
        before = {card: memory(card)["current"] for card in cards}  # what earlier jobs left
        for card in cards:
            tf.config.experimental.reset_memory_stats(card)
        made = self._session.build(
            with_settings(self._plan, settings), Path.cwd(), lambda _event: None
        )
        with devices.on_host():
            losses = self._lived(made)
        return {
            "losses": losses,
            "held": {card: memory(card)["peak"] - before[card] for card in cards},
            "where": _where(made),
        }

    def given(self, place: int) -> int:
        """The bytes of a tensor on an empty device, where one was that was half as large again."""
        import tensorflow as tf

        from gpu_studio.trainer import devices

        def held() -> int:
            return devices.MemoryMeter(self._logical, {}).read()[place].current

        with tf.device(self._logical[place].name):
            first, behind = (tf.zeros(3 * ASKED // 8) for _ in range(2))
            del first
            before = held()
            again = tf.zeros(ASKED // 4)
            more = held() - before
        del again, behind
        return more

    def _lived(self, made: Any) -> list[float]:
        """Do all that a run does with a session; the losses of its steps."""
        stream = made.training_stream(0, 0)
        first = made.program.train(stream, 0, 1).losses.tolist()
        others, self._checkpoint, rate = self._checkpoint, made.capture(), made.rate
        made.restore(others or self._checkpoint)
        rest = made.program.train(stream, 1, STEPS - 1).losses.tolist()
        split = made.dataset.validation
        made.program.evaluate(made.evaluation_stream(split), 0, made.cut_for(split).steps())
        assert rate > 0
        return [*first, *rest]


def _where(made: Any) -> dict[str, list[str]]:
    """The devices of every variable of the model, and of those of the optimizer like it."""
    from gpu_studio.trainer.devices import bytes_by_device

    shapes = [variable.shape for variable in made.model.trainable_variables]
    slots = [each for each in made.optimizer.variables if each.shape in shapes and each.shape]
    found = {"model": made.model.variables, "slots": slots}
    return {
        what: [" ".join(sorted(bytes_by_device([each]))) for each in variables]
        for what, variables in found.items()
    }


def main() -> None:
    """Do the jobs on stdin."""
    worker = Worker()
    given = {GIVEN: [worker.given(place) for place in (3, 4)]}
    done = {name: worker.do(each) for name, each in json.load(sys.stdin).items()}
    print(json.dumps(done | given))


if __name__ == "__main__":
    sys.path += os.environ["PYTHONPATH"].split(os.pathsep)
    main()
