"""The doctor in its processes, over a real shared library in the place of the driver's."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from made_facts import the
from nvml_library import (
    CRASH,
    HANG,
    LOST,
    MISMATCH,
    NO_PERMISSION,
    NvmlLibrary,
    build,
    compiler,
    with_library,
)
from patience import PATIENCE_S

from gpu_studio.hardware.doctor import Finding, examine
from gpu_studio.hardware.doctor.examination import take_survey
from gpu_studio.hardware.doctor.facts import Facts, Survey

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(
        compiler() is None, reason="there is no C compiler to build the library with"
    ),
]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def library(built, tmp_path, monkeypatch):
    made = NvmlLibrary(built, tmp_path / "control")
    for name, value in with_library(made).items():
        monkeypatch.setenv(name, value)
    yield made
    made.close()


def found(timeout: float = PATIENCE_S) -> tuple[Survey, list[Finding]]:
    survey = take_survey(timeout)
    return survey, examine(Facts(survey=survey))


def test_that_the_cards_of_the_library_are_told(library):
    survey, findings = found()

    assert [card.index for card in survey.cards] == [0, 1]
    assert (
        len({card.uuid for card in survey.cards})
        == len({card.bus_id for card in survey.cards})
        == 2
    )
    assert the(findings, "driver").state == "good"


def test_that_a_lost_card_is_told_and_the_other_goes_on(library):
    library.fail("nvmlDeviceGetHandleByIndex_v2", LOST, card=1)
    survey, findings = found()

    assert survey.cards[0].uuid
    assert "lost" in survey.cards[1].why_unknown
    assert the(findings, "answers").state == "bad"


@pytest.mark.parametrize(
    ("code", "told"),
    [(MISMATCH, "restart the machine"), (NO_PERMISSION, "no permission"), (CRASH, "crash")],
)
def test_that_a_driver_that_does_not_start_is_bad_and_says_why(library, code, told):
    library.fail("nvmlInitWithFlags", code)
    survey, findings = found()

    assert told in survey.why_no_answer
    assert (the(findings, "driver").state, told in the(findings, "driver").found) == ("bad", True)


def test_that_a_call_that_hangs_is_given_up(library):
    library.fail("nvmlDeviceGetMemoryInfo_v2", HANG)
    library.fail("nvmlDeviceGetMemoryInfo", HANG)

    assert "did not answer within 1 s" in found(timeout=1.0)[0].why_no_answer


@pytest.mark.parametrize("cards", [0, 16])
def test_that_any_number_of_cards_is_told(library, cards):
    library.set_cards(cards)
    survey, _ = found()

    assert len(survey.cards) == cards
    assert survey.why_no_answer == ""
    assert len(list(survey.topology.pairs())) == cards * (cards - 1) // 2


def test_that_the_whole_command_says_what_must_be_mended(library):
    library.fail("nvmlInitWithFlags", MISMATCH)
    done = subprocess.run(
        [sys.executable, "-m", "gpu_studio.hardware.doctor", "--json"],
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    document = json.loads(done.stdout)

    assert (done.returncode, done.stderr, document["well"]) == (1, b"", False)
    assert [f["mend"] for f in document["findings"] if f["check"] == "driver"] != [[]]
