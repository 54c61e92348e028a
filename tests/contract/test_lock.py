from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest
from patience import PATIENCE_S
from real_runs import eventually, has_trained, told, train_by_hand

from gpu_studio.common import safe_files
from gpu_studio.contract import kernel, lock

GONE = 2**22 + 1
"""A number that no process has."""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "trainer.lock"


def test_that_nobody_holds_a_lock_that_is_not_there(path):
    assert not lock.held(path)
    assert lock.holder(path) is None
    assert not path.exists()


def test_that_a_lock_is_held_until_it_is_released(path):
    taken = lock.take(path)
    assert lock.held(path)
    holder = lock.holder(path)
    assert holder is not None
    assert (holder.pid, holder.is_here) == (os.getpid(), True)
    taken.release()
    taken.release()
    assert not lock.held(path)
    assert lock.holder(path) is None
    assert path.stat().st_mode & 0o777 == 0o600


def test_that_a_second_trainer_is_refused_in_words(path):
    taken = lock.take(path)
    try:
        with pytest.raises(lock.LockHeldError, match="already at work"):
            lock.take(path, timeout=0.05)
    finally:
        taken.release()


def test_that_readers_who_probe_all_the_time_do_not_keep_a_trainer_out(path):
    path.touch()
    stop = threading.Event()

    def probe() -> None:
        while not stop.is_set():
            lock.held(path)

    threads = [threading.Thread(target=probe) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            lock.take(path, timeout=PATIENCE_S).release()
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_that_a_variable_which_names_another_file_is_not_taken_for_the_lock(
    path, tmp_path, monkeypatch
):
    with (tmp_path / "other").open("w") as other:
        monkeypatch.setenv(lock.ENVIRONMENT, str(other.fileno()))
        assert lock.adopt(path) is None
        assert lock.ENVIRONMENT not in os.environ
        assert os.fstat(other.fileno())


def test_that_the_lock_is_held_before_the_trainer_has_run_its_first_line(start):
    assert lock.held(start("--hold-at", "0").directory.lock_file)


def test_that_the_trainer_signs_the_lock(start):
    launched = start("--hold-at", "1")
    eventually(has_trained(launched, 1))
    holder = lock.holder(launched.directory.lock_file)
    assert holder is not None
    assert holder.pid == launched.process.pid


def test_that_a_killed_trainer_holds_nothing_and_its_children_hold_nothing_for_it(start):
    launched = start("--hold-at", "1", "--child")
    eventually(has_trained(launched, 1))
    child = int(launched.directory.log_file.read_text().split()[1])
    launched.process.kill()
    launched.process.wait()
    try:
        os.kill(child, 0)  # it lives
        assert not lock.held(launched.directory.lock_file)
    finally:
        os.kill(child, signal.SIGKILL)


def test_that_a_trainer_started_by_hand_beside_a_living_one_is_refused(start):
    launched = start("--hold-at", "1")
    eventually(has_trained(launched, 1))
    before = len(told(launched))
    second = train_by_hand(launched.directory, "--lock-timeout", "0.05")
    assert second.returncode == 1
    assert "LockHeldError: Another trainer is already at work" in second.stderr
    assert len(told(launched)) == before


FORKS = """
import os, signal, sys
from pathlib import Path
from gpu_studio.contract import lock
held = lock.take(Path(sys.argv[1]))
child = os.fork()
if child == 0:
    signal.pause()
print(child, flush=True)
signal.pause()
"""


@pytest.fixture
def orphan(path):
    """The forked child of a process that held the lock and was then killed from outside.

    It is forked as `multiprocessing` forks.
    """
    with subprocess.Popen(
        [sys.executable, "-c", FORKS, path], stdout=subprocess.PIPE, text=True
    ) as parent:
        child = int(parent.stdout.readline())
        parent.kill()
    yield child
    os.kill(child, signal.SIGKILL)


def test_that_a_child_forked_by_user_code_does_not_keep_a_dead_trainers_lock(path, orphan):
    assert psutil.pid_exists(orphan)
    assert not lock.held(path)
    lock.take(path, timeout=PATIENCE_S).release()


def test_that_a_lock_is_not_held_by_a_process_that_is_gone(path):
    """As when a library forks without a word to Python: the lock lives on in the child."""
    taken = lock.take(path)
    with subprocess.Popen(["sleep", "600"]) as gone:
        taken.sign(gone.pid)
        gone.kill()
    assert not lock.held(path)
    taken.sign(os.getpid())
    assert lock.held(path)
    taken.release()


@pytest.mark.parametrize("part", [1, 2, 5])
def test_that_of_another_computer_start_or_container_the_lock_alone_tells(path, part):
    """There the process may live, although no process here has its number."""
    taken = lock.take(path)
    words = f"{GONE} {socket.gethostname()} {kernel.boot_id()} 0 1 {kernel.pid_namespace()}".split()
    words[part] = "other"
    path.write_text(" ".join(words))
    assert lock.held(path)
    path.write_text(
        " ".join(words[:5])
    )  # as it was signed by versions that did not know of containers
    assert lock.held(path)
    taken.release()


def test_that_a_process_that_has_ended_but_is_not_waited_for_is_gone():
    ended = subprocess.Popen(["true"])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    assert psutil.Process(ended.pid).status() == psutil.STATUS_ZOMBIE
    assert kernel.started(ended.pid) is None
    ended.wait()


def test_that_a_process_that_only_its_owner_may_see_is_not_taken_for_gone(path, monkeypatch):
    """As where /proc is mounted with hidepid: the run of another user would be told as lost."""
    taken = lock.take(path)

    def refuse(_pid, _number):
        raise PermissionError

    monkeypatch.setattr(kernel, "started", lambda _pid: None)
    assert not lock.held(path)
    monkeypatch.setattr(os, "kill", refuse)
    assert lock.held(path)
    taken.release()


@pytest.mark.parametrize(
    "words",
    ["9" * 5000, "9" * 15, f"{os.getpid()} host - {'9' * 5000} {'9' * 5000}", "\u0661 host"],
)
def test_that_no_number_in_a_signature_stops_the_reader(path, words):
    taken = lock.take(path)
    path.write_text(words)
    assert lock.held(path)
    holder = lock.last_holder(path)
    assert holder is None or holder.memory_kills is holder.started is None
    taken.release()


NO_LOCKS = pytest.mark.parametrize("said", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])


