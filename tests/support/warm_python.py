"""Preloaded Python processes with TensorFlow, Keras and the trainer, as most tests train briefly.

A server imports them, without using any, and forks for each requested process; the workers of a
session share it. The fork is as good as new, because TensorFlow creates its threads and devices on
first use. `warm_client.py` represents such a process: it passes on its descriptors, environment,
folder and signals, ends as the fork ends, and if it is killed, so is the fork. Its program is a
module of the package, or a script, which then cannot import the package, or `-c`, with a text as
its first argument, which can.

Settings read when TensorFlow is imported cannot be varied this way: tests of those start Python
afresh.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import traceback
import typing
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

SERVING = "--serve"
"""By this `left_processes` knows the server among the processes that a test leaves."""
TEXT = "-c"
WORKER = "PYTEST_XDIST_WORKER"
PRELOADED = "LD_PRELOAD"
KERNELS_OF_ONEDNN = "_Mkl"
PROGRAMS = ("gpu_studio.trainer.__main__", "gpu_studio.trainer.ask")
ROOT = Path(__file__).parents[2]
CLIENT = str(Path(__file__).with_name("warm_client.py"))
FOR_SMALL_STEPS = {
    "TF_NUM_INTRAOP_THREADS": "1",
    "XLA_FLAGS": "--xla_backend_optimization_level=0",
}
"""The tests use every core already, their operations are small, and what XLA compiles for them runs
only a few times. A test may say otherwise."""
_served: list[str] = []
"""The address of the server, once there is one."""
_starting = threading.Lock()


def command(program: str) -> list[str]:
    """The command line that runs `program`, a module, a script or `-c`, in a warm process.

    Further arguments may follow: after `-c` the text of the program, and its own.
    """
    owner = owning_process()
    with _starting:
        if not _served:
            if not _is_served(address_of(owner)):
                start_server(owner)
            _served.append(address_of(owner))
    return [sys.executable, "-S", "-E", "-P", CLIENT, address_of(owner), program]


def owning_process() -> int:
    """The process whose end is the server's: pytest's, which all its workers share."""
    return os.getppid() if WORKER in os.environ else os.getpid()


def _is_served(address: str) -> bool:
    with _socket() as line:
        return line.connect_ex("\0" + address) == 0


def start_server(owner: int) -> None:
    """Start the server, unless that of another worker of the session was first.

    It is nobody's child: else its worker would look through all processes after each test.
    """
    paths = {
        "PYTHONPATH": sysconfig.get_path("purelib"),
        "KERAS_BACKEND": "tensorflow",
        "TF_CPP_MIN_LOG_LEVEL": "1",
    }
    with tempfile.TemporaryDirectory() as folder:
        starter = subprocess.Popen(
            [sys.executable, "-S", "-P", __file__, SERVING, address_of(owner), str(owner)],
            env={**os.environ, **paths, **_preloaded(Path(folder))},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        starter.wait()


def can_remember_kernels() -> bool:
    """Whether `preloaded.c` is of use: it is compiled, and for this way to return a string."""
    import nvml_library  # here: the server has no such folder

    return os.uname().machine == "x86_64" and nvml_library.compiler() is not None


def _preloaded(folder: Path) -> dict[str, str]:
    """The variables that preload what keeps the names of kernels, and waits less for memory."""
    import nvml_library

    if not can_remember_kernels():
        return {}
    source = Path(__file__).with_name("preloaded.c")
    try:
        made = nvml_library.compiled(source, folder / "preloaded.so")
    except (OSError, subprocess.SubprocessError):  # a compiler without its headers: only slower
        return {}
    return {PRELOADED: f"{made}:{os.environ.get(PRELOADED, '')}".strip(":")}


def address_of(owner: int) -> str:
    """The address at which the server of this process listens."""
    return f"gpu-studio-tests-{owner}"


def _socket() -> socket.socket:
    return socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)


# The server


def serve(address: str, owner: int) -> None:
    """Import, and fork for whoever asks, until `owner` is gone; nothing if another does already.

    Who asks meanwhile waits for the imports.
    """
    with _socket() as listener:
        try:
            listener.bind("\0" + address)
        except OSError:
            return
        listener.listen(64)
        if os.fork():  # who started this need not wait for more
            os._exit(0)
        gc.disable()  # collections while TensorFlow is imported free nothing
        _import_trainer()
        _remember_kernels()
        _remember_protocols()
        # Collections in the forks leave alone what was imported, most of what there is, and come
        # seldom: a traced step is much that is kept.
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)
        gc.enable()
        Keeper(listener, os.pidfd_open(owner)).serve()


class Heard(NamedTuple):
    """What to do where something was heard.

    To fork takes long: ends and signals are told first.
    """

    then: Callable[[], None]
    takes_long: bool


class Keeper:
    """Forks for whoever asks, hands signals on, and tells how the fork ended.

    A fork for which nobody waits any more is ended.
    """

    def __init__(self, listener: socket.socket, owner: int) -> None:
        self._ears = selectors.PollSelector()
        self._children: dict[int, int] = {}
        self._owner = owner
        self._hear(owner, lambda: None)
        self._hear(listener, lambda: self._accept(listener))

    def serve(self) -> None:
        """Serve until the owner has ended, and end what is left then."""
        while (heard := self._next()).fd != self._owner:
            heard.data.then()
        for child in self._children.values():
            os.kill(child, signal.SIGKILL)

    def _next(self) -> selectors.SelectorKey:
        ready: list[tuple[selectors.SelectorKey, int]] = []
        while not ready:
            ready = self._ears.select()
        return min((key for key, _ in ready), key=lambda key: key.data.takes_long)

    def _hear(self, what: Any, then: Callable[[], None], *, takes_long: bool = False) -> None:
        self._ears.register(what, selectors.EVENT_READ, Heard(then, takes_long))

    def _accept(self, listener: socket.socket) -> None:
        line, _ = listener.accept()
        self._hear(line, lambda: self._begin(line), takes_long=True)

    def _begin(self, line: socket.socket) -> None:
        self._ears.unregister(line)
        text, descriptors, _, _ = socket.recv_fds(line, 1 << 20, 64)
        if not text:  # only looked whether there is a server
            line.close()
            return
        wanted = _wanted(os.fsdecode(text).split("\0"))
        child = os.fork()
        if child == 0:
            line.close()
            self._leave()
            try:
                _become(wanted, descriptors)
            finally:  # whatever it was, there is one server
                os._exit(1)
        for descriptor in descriptors:
            os.close(descriptor)
        watched = os.pidfd_open(child)
        self._children[watched] = child
        self._hear(watched, lambda: self._end(watched, line))
        self._hear(line, lambda: self._hand_on(watched, line))

    def _leave(self) -> None:
        """In a fork: let go of all that is the server's."""
        for each in list(self._ears.get_map().values()):
            os.close(each.fileobj) if isinstance(each.fileobj, int) else each.fileobj.close()  # type: ignore[attr-defined]

    def _hand_on(self, watched: int, line: socket.socket) -> None:
        asked = b""
        with suppress(ConnectionError):
            asked = line.recv(16)
        os.kill(self._children[watched], int(asked or signal.SIGKILL))
        if not asked:
            self._ears.unregister(line)
            line.close()

    def _end(self, watched: int, line: socket.socket) -> None:
        _, status = os.waitpid(self._children.pop(watched), 0)
        self._ears.unregister(watched)
        os.close(watched)
        if line.fileno() >= 0:
            self._ears.unregister(line)
            with suppress(OSError), line:  # who stood for it may have gone just now
                line.send(str(os.waitstatus_to_exitcode(status)).encode())


