"""`runs placement`: the table, the crossings and the sentence; loud where something strayed."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_placements import mlp_placement
from made_runs import Script, make_run, tell

from gpu_studio.cli.command import ELSEWHERE
from gpu_studio.contract.directory import RunDirectory

SHORT = Script(trained=0.5)


def placed_run(runs_dir: Path, *, strayed: bool = False) -> RunDirectory:
    run = make_run(runs_dir, SHORT)
    tell(run, mlp_placement(strayed=strayed))
    return run


def test_that_each_layer_stands_with_what_was_asked_and_where_each_pass_ran(
    gpu_studio, runs_dir
) -> None:
    placed_run(runs_dir)
    answer = gpu_studio("runs", "placement", "latest")
    assert (answer.code, answer.err) == (0, "")
    lines = [line.split("  ") for line in answer.out.splitlines()]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    assert cells[0] == ["LAYER", "ASKED", "FORWARD", "BACKWARD", "UPDATE"]
    assert cells[1] == ["flatten", "CPU:0", "–", "–", "–"]
    assert cells[2] == [
        "dense", "CPU:0 + CPU:1, joined on CPU:0", "CPU:0 12, CPU:1 6", "CPU:0 12, CPU:1 6",
        "CPU:0 6, CPU:1 6",
    ]  # fmt: skip
    assert ["dense → dense_1", "CPU:0 → CPU:2", "forward", "3", "64 KiB"] in cells
    assert ["At least 576 KiB a step in all"] in cells
    assert answer.out.splitlines()[-2:] == [
        "All layers that compute, 4 of 5, ran where they were put: 102 operations.",
        "The plan leaves out flatten: placed where the inputs are.",
    ]


def test_that_what_ran_elsewhere_is_marked_said_and_in_the_exit_code(gpu_studio, runs_dir) -> None:
    run = placed_run(runs_dir, strayed=True)
    answer = gpu_studio("runs", "placement", run.id)
    assert answer.code == ELSEWHERE == 5
    row = next(line for line in answer.out.splitlines() if line.startswith("dense_1"))
    assert row.split()[1:] == ["CPU:2", "!", "CPU:0", "6", "CPU:2", "6", "CPU:2", "6"]
    assert (
        "18 of 102 operations ran on another device than asked: those of dense and dense_1."
        in answer.out
    )
    assert (
        "  6 operations of the forward of dense_1 were executed on CPU:0, and not on CPU:2."
        in answer.out
    )
    assert "5    something ran on another device" in gpu_studio("runs", "placement", "--help").out


def test_that_programs_get_every_layer_mismatch_and_crossing(gpu_studio, runs_dir) -> None:
    run = placed_run(runs_dir, strayed=True)
    answer = gpu_studio("runs", "placement", "latest", "--json")
    document = answer.document
    assert (answer.code, document["run"], document["as_asked"]) == (5, run.id, False)
    layers = {each["layer"]: each for each in document["layers"]}
    assert (layers["flatten"]["chosen_by"], layers["dense"]["chosen_by"]) == ("program", "plan")
    assert (layers["dense"]["joined_on"], layers["outputs"]["joined_on"]) == ("CPU:0", None)
    assert layers["dense_1"]["passes"]["forward"] == {
        "verdict": "elsewhere",
        "operations": {"CPU:0": 6},
    }
    assert layers["flatten"]["passes"]["update"] == {"verdict": "no operations", "operations": {}}
    assert document["elsewhere"][0] == {
        "layer": "dense", "pass": "backward", "part": "0", "asked": ["CPU:0"], "device": "CPU:1",
        "operations": 6,
    }  # fmt: skip
    assert (document["bytes_a_step"], document["bytes_are_least"]) == (589_824, True)
    assert document["crossings"][-1]["bytes"] is None
    assert (
        gpu_studio("runs", "placement", placed_run(runs_dir).id, "--json").document["as_asked"]
        is True
    )


@pytest.mark.parametrize(
    ("strategy", "words"),
    [("mirrored", "its strategy is mirrored"), ("placed", "has not reported")],
)
def test_that_a_run_without_a_placement_is_refused_in_words(
    gpu_studio, runs_dir, strategy, words
) -> None:
    run = make_run(runs_dir, SHORT)
    run.events_file.write_bytes(
        run.events_file.read_bytes().replace(b'"mirrored"', f'"{strategy}"'.encode())
    )
    answer = gpu_studio("runs", "placement", "latest")
    assert (answer.code, answer.out) == (2, "")
    assert words in answer.err


def test_that_a_run_that_crosses_nothing_says_so(gpu_studio, runs_dir) -> None:
    run = make_run(runs_dir, SHORT)
    alone = mlp_placement()
    alone.crossings.clear()
    tell(run, alone)
    assert (
        "Nothing goes from one device to another." in gpu_studio("runs", "placement", "latest").out
    )


def test_that_runs_show_says_in_a_line_whether_the_layers_ran_where_they_were_put(
    gpu_studio, runs_dir
) -> None:
    run = placed_run(runs_dir, strayed=True)
    said = "18 of 102 operations ran on another device than asked: those of dense and dense_1."
    assert said in gpu_studio("runs", "show", run.id).out
    assert gpu_studio("runs", "show", run.id, "--json").document["placement"] == said
    plain = make_run(runs_dir, SHORT)
    assert gpu_studio("runs", "show", plain.id, "--json").document["placement"] is None
