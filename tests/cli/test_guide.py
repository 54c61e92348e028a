"""`gpu-studio guide`: pages, parts, keys of a plan, and what is found."""

from __future__ import annotations

import json
import re

import pytest

from gpu_studio.cli import main
from gpu_studio.common.guide import guide
from gpu_studio.plan.keys import all_keys


@pytest.mark.parametrize(
    ("place", "begins"),
    [
        ("", "# The guide"),
        ("runs", "# Runs"),
        ("runs.md", "# Runs"),
        ("concepts#bubble", "## Bubble\n\n![Two stages"),
        ("training.batch_size", "### training.batch_size\n\nSamples of one step."),
        ("devices.carve.slices_mib", "### devices.carve.slices_mib"),
    ],
)
def test_that_a_page_a_part_and_a_key_are_written_as_they_are(capsys, place, begins):
    assert main(["guide", *([place] if place else [])]) == 0
    assert capsys.readouterr().out.startswith(begins)


@pytest.mark.parametrize("place", ["nowhere", "runs#nothing", "training.batchsize", "../README"])
def test_that_a_page_that_is_not_there_is_refused_with_those_that_are(capsys, place):
    assert main(["guide", place]) == 2
    told = capsys.readouterr().err
    assert place in told
    assert "concepts, devices, plan" in told


def test_that_words_are_found_with_the_way_to_read_on(capsys):
    assert main(["guide", "--search", "micro-batch", "bubble"]) == 0
    shown = capsys.readouterr()
    assert "concepts#bubble: Bubble\n" in shown.out
    assert "gpu-studio guide concepts#" in shown.err
    assert main(["guide", "--search", "xylophone"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["guide", "plan", "--search", "bubble"]) == 2


def test_that_programs_read_places_texts_and_keys(capsys):
    assert main(["guide", "options", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {key["path"] for key in document["keys"]} == {key.path for key in all_keys()}
    assert document["text"].startswith("# Options of a plan")
    assert main(["guide", "--json", "--search", "bubble"]) == 0
    found = json.loads(capsys.readouterr().out)["found"]
    assert found[0]["place"] == "concepts#bubble"
    assert found[0]["excerpt"]


def test_that_on_a_screen_marks_and_targets_of_links_are_left_out(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["guide", "concepts#slot"]) == 0
    shown = capsys.readouterr().out
    assert "Drawing: SGD keeps no slots" in shown
    assert "options.md" not in shown


def test_that_every_command_in_the_guide_is_there(capsys):
    found = set(re.findall(r"`gpu-studio ([a-z][^`]*)`", "\n".join(guide().pages.values())))
    assert len(found) > 15
    wrong = [command for command in found if main([*command.split(), "--help"]) != 0]
    capsys.readouterr()
    assert wrong == []
