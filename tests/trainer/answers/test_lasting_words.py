"""What is said while a deep model is looked at, which may take minutes."""

from __future__ import annotations

import threading

import pytest
from patience import PATIENCE_S

from gpu_studio.trainer.answers import layers


class Listener:
    """Hears words, and notes when one was heard three times."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.thrice = {text: threading.Event() for text in ("looking", "rehearsing")}

    def hear(self, text: str) -> None:
        self.said.append(text)
        if self.said.count(text) == 3:
            self.thrice[text].set()


@pytest.fixture
def words(monkeypatch):
    """Words that are said again soon, and who hears them."""
    monkeypatch.setattr(layers, "AGAIN_S", 0.001)
    listener = Listener()
    words = layers.LastingWords(listener.hear)
    yield words, listener
    words.end()


def test_that_what_is_computed_is_said_again_until_it_has_ended(words) -> None:
    said, listener = words
    for text in listener.thrice:
        said.say(text)
        assert listener.thrice[text].wait(PATIENCE_S)
    said.end()
    assert listener.said == sorted(listener.said), "nothing is said of what has ended"


def test_that_nobody_who_listens_any_more_ends_the_words(monkeypatch, recwarn) -> None:
    monkeypatch.setattr(layers, "AGAIN_S", 0.001)
    gone = threading.Event()

    def broken(_text: str) -> None:
        if threading.current_thread() is not threading.main_thread():
            gone.set()
            raise BrokenPipeError

    words = layers.LastingWords(broken)
    words.say("looking")
    assert gone.wait(PATIENCE_S)
    words.say("rehearsing")
    words.end()
    assert not recwarn.list
