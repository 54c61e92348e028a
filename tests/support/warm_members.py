"""A trainer whose members, if its run has several, are processes that have TensorFlow already.

`python warm_members.py COMMAND RUN` supervises as `python -m gpu_studio.trainer RUN` does; COMMAND
is that of a warm process. A member ends with the process that started it, by the kernel, and asks
whose child it is. That is here the process that keeps the fork, which ends with the one that stands
for it: so a member is told of that one, and to kill a supervisor takes members of the usual kind.
"""

from __future__ import annotations

import runpy
import shlex
import sys

import warm_python

MEMBER = """
import os, sys
from gpu_studio.trainer.cluster import member
from gpu_studio.trainer.environment import leave
given = [each for each in sys.argv[1:] if not each.startswith("--parent=")]
leave(member.main([f"--parent={os.getppid()}", *given]))
"""


def command() -> list[str]:
    """The command line of the trainer, without the run's directory."""
    return [sys.executable, __file__, shlex.join(warm_python.command(warm_python.TEXT))]


def main() -> None:
    """Be that trainer."""
    sys.path.insert(0, str(warm_python.ROOT))
    from gpu_studio.trainer.cluster import workers

    warm = [*shlex.split(sys.argv.pop(1)), MEMBER]
    vars(workers)["module_command"] = lambda _module: warm
    runpy.run_module("gpu_studio.trainer", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
