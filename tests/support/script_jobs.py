"""Many exported scripts in one TensorFlow process with two logical CPUs, under one strategy.

`python script_jobs.py SCRIPT…` runs each to its end, and prints as JSON what each printed. Nothing
of a script is changed but that devices are set up, and a strategy is made, once for all: TensorFlow
allows no second time. The process cannot import GPU Studio. With fake cards in the environment,
what each script printed ends with a line for each logical card that ever held anything, such as
`held GPU:1`."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any


def printed_by(
    scripts: Sequence[Path],
    folder: Path,
    failing: Collection[Path] = (),
    workers: int = 1,
    words: str = "",
) -> list[str]:
    """What each script printed, in their order; of one that is to be `failing`, with its traceback.

    All others must end well, also after their last epoch. Of several `workers`, each a process,
    this is what the first has printed: nothing else may have been printed by the others. Each is
    given the same `words`.
    """
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", WORDS: words}
    with contextlib.ExitStack() as held, ThreadPoolExecutor(workers) as pool:
        named = _named(workers, held)
        started = [_started(scripts, folder, environment | each) for each in named]
        # At once: a full pipe of one would hold up all.
        ended = list(pool.map(lambda each: each.communicate(), started))
    for process, (_, wrong) in zip(started, ended, strict=True):
        assert process.returncode == 0, wrong[-4000:]
    found, *others = (json.loads(told.splitlines()[-1]) for told, _ in ended)
    for script, said in zip(scripts, found, strict=True):
        assert (TRACEBACK in said) == (script in failing), f"{script.name}: {said[-4000:]}"
    assert "epoch " not in str(others)
    return list(found)


def _started(
    scripts: Sequence[Path], folder: Path, environment: Mapping[str, str]
) -> subprocess.Popen[str]:
    import warm_python

    command = [*warm_python.command(str(Path(__file__))), *map(str, scripts)]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, stdout=pipe, stderr=pipe, text=True, cwd=folder, env=environment
    )


def _named(workers: int, held: contextlib.ExitStack) -> list[dict[str, str]]:
    """What each worker is told of all of them; their ports are `held`."""
    if workers == 1:
        return [{}]
    from gpu_studio.trainer.cluster.ports import held_ports

    cluster = {"worker": [f"127.0.0.1:{port}" for port in held_ports(held, workers)]}
    tasks = [{"type": "worker", "index": number} for number in range(workers)]
    return [{"TF_CONFIG": json.dumps({"cluster": cluster, "task": task})} for task in tasks]


TRACEBACK = "Traceback (most recent call last)"
WORDS = "SCRIPT_WORDS"

# In the process that trains

_made: dict[str, Any] = {}
CARDS = "GPU_STUDIO_PRACTICE_LIBRARY"


def _load_cards() -> None:
    import tensorflow as tf

    tf.load_op_library(f"{os.environ[CARDS]}/libpracticecards.so")


def _held() -> str:
    import tensorflow as tf

    names = [each.name.removeprefix("/device:") for each in tf.config.list_logical_devices("GPU")]
    memory = tf.config.experimental.get_memory_info
    return "".join(f"held {name}\n" for name in names if memory(name)["peak"])


def _once(name: str, make: Any) -> Any:
    def made_once() -> Any:
        if name not in _made:
            _made[name] = make()
        return _made[name]

    return made_once


def _run(script: str) -> str:
    import keras

    keras.mixed_precision.set_global_policy("float32")  # as in a new process
    namespace: dict[str, Any] = {"__name__": "script", "__file__": script}
    sys.argv = [script, *os.environ[WORDS].split()]
    told = io.StringIO()
    try:
        exec(compile(Path(script).read_text(encoding="utf-8"), script, "exec"), namespace)
        for name in ("set_up_devices", "make_strategy"):
            if name in namespace:
                namespace[name] = _once(name, namespace[name])
        with contextlib.redirect_stdout(told):
            namespace["main"]()
    except (Exception, SystemExit):  # noqa: BLE001 (whatever TensorFlow raises)
        return told.getvalue() + traceback.format_exc()
    return told.getvalue() + (_held() if CARDS in os.environ else "")


if __name__ == "__main__":
    if CARDS in os.environ:
        _load_cards()
    print(json.dumps([_run(script) for script in sys.argv[1:]]))
