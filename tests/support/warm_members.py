"""A trainer whose members, if its run has several, are processes that have TensorFlow already.

`python warm_members.py COMMAND HOLDS RUN` supervises as `python -m gpu_studio.trainer RUN` does;
COMMAND is that of a warm process. A member ends with the process that started it, by the kernel,
and asks whose child it is. That is here the server of the warm processes: so a member is told of
that one, and to kill a supervisor takes members of the usual kind.
"""

from __future__ import annotations

import json
import runpy
import shlex
import sys

import warm_python

MEMBER = """
import json, os, sys, time
from gpu_studio.trainer import team
from gpu_studio.trainer.cluster import clustered, member
from gpu_studio.trainer.environment import leave

rest, holds = json.loads(sys.argv.pop(1))
asked = set()


def waits(control, step):
    asked.update(wish for wish in ("pausing", "stopping") if getattr(control, wish))
    late = [what for what, at in holds.items() if step >= at and what not in asked]
    return any(not os.path.exists(what) for what in late)


def holding(agree):
    def held(self, control, steps, step, *given, **named):
        time.sleep(rest)
        while self.index == 0 and waits(control, step):
            time.sleep(0.01)
        return agree(self, control, steps, step, *given, **named)

    return held


for kind in (team.Alone, clustered.Clustered):
    kind.agree = holding(kind.agree)
given = [each for each in sys.argv[1:] if not each.startswith("--parent=")]
leave(member.main([f"--parent={os.getppid()}", *given]))
"""


def command(*, rest: float = 0.0, **holds: int) -> list[str]:
    """The command line of the trainer, without the run's directory.

    The members `rest` for so many seconds each time that they have agreed on calls, as a trainer
    of `training_runs.resting` does. Who leads them waits before a step until it is `pausing`, or
    `stopping`, or until there is a file of that name: a machine may be so quick, or so busy, that
    the run is over before.
    """
    warm = shlex.join(warm_python.command(warm_python.TEXT))
    return [sys.executable, __file__, warm, json.dumps([rest, holds])]


def main() -> None:
    """Be that trainer."""
    sys.path.insert(0, str(warm_python.ROOT))
    from gpu_studio.trainer.cluster import workers

    warm = [*shlex.split(sys.argv.pop(1)), MEMBER, sys.argv.pop(1)]
    vars(workers)["module_command"] = lambda _module: warm
    runpy.run_module("gpu_studio.trainer", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
