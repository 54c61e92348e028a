"""Ask TensorFlow a short question, in a trainer process: no other process may load TensorFlow."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from gpu_studio.common.processes import Interrupts, held_interrupts
from gpu_studio.runs.launch import trainer_command, trainer_environment
from gpu_studio.runs.questions import answer_cache

MOST_CHATTER = 65536
LAST_WORDS = 4000


class Answering:
    """Collects the process's output, in any pieces. `answer` is None until complete.

    Then `ended` is set.
    """

    def __init__(
        self,
        progress: Callable[[str], None],
        part: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        self.answer: dict[str, Any] | None = None
        self.lasting = False
        self.ended = False
        self.code: int | None = None
        self._progress, self._part = progress, part or _nobody
        self._error = ""
        self._waited_for = ""
        self._cut = b""
        self._chatter = b""

    def take_answer(self, data: bytes) -> None:
        """Process more of the answer's descriptor; empty means its end."""
        if not data:
            self.ended = True
        *lines, self._cut = (self._cut + data).split(b"\n")
        for line in lines:
            # Anything after the answer, or the refusal, is ignored.
            if self.answer is None and not self._error:
                self._take_line(line)

    def take_chatter(self, data: bytes) -> None:
        """Process more of its stderr, of which the end is kept."""
        self._chatter = (self._chatter + data)[-MOST_CHATTER:]

    def last_words(self) -> str:
        """The end of its stderr."""
        return self._chatter.decode("utf-8", "replace")[-LAST_WORDS:].strip()

    @property
    def crashed(self) -> bool:
        """Whether a signal ended the process before it could say anything."""
        return not self._error and self.code is not None and self.code < 0

    def why_not(self) -> str:
        """Why there is no answer, in a sentence."""
        if self._error:
            return self._error
        if self.code is not None and self.code < 0:
            return f"TensorFlow crashed ({signal.strsignal(-self.code) or f'signal {-self.code}'})"
        last = self.last_words().splitlines()[-1:]
        return (
            "TensorFlow's process ended without an answer "
            f"({last[0][:300] if last else f'exit code {self.code}'})"
        )

    def _take_line(self, line: bytes) -> None:
        try:
            reported = json.loads(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(reported, dict):
            return
        if "progress" in reported:
            self._take_progress(str(reported["progress"]))
        elif isinstance(reported.get("part"), dict):
            self._part(reported["part"])
        elif isinstance(reported.get("answer"), dict):
            self.answer, self.lasting, self.ended = (
                reported["answer"],
                reported.get("lasting") is True,
                True,
            )
        elif "error" in reported:
            self._error, self.ended = str(reported["error"]), True

    def _take_progress(self, text: str) -> None:
        """Pass on what is being waited for; it is said again while that lasts."""
        if text != self._waited_for:
            self._waited_for = text
            self._progress(text)


TRAINER, ASKER = "gpu_studio.trainer", "gpu_studio.trainer.ask"
LOOK_EVERY = 0.1
"""Seconds between looks whether the asking was cancelled, or broken off by Ctrl+C."""
LONGEST_DYING = 5.0
CHUNK = 65536


class AskError(Exception):
    """TensorFlow gave no answer: why, in a sentence.

    `details` is the end of what its process wrote to stderr.
    """

    def __init__(self, message: str, details: str = "") -> None:
        super().__init__(message)
        self.details = details


class AskCancelledError(AskError):
    """The caller cancelled the question."""


class AskCrashedError(AskError):
    """The process was ended by a signal before it had answered, such as for want of memory."""


@dataclass(frozen=True, slots=True)
class Answer:
    """TensorFlow's answer, as JSON values, and whether it comes from the cache."""

    value: dict[str, Any]
    kept: bool = False


def ask(
    question: str,
    *,
    about: Mapping[str, Any] | None = None,
    command: Sequence[str] | None = None,
    environment: Mapping[str, str] | None = None,
    timeout: float = 300.0,
    fresh: bool = False,
    progress: Callable[[str], None] | None = None,
    part: Callable[[dict[str, Any]], None] | None = None,
    cancel: threading.Event | None = None,
) -> Answer:
    """Ask `question` (`devices`, `data`, `model`), and give up after `timeout` seconds of silence.

    Each word of progress begins them anew. `about` is the subject of the question, as JSON values.
    An answer is cached until that, the machine or the installation changes, and reused unless
    `fresh`. `progress` is called in this thread with what is being waited for, `part` with what is
    answered already; set `cancel` from another to give up. `environment` is added to this process's
    own. `command` is the command line to which the question is appended, by default that of the
    trainer.

    Raises AskError if there is no answer, and AskCancelledError; no process is left behind. Neither
    is one after Ctrl+C, which raises KeyboardInterrupt here once the process is gone.
    """
    asker, added = list(command or ask_command()), dict(environment or {})
    # The packages of another Python are not known here, so its answers are never cached.
    key = content_of(question, asker, added, about) if asker[0] == sys.executable else None
    if key and not fresh and (known := answer_cache.look_up(key)):
        return Answer(known, kept=True)
    with _written(about) as descriptors, held_interrupts() as interrupts:
        reported = [word for number in descriptors for word in ("--about", str(number))]
        asked = _Asked([*asker, question, *reported], added, descriptors)
        answering = Answering(progress or _nobody, part)
        _converse(asked, timeout, answering, _Breaks(cancel, interrupts))
    if answering.answer is None:
        kind = AskCrashedError if answering.crashed else AskError
        raise kind(answering.why_not(), answering.last_words())
    if key and answering.lasting:
        answer_cache.keep(key, answering.answer)
    return Answer(answering.answer)


def kept(
    question: str,
    about: Mapping[str, Any] | None = None,
    command: Sequence[str] | None = None,
) -> dict[str, Any] | None:
    """The cached answer of an earlier `ask`, if it is still valid; else None. Starts no process."""
    asker = list(command or ask_command())
    return (
        answer_cache.look_up(content_of(question, asker, {}, about))
        if asker[0] == sys.executable
        else None
    )


def ask_command() -> list[str]:
    """The command line of the trainer that answers questions, without the question.

    If `$GPU_STUDIO_TRAINER` names a trainer, its Python is asked, because its TensorFlow will
    train.
    """
    trainer = trainer_command()
    if trainer[-1] == TRAINER:
        return [*trainer[:-1], ASKER]
    return [sys.executable, "-P", "-m", ASKER]


@dataclass(frozen=True, slots=True)
class _Asked:
    """The process to start: command line, additions to its environment, descriptors it inherits."""

    command: list[str]
    added: dict[str, str]
    descriptors: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Breaks:
    """What interrupts the question: the caller, or Ctrl+C."""

    cancel: threading.Event | None
    interrupts: Interrupts | None

    def check(self) -> None:
        """Raises AskCancelledError, or KeyboardInterrupt."""
        if self.cancel is not None and self.cancel.is_set():
            raise AskCancelledError("the question to TensorFlow was cancelled")
        if self.interrupts is not None and self.interrupts.came:
            raise KeyboardInterrupt


def content_of(
    question: str, command: list[str], added: dict[str, str], about: Mapping[str, Any] | None
) -> dict[str, Any]:
    """What the answer to a question `about` something is kept under, by `answer_cache`."""
    content = answer_cache.content(question, command, {**os.environ, **added})
    return content if about is None else {**content, "about": dict(about)}


@contextmanager
def _written(about: Mapping[str, Any] | None) -> Iterator[tuple[int, ...]]:
    """The descriptor of an unnamed file that holds `about`: it cannot fill up or be left behind."""
    if about is None:
        yield ()
        return
    with tempfile.TemporaryFile() as file:
        file.write(json.dumps(about).encode())
        file.seek(0)
        yield (file.fileno(),)


def _nobody(_answer: Any) -> None:
    return


def _converse(asked: _Asked, timeout: float, answering: Answering, breaks: _Breaks) -> None:
    reading, writing = os.pipe()
    try:
        process = _start(asked, writing)
    except OSError as error:
        os.close(reading)
        raise AskError(f"{asked.command[0]} could not be started: {error.strerror}") from error
    finally:
        os.close(writing)
    try:
        _listen(process, reading, answering, timeout, breaks)
        answering.code = process.wait(LONGEST_DYING)
        answering.take_chatter(_rest(process))
    except TimeoutError as error:
        raise AskError(
            f"TensorFlow said nothing for {timeout:g} s", answering.last_words()
        ) from error
    except subprocess.TimeoutExpired:
        return  # it has answered and merely does not end, which does not matter
    finally:
        os.close(reading)
        _end(process)


def _start(asked: _Asked, writing: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*asked.command, "--to", str(writing)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=trainer_environment(asked.added),
        pass_fds=(writing, *asked.descriptors),
        start_new_session=True,
    )


def _listen(
    process: subprocess.Popen[bytes],
    reading: int,
    answering: Answering,
    timeout: float,
    breaks: _Breaks,
) -> None:
    """Read both the answer and stderr until the answer is complete or its descriptor is closed.

    Raises TimeoutError if nothing comes of the answer, nor of its progress, for so many seconds.
    """
    heard = time.monotonic()
    with selectors.DefaultSelector() as selector:
        selector.register(reading, selectors.EVENT_READ, answering.take_answer)
        if process.stderr is not None:
            selector.register(process.stderr, selectors.EVENT_READ, answering.take_chatter)
        while not answering.ended:
            breaks.check()
            if time.monotonic() >= heard + timeout:
                raise TimeoutError
            for key, _ in selector.select(LOOK_EVERY):
                data = os.read(key.fd, CHUNK)
                key.data(data)
                if key.fd == reading:
                    heard = time.monotonic()
                if not data:
                    selector.unregister(key.fileobj)


def _rest(process: subprocess.Popen[bytes]) -> bytes:
    """The rest of stderr, without waiting for processes that may have inherited it."""
    if process.stderr is None:
        return b""
    os.set_blocking(process.stderr.fileno(), False)
    with suppress(BlockingIOError):
        return os.read(process.stderr.fileno(), CHUNK)
    return b""


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and all that it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(LONGEST_DYING)
    for stream in (process.stdin, process.stderr):
        if stream is not None:
            stream.close()
