"""The kept results of all benchmarks, read in the background, and which of them is looked at."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from gpu_studio.common.figures import moment, plural
from gpu_studio.lab.benchmarks import BENCHMARKS
from gpu_studio.runs.benchmarks import (
    KeptResult,
    delete_result,
    kept_results,
    restore_result,
)
from gpu_studio.ui.kit import UNDO, BackgroundTask, Notice


class ResultShelf(QObject):
    """`changed` fires when the results are others. A result without a file has an empty path."""

    changed = Signal()

    def __init__(self, notice: Notice, parent: QObject) -> None:
        super().__init__(parent)
        self._notice = notice
        self._results: dict[str, list[KeptResult]] = {}
        self._chosen: dict[str, KeptResult] = {}
        self._without_file: list[KeptResult] = []
        self._deleted: list[tuple[Path, str]] = []
        """Where those lie that can be taken back, and what they are called, the last one last."""
        self.reading = BackgroundTask("results of benchmarks", self)
        """Reads the results that are kept in files."""
        self.reading.done.connect(self._take)

    def of(self, benchmark: str) -> list[KeptResult]:
        """The results of a benchmark, the newest first."""
        return self._results.get(benchmark, [])

    def chosen(self, benchmark: str) -> KeptResult | None:
        """The result of a benchmark that is looked at: the newest, unless another was chosen."""
        results = self.of(benchmark)
        wanted = self._chosen.get(benchmark)
        return next((each for each in results if each == wanted), next(iter(results), None))

    def choose(self, result: KeptResult) -> None:
        """Look at this one from now on."""
        self._chosen[result.benchmark] = result

    def add(self, result: KeptResult) -> None:
        """Have a new result, and look at it. One without a file is kept while this object lives."""
        self._without_file = [each for each in self._without_file if each.result != result.result]
        if result.path == Path():
            self._without_file.append(result)
        known = [each for each in self.of(result.benchmark) if each.result != result.result]
        self._results[result.benchmark] = [result, *known]
        self._chosen.pop(result.benchmark, None)
        self._read_anew()

    def read(self) -> None:
        """Read the folder of results."""
        self.reading.start(_read)

    def delete(self, result: KeptResult) -> None:
        """Move a result to the trash, and offer to take it back."""
        if result.path == Path():
            self._without_file = [each for each in self._without_file if each is not result]
            self._drop(result)
            return
        try:
            trashed = delete_result(result)
        except OSError as error:
            why_not = error.strerror or str(error)
            self._notice.say(f"{result.name} cannot be deleted: {why_not}.", "bad")
            return
        self._drop(result)
        which = moment(result.result.begun) if result.result is not None else result.name
        self._deleted.append((trashed, which))
        self._offer(f"The result of {which} was deleted.")

    def _offer(self, words: str) -> None:
        """Offer to take back the last that was deleted: there is no other way to it here."""
        more = len(self._deleted) - 1
        if more:
            words += f" {plural(more, 'result')} deleted before can be taken back after it."
        self._notice.say(words, label=UNDO, action=self._restore, stays=True)

    def close(self) -> None:
        """Stop reading."""
        self.reading.close()

    def _drop(self, result: KeptResult) -> None:
        of_kind = self._results.get(result.benchmark, [])
        self._results[result.benchmark] = [each for each in of_kind if each is not result]
        self._read_anew()
        self.changed.emit()

    def _read_anew(self) -> None:
        """Hear nothing of a reading that began before the folder was changed."""
        if self.reading.busy:
            self.read()

    def _restore(self) -> None:
        trashed, which = self._deleted.pop()
        try:
            restore_result(trashed)
        except OSError as error:
            self._notice.say(f"It cannot be taken back: {error.strerror or error}.", "bad")
        else:
            if self._deleted:
                back, (_, which) = which, self._deleted[-1]
                self._offer(f"The result of {back} is back. That of {which} is still deleted.")
        self.read()

    def _take(self, found: tuple[list[KeptResult], str]) -> None:
        results, why_not = found
        if why_not:
            self._notice.say(why_not, "bad", about="benchmarks")
        every = [*reversed(self._without_file), *results]
        by_kind = {name: [each for each in every if each.benchmark == name] for name in BENCHMARKS}
        if by_kind != {name: self.of(name) for name in BENCHMARKS}:
            self._results = by_kind
            self.changed.emit()


def _read() -> tuple[list[KeptResult], str]:
    try:
        return kept_results(), ""
    except OSError as error:
        return [], f"The results of benchmarks cannot be read: {error.strerror or error}."
