"""A report: all that is known of a run, in one file that opens alone."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_runs import Script, make_run, tell
from read_page import Page
from reported_runs import reported_run, tell_communication, tell_placement

from gpu_studio.common.figures import size, spent
from gpu_studio.common.paths import resource
from gpu_studio.contract import events
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.runs.labels import Labels, write_labels
from gpu_studio.runs.results.evaluations import Evaluation, keep
from gpu_studio.runs.results.report.writing import curves_svg, report, write_report
from gpu_studio.runs.results.run_figures import figures_of
from gpu_studio.ui.kit.theme import DARK, LIGHT, contrast, mix

EVIL = '<script>alert(1)</script> "quoted" & <b>'
MIB = 1024 * 1024


def page_of(*runs):
    return Page(report([figures_of(run) for run in runs]))


def is_sound(page):
    assert page.problems == []
    assert page.foreign == []
    assert [name for name, _ in page.elements].count("h1") == 1
    identities = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(set(identities)) == len(identities)
    for attributes in page.all("section"):
        assert attributes["aria-labelledby"] in identities
    for attributes in page.all("svg"):
        assert attributes.get("role") == "img" or attributes.get("aria-hidden") == "true"
    for attributes in page.all("th"):
        assert attributes["scope"] in ("col", "row")


def test_that_a_report_tells_all_that_is_known(tmp_path):
    run = reported_run(tmp_path)
    found = figures_of(run)
    page = page_of(run)
    is_sound(page)
    words = page.words
    assert page.texts["h1"] == ["digits on four devices"]
    for told in (
        "Completed after",
        "8 of 8 epochs trained",
        run.id,
        "600 MiB",
        "NVIDIA H100 80GB HBM3",
    ):
        assert told in words
    assert size(found.peaks["GPU:3"]) in words
    assert "0.9620" in words  # of the test
    assert re.search(r"power cap \d", words)
    assert "limit 1 GiB" in words
    assert page.texts["h2"] == [
        "Loss", "Metrics", "Memory", "Cards", "Where the time went", "Warnings", "Checkpoints",
        "Environment", "Plan",
    ]  # fmt: skip
    assert "version = 1" in "".join(page.texts["pre"])
    assert len([each for each in page.all("svg") if each.get("role")]) == 5


def test_that_nothing_in_a_run_becomes_markup(tmp_path):
    run = reported_run(tmp_path, name=EVIL)
    tell(run, events.Warned(message=EVIL, suggestion=EVIL))
    tell(
        run,
        events.Failed(
            message=EVIL, suggestions=[EVIL], traceback=f"{EVIL}\n\x00\x1b[1m", device=EVIL
        ),
    )
    tell_placement(run)
    page = page_of(run)
    is_sound(page)
    assert page.texts["h1"] == [EVIL]
    assert EVIL in page.words
    is_sound(page_of(run, reported_run(tmp_path, name=f"{EVIL}2")))


def test_that_what_a_person_wrote_and_evaluated_is_told(tmp_path):
    run = reported_run(tmp_path)
    write_labels(run, Labels(tags=("paper", "<b>"), note=f"first line\n{EVIL}"))
    told = {
        "checkpoint": "step-00000320",
        "split": "test",
        "samples": 180,
        "seconds": 1.0,
        "device": "CPU:0",
        "time": 1.0,
    }
    keep(run, Evaluation(metrics={"loss": 0.25, "top_k_accuracy": None}, **told))
    page = page_of(run)
    is_sound(page)
    assert f"first line\n{EVIL}" in page.texts["p"]
    assert "paper, <b>" in page.words
    assert "on the test split: loss 0.2500, accuracy not a number" in page.texts["td"]


def test_that_a_failure_says_what_to_do_with_the_details_folded(tmp_path):
    page = page_of(make_run(tmp_path, Script(trained=1, ending="failed")))
    is_sound(page)
    assert page.texts["h2"][0] == "What happened"
    assert any("ran out of memory" in text for text in page.texts["p"])
    assert "Halve training.batch_size." in page.texts["li"]
    assert "ResourceExhaustedError" in "".join(page.texts["pre"])
    assert page.all("details") == [{}]


def test_that_a_lost_run_says_that_it_is_lost(tmp_path):
    page = page_of(make_run(tmp_path, Script(trained=1)))
    assert "lost" in page.texts["span"]
    assert "Lost: the trainer ended without a word," in page.words


def test_that_figures_nobody_knows_say_why(tmp_path):
    page = page_of(make_run(tmp_path, Script(kind="CPU", trained=1, ending="completed")))
    is_sound(page)
    assert "trained on no card" in page.words
    assert "Cards" not in page.texts["h2"]
    assert "Time in communication was not measured" in page.words


def test_that_time_in_communication_is_told_with_what_it_is_extrapolated_from(tmp_path):
    run = reported_run(tmp_path)
    tell_communication(run)
    page = page_of(run)
    is_sound(page)
    parts = figures_of(run).training_parts
    assert "profiler watched steps 21 to 24 (20.0 ms a step)" in page.words
    assert f"≈ {spent(parts.communication)}" in page.texts["td"]
    assert "5.00 ms (25 %)" in page.texts["td"]
    assert "waiting for others" in page.texts["th"]
    assert "not measured" not in page.words


def test_that_a_run_on_one_device_says_that_there_is_no_communication(tmp_path):
    page = page_of(make_run(tmp_path, Script(devices=1, trained=1)))
    assert "There was no communication between devices: the run trained on one." in page.words


@pytest.mark.parametrize(
    ("elsewhere", "told"),
    [(False, "ran where they were put: 7 operations"), (True, "ran on another device than asked")],
)
def test_that_a_placement_says_whether_it_was_kept(tmp_path, elsewhere, told):
    run = make_run(tmp_path, Script(trained=1))
    tell_placement(run, elsewhere=elsewhere)
    page = page_of(run)
    is_sound(page)
    assert told in page.words
    assert "GPU:0 70 %" in page.words  # at work in the step that was looked at
    assert "4 KiB" in page.words


def test_that_several_runs_are_laid_over_each_other(tmp_path):
    runs = [
        reported_run(tmp_path, f"training.batch_size={size}", name=f"run {size}", seed=size)
        for size in (64, 128)
    ]
    page = page_of(*runs)
    is_sound(page)
    assert page.texts["h1"] == ["2 runs compared"]
    assert page.texts["h2"] == ["Runs", "Curves", "What differs", "What came of it", "Environment"]
    assert "training.batch_size" in page.texts["th"]
    assert {"64", "128"} <= set(page.texts["td"])
    assert "training.epochs" not in page.texts["th"]
    drawn = [each["aria-label"] for each in page.all("svg") if "aria-label" in each]
    assert [label.split(".")[0] for label in drawn] == [
        "Loss", "Validation loss", "Sparse categorical accuracy",
        "Validation sparse categorical accuracy",
    ]  # fmt: skip
    assert all("run 64: from" in label and "run 128: from" in label for label in drawn)


def test_that_equal_plans_are_said_to_be_equal(tmp_path):
    assert (
        "The plans are the same in every field."
        in page_of(reported_run(tmp_path), reported_run(tmp_path)).words
    )


def test_that_the_best_is_said_in_words(tmp_path):
    slow, fast = (reported_run(tmp_path, call_seconds=seconds) for seconds in (0.5, 0.25))
    assert "best" in page_of(slow, fast).texts["small"]


def test_that_a_run_that_has_told_nothing_yet_has_a_report(tmp_path):
    run = RunDirectory.create(tmp_path, "empty")
    is_sound(page_of(run))
    assert curves_svg(figures_of(run)) == ""


@given(st.data())
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None
)
def test_that_a_run_cut_at_any_byte_has_a_report(cut_run, data):
    run, events_told, hardware_told = cut_run
    run.events_file.write_bytes(
        events_told[: data.draw(st.integers(0, len(events_told)))] + b'{"event":"steps","lo'
    )
    run.hardware_file.write_bytes(hardware_told[: data.draw(st.integers(0, len(hardware_told)))])
    is_sound(page_of(run))


@pytest.fixture
def cut_run(tmp_path):
    """A run, and what its events and its recording hold when they are whole."""
    run = reported_run(tmp_path, epochs=2, trained=2)
    tell_placement(run)
    return run, run.events_file.read_bytes(), run.hardware_file.read_bytes()


def test_that_a_run_whose_loss_was_never_a_number_has_a_report(tmp_path):
    run = RunDirectory.create(tmp_path, "nan")
    run.events_file.touch()
    call = events.Steps(epoch=1, first_step=0, losses=[None] * 5, samples=5, seconds=1.0)
    ended = events.Epoch(
        epoch=1, step=5, metrics={"loss": None, "a": None}, seconds=1, samples_per_second=5
    )
    tell(run, call, events.Memory(devices=[]), ended)
    page = page_of(run, run)
    is_sound(page)
    assert page.texts["h2"][0] == "Runs"
    is_sound(page_of(run))


def test_that_a_report_stays_small_however_much_there_is(tmp_path):
    run = make_run(
        tmp_path, Script(trained=30, devices=8, ending="failed", per_call=50, steps=2000)
    )
    tell(run, *(events.Warned(message="w" * 500) for _ in range(300)))
    tell(run, events.Failed(message="m", suggestions=[], traceback="t\n" * 500_000))
    assert len(report([figures_of(run)]).encode()) < 500_000


def test_that_many_runs_are_thinned_to_stay_small(tmp_path):
    first = reported_run(tmp_path, call_seconds=0.05, per_call=1, steps=400, epochs=2, trained=2)
    found = figures_of(first)
    assert len(report([found] * 32).encode()) < 1_000_000


def test_that_a_report_is_its_owner_s_and_whole(tmp_path):
    path = tmp_path / "report.html"
    write_report([make_run(tmp_path / "runs", Script(trained=1))], path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert list(tmp_path.glob(".*")) == []


def test_that_a_browser_is_forbidden_to_fetch_and_to_run(tmp_path):
    page = page_of(make_run(tmp_path, Script(trained=1)))
    [policy] = [
        each["content"]
        for each in page.all("meta")
        if each.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none'")
    assert "script" not in policy


def styles():
    """The colours of the report's light and dark theme, by their names."""
    text = resource("style/report.css").read_text(encoding="utf-8")
    light, dark = re.findall(r":root \{(.*?)\}", text, re.DOTALL)
    return [dict(re.findall(r"--(\w+): (#\w+)", part)) for part in (light, dark)]


def mixed(colours):
    """The colours that words have, as the style mixes them."""
    text = resource("style/report.css").read_text(encoding="utf-8")
    for name, share in re.findall(
        r"color-mix\(in srgb, var\(--(\w+)\) (\d+)%, var\(--text\)\)", text
    ):
        yield name, mix(colours[name], colours["text"], int(share) / 100)


@pytest.mark.parametrize(("colours", "tokens"), list(zip(styles(), (LIGHT, DARK), strict=True)))
def test_that_the_colours_are_the_window_s_and_can_be_read(colours, tokens):
    for name in (
        "background",
        "surface",
        "raised",
        "line",
        "text",
        "muted",
        "accent",
        "good",
        "warning",
        "bad",
    ):
        assert colours[name] == getattr(tokens, name)
    assert [colours[f"d{place}"] for place in range(8)] == list(tokens.devices)
    words = {name: colours[name] for name in ("text", "muted")} | dict(mixed(colours))
    assert set(words) == {"text", "muted", "good", "bad", "warning", "accent"}
    for colour in words.values():
        for ground in ("surface", "background"):
            assert contrast(colour, colours[ground]) >= 4.5