def without_locks(monkeypatch, said):
    def refuse(_descriptor, _operation):
        raise OSError(said, os.strerror(said))

    monkeypatch.setattr(lock.fcntl, "flock", refuse)


@NO_LOCKS
def test_that_a_file_system_without_locks_is_told_with_the_way_out(path, monkeypatch, said):
    without_locks(monkeypatch, said)
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(lock.NoLocksError) as refused:
        lock.take(path, timeout=0.05)
    assert refused.value.filename == str(path.parent)
    assert f"keeps no locks ({os.strerror(said)})" in refused.value.strerror
    assert "Choose a folder on another one" in refused.value.strerror
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@NO_LOCKS
def test_that_where_there_are_no_locks_any_more_the_living_signer_holds_it(path, monkeypatch, said):
    ours = lock.take(path)
    without_locks(monkeypatch, said)
    assert lock.held(path)
    ours.sign(GONE)
    assert not lock.held(path), "a run that was copied there is read as one that has ended"
    path.write_text("")
    assert not lock.held(path)
    ours.hand_over()


def test_that_only_what_may_be_done_without_a_lock_is_done_where_there_are_none(path, monkeypatch):
    with path.open("w") as first, path.open("w") as second:
        assert safe_files.lock_if_there_are_locks(first.fileno(), 0.0)
        assert not safe_files.lock_if_there_are_locks(second.fileno(), 0.0)
        without_locks(monkeypatch, errno.ENOLCK)
        assert safe_files.lock_if_there_are_locks(second.fileno(), 0.0)
        with pytest.raises(OSError, match="No locks available"):
            safe_files.lock_within(second.fileno(), 0.0)
        without_locks(monkeypatch, errno.EIO)
        with pytest.raises(OSError, match="Input/output error"):
            safe_files.lock_if_there_are_locks(second.fileno(), 0.0)


def test_that_a_last_word_may_be_the_path_of_a_file_that_is_no_utf8(path):
    taken = lock.take(path)
    taken.leave_word(os.fsdecode(b"/home/\xff.study.toml"))
    assert lock.last_words(path) == "/home/\ufffd.study.toml"
    taken.release()


def test_that_a_lock_whose_file_was_removed_is_held_by_a_new_one(path):
    taken = lock.take(path)
    path.unlink()
    assert taken.deleted
    assert not lock.held(path)
    taken.renew(path)
    assert not taken.deleted
    holder = lock.holder(path)
    assert holder is not None
    assert holder.pid == os.getpid()
    assert path.stat().st_mode & 0o777 == 0o600
    assert not os.get_inheritable(taken.descriptor)
    taken.release()
    assert not lock.held(path)


@pytest.mark.parametrize("made", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("nothing")])
def test_that_a_lock_is_renewed_in_the_place_of_nothing_else(path, made):
    taken = lock.take(path)
    path.unlink()
    made(path)
    taken.renew(path)
    assert taken.deleted
    assert not path.is_file()
    taken.release()
