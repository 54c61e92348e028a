"""A test that is left to `make whole` names a shorter one, which `make test` runs."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SHORT = "def test_that_it_is_short(): pass"
LONG = """
import pytest
@pytest.mark.whole({names})
def test_that_it_is_long(): pass
"""


@pytest.fixture
def collected(pytester, monkeypatch):
    """Collects a long test that names these files, beside a short one in `test_short.py`."""

    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def collect(names: str, *words: str, **files: str) -> pytest.RunResult:
        pytester.makeini("[pytest]\nmarkers = whole(shorter): left to make whole")
        pytester.makepyfile(**{"test_short": SHORT, "test_long": LONG.format(names=names)} | files)
        return pytester.runpytest_subprocess("-p", "long_proofs", *words)

    return collect


def test_that_a_long_test_names_a_shorter_one_and_both_can_run(collected):
    collected("'test_short.py'").assert_outcomes(passed=2)
    collected("'test_short.py'", "-m", "not whole").assert_outcomes(passed=1, deselected=1)
    collected("'test_short.py'", "test_long.py").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("names", "says"),
    [
        ("", "name the shorter test, whole(FILE)."),
        ("'test_none.py'", "test_none.py, does not exist."),
        ("'test_short.py', 'test_none.py'", "test_none.py, does not exist."),
        ("'test_long.py'", "`make test` runs nothing of"),
    ],
)
def test_that_one_without_a_shorter_test_is_refused(collected, names, says):
    done = collected(names)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert says in done.stderr.str()
