"""Ask a process a question: there is an answer or a reason, and nothing is left behind."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import fake_asker
import pytest
from patience import PATIENCE_S

from gpu_studio.runs.launch import TRAINER_VARIABLE
from gpu_studio.runs.questions import answer_cache
from gpu_studio.runs.questions.ask import AskCancelledError, AskError, ask, ask_command

pytestmark = pytest.mark.processes

SCRIPT = fake_asker.__file__


@pytest.fixture
def starts(tmp_path, monkeypatch):
    """How often a process was started."""
    path = tmp_path / "starts"
    monkeypatch.setenv("FAKE_ASKER_STARTS", str(path))
    return lambda: len(path.read_text().splitlines()) if path.exists() else 0


def asked(*flags, **options):
    return ask(
        "devices", command=[sys.executable, SCRIPT, *flags], **{"timeout": PATIENCE_S, **options}
    )


def test_that_the_answer_is_what_the_process_says():
    assert asked(environment={"SEEN": "this"}).value == {"question": "devices", "seen": "this"}


def test_that_what_is_waited_for_is_told_on_the_way():
    told = []

    assert asked("progress", progress=told.append).value["question"] == "devices"
    assert told == ["importing"]


def test_that_an_answer_in_pieces_is_put_together():
    assert asked("in-pieces").value == {"whole": True}


def test_that_chatter_of_any_length_does_not_hold_up_the_answer():
    assert asked("flood").value["question"] == "devices"


def test_that_a_kept_answer_is_given_without_a_process(starts):
    first, again = asked(), asked()

    assert (first.kept, again.kept, first.value == again.value) == (False, True, True)
    assert starts() == 1


def test_that_a_fresh_answer_is_asked_for_and_kept_in_turn(starts):
    asked()
    assert not asked(fresh=True).kept
    assert asked().kept
    assert starts() == 2


@pytest.mark.parametrize(
    "name", ["CUDA_VISIBLE_DEVICES", "TF_ANYTHING", "LD_LIBRARY_PATH", "XLA_FLAGS"]
)
def test_that_a_variable_that_matters_makes_it_another_question(starts, monkeypatch, name):
    asked()
    monkeypatch.setenv(name, "0")

    assert not asked().kept
    assert not asked(environment={name: "1"}).kept
    assert starts() == 3


def test_that_a_package_installed_or_renewed_meanwhile_makes_it_another_question(
    starts, monkeypatch, tmp_path
):
    monkeypatch.syspath_prepend(tmp_path)
    asked()
    for number, version in enumerate(("1", "2"), 2):
        folder = tmp_path / f"nvidia_of_tests-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Name: nvidia-of-tests\nVersion: {version}\n")
        asked()
        asked()
        assert starts() == number


def test_that_a_variable_that_does_not_matter_changes_nothing(starts):
    asked()

    assert asked(environment={"SHELL_LEVEL": "3"}).kept


def test_that_another_command_is_another_question():
    assert not asked().kept
    assert not asked("progress").kept


def test_that_an_answer_that_will_pass_is_not_kept(starts):
    assert asked("passing").value == {"passing": True}
    assert not asked("passing").kept
    assert starts() == 2


def test_that_another_python_s_answers_are_not_kept(tmp_path):
    (tmp_path / "python").symlink_to(sys.executable)
    command = [str(tmp_path / "python"), SCRIPT]

    assert not ask("devices", command=command, timeout=PATIENCE_S).kept
    assert not ask("devices", command=command, timeout=PATIENCE_S).kept


def test_that_answers_are_private():
    asked()
    [file] = answer_cache.folder().iterdir()

    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"{}", b'{"content": {}, "answer": {}}', b"\xff"]
)
def test_that_a_kept_answer_that_cannot_be_read_is_asked_for_again(content):
    asked()
    [file] = answer_cache.folder().iterdir()
    file.write_bytes(content)

    assert not asked().kept
    assert asked().kept


def test_that_what_was_answered_before_it_was_mended_is_asked_for_again(monkeypatch):
    monkeypatch.setattr(answer_cache, "FORMAT", 4)  # no libcusolver; elements of lists not counted
    asked()
    monkeypatch.undo()

    assert not asked().kept


def test_that_a_cache_that_cannot_be_written_is_no_error(isolated_home):
    answer_cache.folder().parent.parent.mkdir(parents=True)
    answer_cache.folder().parent.write_text("a file in the way")

    assert asked().value["question"] == "devices"


def test_that_only_the_newest_answers_are_kept(monkeypatch):
    monkeypatch.setattr(answer_cache, "MOST_KEPT", 2)
    for number in range(4):
        answer_cache.keep({"question": "devices", "number": number}, {"number": number})

    assert len(list(answer_cache.folder().iterdir())) == 2
    assert answer_cache.look_up({"question": "devices", "number": 3}) == {"number": 3}


def test_that_a_refusal_is_told_in_the_process_s_own_words():
    with pytest.raises(AskError, match="ImportError: no TensorFlow here"):
        asked("fail")


def test_that_a_crash_is_told_with_the_last_words():
    with pytest.raises(AskError, match="TensorFlow crashed") as raised:
        asked("crash")
    assert "F tensorflow: check failed" in raised.value.details


def test_that_an_end_without_an_answer_is_told():
    with pytest.raises(AskError, match=r"without an answer \(libfoo.so: cannot open\)"):
        asked("exit")


def test_that_a_process_that_hangs_is_given_up_and_gone(starts):
    with pytest.raises(AskError, match=r"nothing for 0\.3 s"):
        asked("hang", timeout=0.3)


def test_that_a_process_that_says_what_it_computes_is_waited_for_and_heard_once():
    told = []

    assert asked("compute", timeout=2.0, progress=told.append).value["question"] == "devices"
    assert told == ["computing"]


def test_that_asking_can_be_cancelled_while_it_waits():
    cancel = threading.Event()

    with pytest.raises(AskCancelledError):
        asked("hang", progress=lambda _text: cancel.set(), cancel=cancel)


def test_that_what_the_process_started_ends_with_it():
    assert asked("child").value["question"] == "devices"


def test_that_a_python_that_is_not_there_is_told():
    with pytest.raises(AskError, match="/nowhere/python could not be started"):
        ask("devices", command=["/nowhere/python"])


def test_that_the_trainer_s_own_python_is_asked(monkeypatch):
    assert ask_command() == [sys.executable, "-P", "-m", "gpu_studio.trainer.ask"]
    monkeypatch.setenv(TRAINER_VARIABLE, "numactl -N 0 /opt/python -m gpu_studio.trainer")
    assert ask_command() == ["numactl", "-N", "0", "/opt/python", "-m", "gpu_studio.trainer.ask"]
    monkeypatch.setenv(TRAINER_VARIABLE, f"{sys.executable} {Path(__file__)}")
    assert ask_command()[0] == sys.executable
