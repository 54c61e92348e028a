from __future__ import annotations

import shlex
import subprocess

import pytest
from real_runs import eventually, has_trained

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.event_parts import SuggestedChange
from gpu_studio.plan import loads, with_settings, with_value
from gpu_studio.runs.diagnosis import Explanation, explain


@pytest.fixture
def lost(tmp_path):
    """A lost run with this at the end of its log."""

    def with_log(text):
        run = RunDirectory.create(tmp_path, "x")
        run.log_file.write_text(text)
        return run

    return with_log


def test_that_a_failure_is_told_in_the_trainers_own_words(ended):
    why = explain(ended("--fail-at", "3").directory)
    assert (why.message, why.suggestions) == (
        "Training broke: the data has a hole.",
        ("Mend the data.",),
    )
    assert why.details.startswith("Traceback")


def test_that_a_segmentation_fault_is_explained_with_the_line_that_called(ended):
    launched = ended("--crash-at", "3", "--checkpoint-every", "2")
    why = explain(launched.directory, launched.poll())
    assert "segmentation fault" in why.message
    assert "called from end_badly (" in why.message
    assert "step 2" in why.suggestions[0]
    assert f"gpu-studio resume {launched.directory.id}" in why.suggestions[0]
    assert "Fatal Python error: Segmentation fault" in why.details


def test_that_a_failed_check_of_tensorflow_says_which(ended):
    why = explain(ended("--abort-at", "3").directory)
    assert why.message == "TensorFlow gave up on a failed check: Check failed: pool != nullptr"
    assert why.suggestions[0] == "It had written no checkpoint: train its plan again."


def test_that_a_trainer_which_could_not_start_says_what_is_missing(ended):
    why = explain(ended("--raise-at-start").directory)
    assert (
        why.message
        == "The trainer could not start: ModuleNotFoundError: No module named 'tensorflow'"
    )


def test_that_an_end_without_a_word_is_not_guessed_at(ended):
    launched = ended("--vanish-at", "3")
    assert "without a word" in explain(launched.directory).message
    assert "exit code 3" in explain(launched.directory, 3).message


def test_that_a_folder_that_can_only_be_read_is_named(small_disk):
    run = RunDirectory.create(small_disk.path, "x")
    run.log_file.write_text("")
    assert "killed" in explain(run).message
    subprocess.run(["mount", "-o", "remount,ro", small_disk.path], check=True)
    assert "Nothing can be written into its folder now" in explain(run).message
    assert explain(run, -9).message == "The trainer was ended by SIGKILL."


def test_that_a_kill_seen_by_the_launcher_names_the_signal_and_the_usual_cause(start):
    launched = start("--hold-at", "2")
    eventually(has_trained(launched, 2))
    launched.process.kill()
    why = explain(launched.directory, launched.process.wait())
    assert why.message == "The trainer was ended by SIGKILL."
    assert any("dmesg" in suggestion for suggestion in why.suggestions)


def test_that_a_run_which_did_not_go_wrong_is_said_to_be_well(ended, start):
    assert explain(ended().directory).message == "The run has finished: completed."
    assert explain(start("--hold-at", "1").directory).message == "The run is alive."


@pytest.mark.parametrize(
    ("log", "message"),
    [
        ((
            "2026-11-20 19:00:00.1: F tensorflow/x.cc:7] Check failed: a == b (1 vs. 2)\nFatal "
            "Python error: Aborted\n"
        ),
         "TensorFlow gave up on a failed check: Check failed: a == b (1 vs. 2)"),
        ("Traceback (most recent call last):\n  File \"a.py\"\nMemoryError\n", "no memory left"),
        ((
            "terminate called after throwing an instance of 'std::bad_alloc'\nFatal "
            "Python error: Aborted\n"
        ),
         "no memory left"),
        ("LLVM ERROR: pthread_create failed: Resource\nFatal Python error: Aborted\n",
         "no further thread"),
        ("F0000 00:00:1 1 env.cc:74] Check failed: creation via pthread_create() failed.",
         "no further thread"),
        ("RuntimeError: can't start new thread\n", "no further thread"),
        ("OpenBLAS blas_thread_init: pthread_create failed for 8\nFatal Python error: Bus error\n",
         "bus error"),
        ("Fatal Python error: Bus error\n", "bus error"),
        ("Fatal Python error: Illegal instruction\n", "This processor cannot run"),
        ("Fatal Python error: deallocating None: bug\n", "gave up: deallocating None: bug."),
        ("Traceback …\n  File \"x\"\nValueError: {odd} braces\n",
         "could tell of it: ValueError: {odd} braces"),
        ("run.sh: line 3: 1234 Killed    python -m gpu_studio.trainer\n",
         "The trainer was killed."),
        ("Segmentation fault (core dumped)\n", "crashed in native code"),
    ],
)  # fmt: skip
def test_that_the_end_of_the_log_tells_how_it_ended(lost, log, message):
    why = explain(lost("I0000 chatter\n" * 5 + log))
    assert message in why.message
    assert why.suggestions


def test_that_an_error_survived_long_before_the_end_is_not_blamed(lost):
    why = explain(lost("MemoryError\n" + "chatter\n" * 20_000))
    assert "without a word" in why.message
    assert len(why.details.splitlines()) <= 60


def test_that_bytes_which_are_no_text_do_no_harm(lost):
    run = lost("")
    run.log_file.write_bytes(b"\xff\xfe\nFatal Python error: Bus error\n\xff")
    assert "bus error" in explain(run).message


def test_that_too_little_memory_to_load_a_library_is_no_missing_library(ended):
    run = ended("--vanish-at", "3").directory
    run.log_file.write_text(
        "ImportError: libtensorflow_cc.so.2: failed to map segment from shared object\n"
    )
    why = explain(run)
    assert why.message.startswith(
        "There was not enough memory to load a library: libtensorflow_cc.so.2"
    )
    assert "ulimit -v" in " ".join(why.suggestions)


def test_that_a_change_of_a_whole_table_can_be_typed_as_it_is_written():
    plan = loads('version = 1\n[model]\nname = "mlp"\n[data]\nname = "digits"\n')
    places = {"layers": {"a": "GPU:0", "b/c": ["GPU:0", "GPU:1"]}, "micro_batches": 2}
    mend = SuggestedChange(
        text="Spread", field="distribution", value={"strategy": "placed", "placed": places}
    )
    (line,) = Explanation("", mends=(mend,)).settings
    setting = shlex.split(line.partition("--set ")[2])
    assert with_settings(plan, setting) == with_value(plan, mend.field, mend.value)


OTHERS = """Thread 0x00007fd6f9a2e6c0 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 331 in wait
  File "/usr/lib/python3.11/threading.py", line 1002 in _bootstrap

"""
CURRENT = """Current thread 0x00007fd6fa7beb80 (most recent call first):
  File "/app/program.py", line 90 in train
  File "/app/loop.py", line 12 in run

"""


@pytest.mark.parametrize(
    ("stacks", "where"),
    [
        (OTHERS, ", in a thread of a native library that no Python called"),
        (OTHERS + CURRENT, ", called from train (/app/program.py, line 90)"),
        (CURRENT + OTHERS, ", called from train (/app/program.py, line 90)"),
        ("Current thread 0x1 (most recent call first):\n  <no Python frame>\n\n" + OTHERS, ""),
        ("", ""),
    ],
)
def test_that_a_crash_is_told_of_the_thread_that_crashed_and_of_no_other(lost, stacks, where):
    why = explain(lost(f"Fatal Python error: Segmentation fault\n\n{stacks}"))
    assert why.message == f"The trainer crashed in native code (a segmentation fault){where}."
