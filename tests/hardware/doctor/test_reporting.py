"""The report, for people and for programs, and the process that makes it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import asdict, replace

import pytest
from made_facts import BARE, VIEW, WELL, with_card, with_survey, with_view
from made_topologies import switched
from patience import PATIENCE_S

from gpu_studio.contract.samples import CardFacts, Cards, Fast, FastFigures, encode
from gpu_studio.hardware.doctor import as_json, gather, judge, lines
from gpu_studio.hardware.doctor.examination import finding_lines
from gpu_studio.hardware.doctor.facts import ViewError, tensorflow_view
from gpu_studio.hardware.doctor.findings import Finding

pytestmark = pytest.mark.processes

COMMAND = [sys.executable, "-m", "gpu_studio.hardware.doctor"]


def run(*arguments, **environment):
    return subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env={**os.environ, **environment},
    )


def test_that_the_text_has_a_mark_a_title_and_what_to_type():
    text = lines(judge(with_card(persistent=False)))

    assert re.search(r"^✔ TensorFlow +TensorFlow 2\.21\.0", text, re.M)
    assert re.search(r"^! GPU 0 \(H100\) +Persistence mode is off", text, re.M)
    assert "sudo nvidia-smi -pm 1" in text
    assert text.endswith("Nothing must be mended.")


def test_that_the_end_counts_what_must_be_mended():
    assert lines(judge(WELL)).endswith("All is well.")
    bad = with_card(capability=(12, 0))
    assert lines(judge(bad)).endswith("1 thing must be mended (✘).")
    assert not judge(bad).well
    assert lines(judge(replace(bad, tensorflow=None, why_no_tensorflow="no"))).endswith(
        "must be mended (✘)."
    )


@pytest.mark.parametrize("width", [20, 60, 200])
def test_that_what_is_to_be_typed_stays_on_one_line(width):
    build = replace(VIEW.build, capabilities=("compute_80",))
    text = lines(judge(with_view(with_card(capability=(9, 0)), build=build)), width)

    typed = [line for line in text.splitlines() if "export" in line]
    assert [line.strip() for line in typed] == ["export CUDA_CACHE_MAXSIZE=4294967296"]
    # A title, a mark and 30 columns are needed in any case.
    assert all(len(line) <= max(width, 60) for line in text.splitlines() if line not in typed)


def test_that_several_cards_are_shown_with_their_matrix():
    text = lines(judge(with_survey(topology=switched())))

    assert "NV18" in text
    assert "GPU7" in text


def test_that_programs_get_the_same_as_people():
    document = json.loads(json.dumps(as_json(judge(with_survey(topology=switched())))))

    assert document["well"] is True
    assert document["cards"][0] | {"name": ""} == {
        "uuid": "GPU-a", "bus_id": "0000:01:00.0", "name": "", "nvml_index": 0, "cuda_ordinal": 0,
        "tensorflow_index": 0, "tensorflow_name": "GPU:0",
    }  # fmt: skip
    assert set(document["findings"][0]) == {
        "check",
        "state",
        "title",
        "found",
        "mend",
        "device",
        "number",
    }
    assert document["topology"]["joints"][0]["nvlinks"] == 18
    assert document["advice"]["all_reduce"] == "nccl"
    assert as_json(judge(BARE))["advice"] is None


def test_that_what_has_no_end_is_cut_for_people_and_whole_for_programs():
    endless = Finding("slurm", "bad", "Slurm", "x" * 100_000)
    assert len(" ".join(finding_lines([endless], 80))) < 10_000
    assert endless.as_json()["found"] == endless.found == "x" * 100_000


def test_that_an_answer_of_tensorflow_s_is_read_back_as_it_was():
    assert tensorflow_view(json.loads(json.dumps(asdict(VIEW)))) == VIEW


@pytest.mark.parametrize("answer", [{}, {"tensorflow": 3}, {"tensorflow": "2", "physical": [{}]}])
def test_that_an_answer_that_is_none_is_refused_and_becomes_a_finding(answer):
    with pytest.raises(ViewError):
        tensorflow_view(answer)
    assert "does not tell" in gather(None, answer).why_no_tensorflow


def test_that_the_process_on_this_machine_says_the_same_twice(tmp_path):
    done, again = run("--json", "--runs-dir", tmp_path), run("--runs-dir", tmp_path)
    document = json.loads(done.stdout)

    assert (done.stderr, again.stderr) == ("", "")
    assert done.returncode == again.returncode == (0 if document["well"] else 1)
    assert {finding["check"] for finding in document["findings"]} >= {"card", "room"}


def test_that_the_process_takes_tensorflow_s_answer_from_a_file(tmp_path):
    (tmp_path / "view.json").write_text(json.dumps(asdict(VIEW)))
    document = json.loads(run("--json", "--tensorflow", tmp_path / "view.json").stdout)
    assert document["tensorflow"]["tensorflow"] == "2.21.0"

    (tmp_path / "view.json").write_text("[]")
    refused = run("--tensorflow", tmp_path / "view.json")
    assert (refused.returncode, "Traceback" in refused.stderr) == (2, False)
    assert run("--tensorflow", tmp_path / "none.json").returncode == 2
    assert run("--nonsense").returncode == 2


def test_that_a_simulated_machine_can_be_examined():
    document = json.loads(run("--json", GPU_STUDIO_SIMULATE="2xH100").stdout)

    assert document["findings"][0]["check"] == "simulation"
    assert [card["nvml_index"] for card in document["cards"]] == [0, 1]
    nonsense = run(GPU_STUDIO_SIMULATE="nonsense")
    assert (nonsense.returncode, nonsense.stderr) == (1, "")
    assert "no simulated machine 'nonsense'" in nonsense.stdout


def test_that_a_recorded_machine_can_be_examined(tmp_path):
    path = tmp_path / "evening.jsonl"
    cards = Cards(
        time=1.0,
        cards=[
            CardFacts(
                card="GPU-a", uuid="GPU-a", name="H100", bus_id="0000:01:00.0", total_mib=1024
            )
        ],
    )
    figures = Fast(time=1.0, cards=[FastFigures(card="GPU-a", memory_used_mib=1000)])
    path.write_bytes(encode(cards).rstrip() + b"\n" + encode(figures).rstrip() + b"\n")
    document = json.loads(run("--json", GPU_STUDIO_SIMULATE=str(path)).stdout)

    assert {finding["check"]: finding["state"] for finding in document["findings"]} == {
        "simulation": "warning", "card": "good", "memory": "warning",
    }  # fmt: skip
    path.write_text("{}")
    assert "is no recording" in run("--json", GPU_STUDIO_SIMULATE=str(path)).stdout


def test_that_what_is_the_same_of_several_cards_is_said_once():
    cards = [
        replace(WELL.survey.cards[0], index=number, uuid=f"GPU-{number}", persistent=False)
        for number in range(4)
    ]
    alike = with_survey(WELL, cards=tuple(cards))
    assert lines(judge(alike)).count("Persistence mode is off") == 1
    assert re.search(r"^! GPU 0 to 3 \(H100\) +Persistence mode is off", lines(judge(alike)), re.M)
    assert sum(each["check"] == "persistence" for each in as_json(judge(alike))["findings"]) == 4
    cards[2] = replace(cards[2], persistent=True)
    assert re.search(
        r"^! GPU 0, 1 and 3 \(H100\) +Persistence",
        lines(judge(with_survey(WELL, cards=tuple(cards)))),
        re.M,
    )
    cards[1] = replace(cards[1], name="L4")
    text = lines(judge(with_survey(WELL, cards=tuple(cards))))
    assert re.search(r"^! GPU 0 and 3 \(H100\) +Persistence", text, re.M)
    assert re.search(r"^! GPU 1 \(L4\) +Persistence", text, re.M)
