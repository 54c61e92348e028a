"""Processes that have TensorFlow already are as others."""

from __future__ import annotations

import json
import subprocess

import pytest
import warm_python

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
