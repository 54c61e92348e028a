"""What a run tells once is found near its beginning, and not looked for in all that follows."""

from __future__ import annotations

from pathlib import Path

from made_placements import mlp_placement
from made_runs import Script, make_run, tell

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.events import Devices, Placement, Started, Timeline
from gpu_studio.runs.reading.event_file import first_of


def test_that_the_first_event_of_a_kind_is_found(runs_dir: Path) -> None:
    run = make_run(runs_dir, Script(trained=1))
    tell(run, mlp_placement(), mlp_placement(strayed=True))
    devices, placement = first_of(run, Devices), first_of(run, Placement)
    assert devices is not None
    assert devices.strategy == "mirrored"
    assert placement is not None
    assert placement.parts == mlp_placement().parts
    assert first_of(run, Timeline) is None


def test_that_no_more_is_read_than_asked_for(runs_dir: Path) -> None:
    run = make_run(runs_dir, Script(trained=3))
    tell(run, mlp_placement())
    assert run.events_file.stat().st_size > 2000
    assert first_of(run, Placement, most=2000) is None
    assert first_of(run, Started, most=2000) is not None


def test_that_lines_that_are_no_events_and_missing_files_are_none(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    assert first_of(run, Placement) is None
    run.events_file.write_bytes(
        b'{"event":"placement","rows":3}\nnonsense\n{"event":"placement","rows":[]}\n'
    )
    found = first_of(run, Placement)
    assert found is not None
    assert found.rows == []
