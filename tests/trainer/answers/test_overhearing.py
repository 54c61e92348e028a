"""What TensorFlow says on stderr: that it is kept, passed on, and read."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE_S

from gpu_studio.trainer.answers.overhearing import overheard, unloaded, warnings_in

NO_FILE = "cannot open shared object file: No such file or directory"
SAID = f"""\
WARNING: All log messages before absl::InitializeLog() is called are written to STDERR
I0000 00:00:1795716800.439489    1144 port.cc:153] oneDNN custom operations are on.
I0000 00:00:1795716801.1    1144 dso_loader.cc:144] Could not load dynamic library \
'libcusolver.so.11'; dlerror: libcusolver.so.11: {NO_FILE}; LD_LIBRARY_PATH: /a:/b
I0000 00:00:1795716801.2    1144 dso_loader.cc:154] Successfully opened dynamic library libcufft.so
I0000 00:00:1795716801.3    1144 dso_loader.cc:144] Could not load dynamic library \
'libcuda.so.1'; dlerror: libcuda.so.1: {NO_FILE}
W0000 00:00:1795716801.4    1144 gpu_device.cc:2365] Cannot dlopen some GPU libraries.
Skipping registering GPU devices...
E0000 00:00:1795716801.5    1144 cuda_platform.cc:52] failed call to cuInit: UNKNOWN ERROR (303)
E0000 00:00:1795716801.6    1144 cuda_platform.cc:52] failed call to cuInit: UNKNOWN ERROR (303)
"""
"""As TensorFlow 2.21 wrote it: on a machine with an H100, and on one without a driver."""

PROCESS = """
import os
from gpu_studio.trainer.answers.overhearing import overheard
with overheard() as said:
    os.write(2, b"from native code\\n")
    {act}
os.write(2, b"afterwards\\n")
print(said.words, end="")
"""
HELD = """
import os, subprocess, tempfile, time
from gpu_studio.trainer.answers import overhearing

overhearing._ENDS_S = 0.1
files, made = [], tempfile.TemporaryFile
tempfile.TemporaryFile = lambda: files.append(made()) or files[0]
with overhearing.overheard() as said:
    os.write(2, b"from native code\\n")
    other = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    while not os.fstat(files[0].fileno()).st_size:
        time.sleep(0.01)
other.communicate()
os.write(2, b"afterwards\\n")
print(said.words, end="")
"""


def run(act, **environment):
    return ran(PROCESS.format(act=act), **environment)


def ran(program, **environment):
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env=os.environ | environment,
    )


def test_that_each_library_that_tensorflow_cannot_open_is_told_with_its_reason():
    assert unloaded(SAID) == {
        "libcusolver.so.11": f"libcusolver.so.11: {NO_FILE}",
        "libcuda.so.1": f"libcuda.so.1: {NO_FILE}",
    }


def test_that_its_warnings_are_told_once_and_without_their_time():
    assert warnings_in(SAID) == [
        "Cannot dlopen some GPU libraries.",
        "failed call to cuInit: UNKNOWN ERROR (303)",
    ]
    assert warnings_in("nothing of the kind\n") == []


def test_that_what_is_written_to_stderr_is_kept_and_still_written():
    told = run("pass")

    assert told.stdout == "from native code\n"
    assert told.stderr == "from native code\nafterwards\n"


def test_that_nothing_is_lost_if_the_process_crashes():
    told = run("os.abort()")

    assert told.returncode < 0
    assert told.stderr.startswith("from native code\n")


def test_that_nothing_is_kept_where_nothing_can_pass_it_on():
    told = run("pass", PATH="/nowhere")

    assert (told.stdout, told.stderr) == ("", "from native code\nafterwards\n")


@pytest.mark.parametrize("lacking", ["tempfile.TemporaryFile", "subprocess.Popen", "os.dup"])
def test_that_nothing_is_kept_and_nothing_left_open_where_the_system_refuses(
    lacking, monkeypatch
) -> None:
    def refused(*_given, **_named):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(lacking, refused)
    before = sorted(Path("/dev/fd").iterdir())
    with overheard() as said:
        pass
    assert not said.words
    assert sorted(Path("/dev/fd").iterdir()) == before


def test_that_a_process_that_inherits_stderr_holds_nothing_up():
    told = ran(HELD)

    assert told.stdout == "from native code\n"
    assert told.stderr == "from native code\nafterwards\n"
