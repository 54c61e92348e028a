"""The line that says what TensorFlow is being asked, or why there is no answer.

It offers what can be done about it.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from gpu_studio.runs.own_code import not_looked_into
from gpu_studio.ui.kit.note import Note
from gpu_studio.ui.kit.notice import Tone
from gpu_studio.ui.kit.sentences import sentence
from gpu_studio.ui.plan.plan_facts import FactsReader


class FactsBar(Note):
    """Hidden while there is nothing to say. Its button cancels the question, or asks it again.

    If the question may not be asked, the button offers to allow the Python file that prevents it;
    with `offers_consent` False, only the reason is shown.
    """

    def __init__(
        self, what: str, parent: QWidget | None = None, *, offers_consent: bool = True
    ) -> None:
        super().__init__(parent)
        self._what = what
        self._offers_consent = offers_consent
        self._reader: FactsReader | None = None
        self._error = ""
        self.more.setToolTip("Show the traceback, which can be copied")
        self.more.clicked.connect(self._read)

    def show_reader(
        self,
        reader: FactsReader,
        error: str = "",
        advice: Sequence[str] = (),
        *,
        known: bool = False,
    ) -> None:
        """Show the reader's progress, unless what was asked is `known`.

        `error` and `advice` are what it was told instead of an answer.
        """
        self._reader, self._error = reader, error
        self.more.setVisible(bool(error and reader.details) and not reader.asking)
        if known:
            self.hide()
        elif reader.withheld:
            offer = "Allow…" if self._offers_consent else ""
            self._say(sentence(not_looked_into(reader.withheld)), "plain", offer)
        elif reader.unnamed:
            self._say(f"Nothing is known of {self._what} before every file is named.", "plain", "")
        elif reader.asking:
            waiting = reader.waiting_for or f"reading {self._what}"
            self._say(sentence(waiting).rstrip(".") + "…", "plain", "Cancel")
        elif reader.error:
            self._say(sentence(reader.error), "bad", "Try again")
        elif error:
            self._say(" ".join(sentence(each) for each in (error, *advice)), "bad", "Try again")
        else:
            self._say(f"Nothing is known of {self._what} yet.", "plain", "Ask TensorFlow")

    def _say(self, text: str, tone: Tone, label: str) -> None:
        self.say(text, tone, label, self._ask_or_cancel)
        self.button.setAccessibleName(f"{label}: {self._what}")

    def _ask_or_cancel(self) -> None:
        if self._reader is None:
            return
        if self._reader.withheld:
            self._reader.consent_wanted.emit(self._reader.withheld[0])
        elif self._reader.asking:
            self._reader.cancel()
        else:
            self._reader.retry()

    def _read(self) -> None:
        # Imported when it is first opened, so that it does not delay the window's start.
        from gpu_studio.ui.kit.asking.dialogs import TraceDialog

        if self._reader is not None:
            TraceDialog(
                sentence(self._error), self._reader.details, self._reader.failed_code, self.window()
            ).show()
