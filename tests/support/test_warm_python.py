"""Processes that have TensorFlow already are as others."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import psutil
import pytest
import warm_python
from patience import PATIENCE_S
from training_runs import until

pytestmark = pytest.mark.slow

ASKING = """
import ctypes, json, pathlib, struct, tensorflow as tf
from tensorflow.python.framework import kernels

NAME = "_ZN10tensorflow22KernelsRegisteredForOpB5cxx11ESt17basic_string_viewIcSt11char_traitsIcEE"
FILE = pathlib.Path(tf.sysconfig.get_lib()) / "libtensorflow_framework.so.2"

def answers(library, names):
    ask = library[NAME]
    ask.argtypes, ask.restype = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p), None
    told = []
    for name in names:
        text = ctypes.create_string_buffer(32)
        ask(text, len(name), name.encode())
        told.append(ctypes.string_at(*struct.unpack("PN", text.raw[:16])).decode())
    return told

names = {each.op for each in kernels.get_all_registered_kernels().kernel}
names = sorted(each for each in names if each.startswith("_Mkl"))
names += ["_MklNothing", "MatMul", "Nothing"]
print(json.dumps([answers(ctypes.CDLL(each), names) for each in (None, FILE)]))
"""


@pytest.mark.skipif(not warm_python.can_remember_kernels(), reason="not here: see warm_python")
def test_that_the_kernels_that_warm_processes_remember_are_those_that_tensorflow_finds() -> None:
    done = subprocess.run(
        [*warm_python.command(warm_python.TEXT), ASKING],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    remembered, found = json.loads(done.stdout.splitlines()[-1])
    assert remembered == found
    assert len(set(found)) > 3, "some have kernels, each its own"


LINES = """
import ctypes, json, sys

def lines(ask):
    told, frame = [], sys._getframe()
    while frame:
        told.append(ask(frame) if ask else frame.f_lineno)
        frame = frame.f_back
    return told

ask = ctypes.PyDLL(None).PyFrame_GetLineNumber
ask.argtypes = [ctypes.py_object]
deep = lambda count: deep(count - 1) if count else [[lines(ask), lines(None)] for _ in range(3)]
print(json.dumps(deep(30)))
"""


@pytest.mark.skipif(not warm_python.can_remember_kernels(), reason="not here: see warm_python")
def test_that_the_lines_that_warm_processes_remember_are_those_that_python_finds() -> None:
    done = subprocess.run(
        [*warm_python.command(warm_python.TEXT), LINES], capture_output=True, text=True, check=True
    )
    for remembered, found in json.loads(done.stdout):
        assert remembered[1:] == found[1:], "but for the line that asks"
        assert len(found) > 30
        assert len(set(found)) > 3


OF_XLA = """
import ctypes, json, os, pathlib, tensorflow as tf
from tensorflow.compiler.tf2xla.python import xla  # noqa: F401

NAME = "_ZN10tensorflow13XlaOpRegistry19GetAllRegisteredOpsB5cxx11Ev"
FILE = pathlib.Path(tf.sysconfig.get_lib()) / "libtensorflow_cc.so.2"

class Text(ctypes.Structure):
    _fields_ = [
        *(("start", ctypes.c_char_p), ("length", ctypes.c_size_t)),
        ("kept", ctypes.c_char * 16),
    ]

def answer(library):
    told = (ctypes.c_void_p * 3)()
    ask = library[NAME]
    ask.argtypes, ask.restype = [ctypes.c_void_p], ctypes.c_void_p
    ask(told)
    count = (told[1] - told[0]) // ctypes.sizeof(Text)
    return [each.start[:each.length].decode() for each in (Text * count).from_address(told[0])]

print(json.dumps([answer(ctypes.CDLL(each)) for each in (None, None, FILE)]))
"""


@pytest.mark.skipif(not warm_python.can_remember_kernels(), reason="not here: see warm_python")
def test_that_the_operations_that_warm_processes_list_are_those_that_xla_knows() -> None:
    done = subprocess.run(
        [*warm_python.command(warm_python.TEXT), OF_XLA], capture_output=True, text=True, check=True
    )
    first, again, found = json.loads(done.stdout.splitlines()[-1])
    assert first == again == found
    assert len(found) > 100


def test_that_two_workers_that_begin_at_once_have_one_server_which_is_no_child_of_theirs() -> None:
    warm_python.command(warm_python.TEXT)
    before = psutil.Process().children(recursive=True)
    warm_python.start_server(warm_python.owning_process())
    assert psutil.Process().children(recursive=True) == before
    assert not [each for each in before if warm_python.SERVING in each.cmdline()]

    address = warm_python.address_of(warm_python.owning_process())
    serving = {
        each.pid: each.info["ppid"]  # what is forked for others may end at any moment
        for each in psutil.process_iter(["cmdline", "ppid"])
        if [warm_python.SERVING, address] == (each.info["cmdline"] or [])[-3:-1]
    }
    forked = [pid for pid, parent in serving.items() if parent in serving]
    assert len(serving) - len(forked) == 1


def test_that_a_process_ends_with_the_one_that_stands_for_it_and_as_it_ended(
    tmp_path: Path,
) -> None:
    told = tmp_path / "pid"
    waiting = f"import os, time; open({str(told)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    for number, code in ((signal.SIGTERM, -signal.SIGTERM), (signal.SIGKILL, -signal.SIGKILL)):
        told.unlink(missing_ok=True)
        stands = subprocess.Popen([*warm_python.command(warm_python.TEXT), waiting])
        until(lambda: told.exists() and told.read_text(), PATIENCE_S)
        process = int(told.read_text())
        stands.send_signal(number)
        assert stands.wait(PATIENCE_S) == code
        until(lambda pid=process: not psutil.pid_exists(pid), PATIENCE_S)
        assert not psutil.pid_exists(process)
        told.unlink()
    ended = subprocess.run([*warm_python.command(warm_python.TEXT), "raise SystemExit(7)"])
    assert ended.returncode == 7
