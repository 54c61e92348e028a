"""Tests of the leftover checks, on tests that leave each kind of thing and on tests that do not."""

from __future__ import annotations

from pathlib import Path

import pytest

PLUGINS = ("-p", "isolation", "-p", "hygiene", "-p", "no:cacheprovider")
QT = ("-p", "pytestqt.plugin")

pytestmark = pytest.mark.slow


@pytest.fixture
def run_test(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):
    """Run one test, given as text, in a pytest of its own under the two plugins."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    monkeypatch.setenv("HYGIENE_GRACE_S", "0.2")
    # To import all that is installed takes as long as all else that such a pytest does.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(text: str) -> pytest.RunResult:
        pytester.makepyfile(text)
        return pytester.runpytest_subprocess(*PLUGINS, *(QT if "PySide6" in text else ()))

    return run


def assert_left(result: pytest.RunResult, description: str) -> None:
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*the test left behind:*", f"*- {description}*"])


def test_that_a_tidy_test_passes(run_test):
    result = run_test(
        """
        import subprocess, tempfile, threading

        def test_tidy(tmp_path):
            thread = threading.Thread(target=lambda: None)
            thread.start()
            thread.join()
            subprocess.run(["true"], check=True)
            with tempfile.NamedTemporaryFile():
                (tmp_path / "kept.txt").write_text("pytest removes it")
        """
    )
    result.assert_outcomes(passed=1)


@pytest.mark.parametrize(("mark", "errors"), [("", 1), ("@pytest.mark.slow", 0)])
def test_that_only_a_slow_test_may_import_tensorflow(run_test, pytester, mark, errors):
    pytester.makepyfile(tensorflow="")
    result = run_test(
        f"""
        import pytest

        {mark}
        def test_imports():
            import tensorflow
        """
    )
    result.assert_outcomes(passed=1, errors=errors)
    assert ("the test imports TensorFlow" in result.stdout.str()) == bool(errors)


def test_that_a_running_thread_fails_the_test_and_is_traced_to_its_start(run_test):
    result = run_test(
        """
        import threading

        def test_leaves_a_thread():
            threading.Thread(target=threading.Event().wait, name="forgotten", daemon=True).start()
        """
    )
    assert_left(
        result,
        "thread 'forgotten', started at *test_that_a_running_thread*py:4 in test_leaves_a_thread*",
    )


def test_that_a_child_process_fails_the_test_and_is_killed(run_test, pytester):
    result = run_test(
        """
        import subprocess
        from pathlib import Path

        def test_leaves_a_process():
            child = subprocess.Popen(["sleep", "600"])
            Path("pid.txt").write_text(str(child.pid))
        """
    )
    pid = (pytester.path / "pid.txt").read_text()
    assert_left(result, f"process {pid}, 'sleep 600'")
    assert not Path(f"/proc/{pid}").exists()


def test_that_a_process_that_left_its_parent_is_found_by_its_home(run_test):
    result = run_test(
        """
        import subprocess, time, pytest
        from pathlib import Path

        @pytest.mark.slow
        def test_leaves_an_orphan():
            command = ["setsid", "sh", "-c", "sleep 601 >/dev/null 2>&1 & echo $!"]
            told = subprocess.run(command, check=True, capture_output=True, text=True)
            words = Path("/proc", told.stdout.strip(), "cmdline")
            while not words.read_bytes().startswith(b"sleep"):  # the shell's until it is replaced
                time.sleep(0.01)
        """
    )
    assert_left(result, "process *, 'sleep 601'")


def test_that_a_temporary_file_fails_the_test(run_test):
    result = run_test(
        """
        import tempfile

        def test_leaves_a_file():
            tempfile.mkstemp(suffix=".dat")
        """
    )
    assert_left(result, "temporary file */tmp/*.dat")


def test_that_an_unfinished_file_in_the_home_fails_the_test(run_test):
    result = run_test(
        """
        from pathlib import Path

        def test_leaves_half_a_file():
            (Path.home() / ".tmp-plan.toml").touch()
        """
    )
    assert_left(result, "temporary file */home/.tmp-plan.toml")


def test_that_what_a_wider_fixture_holds_is_not_the_tests(run_test):
    result = run_test(
        """
        import subprocess, threading, pytest

        @pytest.fixture(scope="module")
        def held():
            done = threading.Event()
            thread = threading.Thread(target=done.wait)
            thread.start()
            with subprocess.Popen(["sleep", "602"]) as child:
                yield
                child.kill()
            done.set()
            thread.join()

        def test_uses_it(held):
            pass
        """
    )
    result.assert_outcomes(passed=1)


def test_that_a_failing_test_is_told_once_and_cleared_away(run_test, pytester):
    result = run_test(
        """
        import subprocess
        from pathlib import Path

        def test_fails():
            child = subprocess.Popen(["sleep", "603"])
            Path("pid.txt").write_text(str(child.pid))
            assert False
        """
    )
    result.assert_outcomes(failed=1)
    assert not Path("/proc", (pytester.path / "pid.txt").read_text()).exists()


def test_that_tidy_windows_timers_and_threads_pass(run_test):
    result = run_test(
        """
        from PySide6.QtCore import QThread, QTimer
        from PySide6.QtWidgets import QLabel

        def test_tidy(qtbot):
            label = QLabel("closed by qtbot")
            qtbot.addWidget(label)
            label.show()
            timer = QTimer(label, interval=10)
            timer.start()
            thread = QThread(label)
            thread.start()
            thread.quit()
            assert thread.wait()

        def test_that_windows_nobody_holds_are_gone(qapp):
            QLabel("collected").show()
        """
    )
    result.assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("line", "description"),
    [
        (
            "kept = QLabel(); kept.setObjectName('stray')",
            "window PySide6.QtWidgets.QLabel 'stray', title ''",
        ),
        (
            "kept = QTimer(qapp, objectName='tick'); kept.start(250)",
            "running timer *QTimer 'tick' of *, every 250 ms",
        ),
        ("kept = QThread(objectName='worker'); kept.start()", "running thread *QThread 'worker'"),
    ],
    ids=["window", "timer", "thread"],
)
def test_that_what_stays_in_qt_fails_the_test(run_test, line, description):
    result = run_test(
        f"""
        from PySide6.QtCore import QThread, QTimer
        from PySide6.QtWidgets import QLabel

        def test_leaves_it(qapp):
            global kept
            {line}
        """
    )
    assert_left(result, description)


def test_that_a_file_that_imports_tensorflow_before_the_first_test_is_refused(run_test, pytester):
    pytester.makepyfile(tensorflow="")
    result = run_test(
        """
        import tensorflow

        def test_nothing():
            pass
        """
    )
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*a test file imports TensorFlow as it is collected*"])


def test_that_a_key_that_a_test_holds_is_let_go_of_before_the_next(run_test):
    result = run_test(
        """
        from PySide6.QtCore import Qt
        from PySide6.QtWidgets import QWidget

        def test_holds_shift(qtbot, qapp):
            widget = QWidget()
            qtbot.addWidget(widget)
            qtbot.keyClick(widget, Qt.Key.Key_F, Qt.KeyboardModifier.ShiftModifier)
            assert qapp.keyboardModifiers() == Qt.KeyboardModifier.ShiftModifier

        def test_holds_nothing(qapp):
            assert qapp.keyboardModifiers() == Qt.KeyboardModifier.NoModifier
        """
    )
    result.assert_outcomes(passed=2)