def _import_trainer() -> None:
    """Import all that a run or an answer imports, except the programs themselves."""
    sys.path.insert(0, str(ROOT))
    # As a trainer does first: a job of a test asks TensorFlow for cards by itself.
    importlib.import_module("gpu_studio.trainer.cuda_libraries").load_packaged()
    import keras  # noqa: F401
    import numpy.ma
    import numpy.random  # noqa: F401 (both of which numpy imports when they are first used)
    import tensorflow  # noqa: F401

    # A pipeline imports its operations one by one, when it is made.
    for name in ("gpu_studio.trainer", "tensorflow.python.data.ops"):
        room = importlib.import_module(name)
        for each in pkgutil.walk_packages(room.__path__, f"{name}."):
            if each.name not in PROGRAMS:
                importlib.import_module(each.name)
    sys.path.pop(0)


def _remember_kernels() -> None:
    """Have the preloaded library know which operations have kernels of oneDNN's, for all forks.

    Without, TensorFlow searches for them in every fork: a quarter of a small training.
    """
    import ctypes

    from tensorflow.python.framework import kernels

    if remember := getattr(ctypes.CDLL(None), "remember_kernels", None):
        found = {each.op for each in kernels.get_all_registered_kernels().kernel}
        for name in sorted(each for each in found if each.startswith(KERNELS_OF_ONEDNN)):
            remember(name.encode())


def _remember_protocols() -> None:
    """Have Python look once for what a protocol asks for, and not whenever TensorFlow traces."""
    looked_for = vars(typing).get("_get_protocol_attrs")
    if looked_for is not None:
        vars(typing)["_get_protocol_attrs"] = functools.cache(looked_for)


def _forget_package() -> None:
    """Have the package not there, as it is not where a script of somebody's own runs."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "gpu_studio"]:
        del sys.modules[name]


def _wanted(fields: list[str]) -> dict[str, Any]:
    """What `warm_client` has said."""
    folder, numbers, count, *fields = fields
    variables, (program, *arguments) = fields[: int(count)], fields[int(count) :]
    return {
        "program": program,
        "arguments": arguments,
        "folder": folder,
        "environment": dict(each.split("=", 1) for each in variables),
        "descriptors": list(map(int, numbers.split())),
    }


def _become(wanted: dict[str, Any], descriptors: list[int]) -> None:
    """Be the process that was wanted, to its end."""
    os.setsid()
    high = [os.dup2(each, 500 + place, inheritable=False) for place, each in enumerate(descriptors)]
    for each in descriptors:
        os.close(each)
    for each, target in zip(high, wanted["descriptors"], strict=True):
        os.dup2(each, target)
        os.close(each)
    os.environ.clear()
    os.environ.update(FOR_SMALL_STEPS | wanted["environment"])
    tempfile.tempdir = None  # the imports have asked for it, in another environment
    os.chdir(wanted["folder"])
    sys.argv = [wanted["program"], *wanted["arguments"]]
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    status = _status(wanted["program"])
    atexit._run_exitfuncs()  # AutoGraph's removes its files
    os._exit(status)


def _status(program: str) -> int:
    try:
        if program.endswith(".py"):
            _forget_package()
            runpy.run_path(program, run_name="__main__")
        elif program == TEXT:
            sys.path.insert(0, str(ROOT))
            text = sys.argv.pop(1)
            exec(compile(text, "<string>", "exec"), {"__name__": "__main__"})
        else:
            sys.path.insert(0, str(ROOT))
            runpy.run_module(program, run_name="__main__", alter_sys=True)
    except SystemExit as leaving:
        if leaving.code is not None and not isinstance(leaving.code, int):
            print(leaving.code, file=sys.stderr)  # as Python itself does
        return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except Exception:  # noqa: BLE001 (as Python itself ends a program)
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


if __name__ == "__main__":
    serve(sys.argv[2], int(sys.argv[3]))
