"""What supervisor and member write for each other where they share nothing but a folder."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from gpu_studio.trainer.cluster import mail
from gpu_studio.trainer.cluster.channel import Begin, Gone, Here, Leave, Present
from gpu_studio.trainer.cluster.mail import Mail


def ends(folder: Path, patience: float | None = None) -> tuple[Mail, Mail]:
    mine, other = folder / "asked.jsonl", folder / "said.jsonl"
    return Mail(mine, other), Mail(other, mine, patience)


def test_that_both_ends_hear_what_the_other_says_once_and_in_order(tmp_path: Path) -> None:
    supervisor, member = ends(tmp_path)
    here = Here(7, "n0", "n0", ["10.0.0.1"], 4000, {"TensorFlow": "2.21.0"})
    member.say(here)
    assert supervisor.new() == [here]
    assert supervisor.new() == []
    supervisor.say(Begin())
    supervisor.say(Leave())
    assert list(member.hear()) == [Begin(), Leave()]


def test_that_the_last_word_of_a_shell_is_heard_behind_a_line_that_was_cut(tmp_path: Path) -> None:
    supervisor, _member = ends(tmp_path)
    (tmp_path / "said.jsonl").write_text('{"type":"beat","st\n{"type":"gone","status":137}\n')
    assert supervisor.new() == [Gone(137)]


def test_that_lines_that_nobody_can_have_said_are_passed_over(tmp_path: Path) -> None:
    supervisor, _member = ends(tmp_path)
    odd = (b'{"type":' + b"[" * 100_000, b'{"type":"gone","status":' + b"9" * 5000 + b"}", b"\xff")
    (tmp_path / "said.jsonl").write_bytes(b"\n".join((*odd, b'{"type":"gone","status":1}\n')))
    assert supervisor.new() == [Gone(1)]


def test_that_what_a_full_disk_refuses_is_said_later_and_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervisor, member = ends(tmp_path)
    append = mail.append_line

    def full(_path: Path, _line: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(mail, "append_line", full)
    member.say(Gone(1))
    assert supervisor.new() == []
    monkeypatch.setattr(mail, "append_line", append)
    member.say(Leave())
    assert supervisor.new() == [Gone(1), Leave()]


def test_that_a_member_gives_up_a_supervisor_that_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(mail.time, "monotonic", lambda: now)
    supervisor, member = ends(tmp_path, patience=60)
    now += 59
    supervisor.say_present()
    assert (member.new(), member.closed) == ([Present()], False)
    supervisor.say_present()
    assert member.new() == [], "it is said now and then only"
    now += 61
    assert (member.new(), member.closed) == ([], True)
    assert not member.say(Leave())


def test_that_a_member_is_more_patient_once_it_has_been_told_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(mail.time, "monotonic", lambda: now)
    _supervisor, member = ends(tmp_path, patience=60)
    now += 59
    member.be_patient(180)
    now += 179
    assert (member.new(), member.closed) == ([], False)
    now += 2
    assert (member.new(), member.closed) == ([], True)
