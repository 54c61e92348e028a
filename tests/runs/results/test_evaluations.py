from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_runs import Script, make_run

from gpu_studio.contract.files import append_line
from gpu_studio.runs.results.evaluations import Evaluation, evaluations, keep

NAMES = st.sampled_from(["step-00000001", "step-00000002", "step-00000003"])
FOUND = st.builds(
    Evaluation,
    checkpoint=NAMES,
    split=st.sampled_from(["test", "validation"]),
    metrics=st.dictionaries(
        st.text(max_size=5), st.none() | st.floats(allow_nan=False, allow_infinity=False)
    ),
    samples=st.integers(1, 10**6),
    seconds=st.floats(0, 1e6),
    device=st.just("CPU:0"),
    time=st.floats(0, 2e9),
)


@given(found=st.lists(FOUND, max_size=6))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_that_the_newest_evaluation_of_each_checkpoint_is_read_back(runs_dir, found) -> None:
    run = make_run(runs_dir, Script(trained=0.05))
    for one in found:
        keep(run, one)
    assert evaluations(run) == {one.checkpoint: one for one in found}


def test_that_what_is_no_evaluation_is_left_out_and_a_cut_line_ends_before_the_next(
    runs_dir,
) -> None:
    run = make_run(runs_dir, Script(trained=0.05))
    append_line(run.evaluations_file, b'{"checkpoint": 3}\n')
    append_line(run.evaluations_file, b"\xff\xfe\n")
    append_line(run.evaluations_file, b'{"checkpoint": "cut')
    whole = Evaluation(
        checkpoint="a",
        split="test",
        metrics={"loss": None},
        samples=1,
        seconds=1,
        device="CPU:0",
        time=1,
    )
    keep(run, whole)
    assert evaluations(run) == {"a": whole}
    assert run.evaluations_file.stat().st_mode & 0o777 == 0o600


def test_that_a_run_without_evaluations_or_with_a_folder_in_their_place_has_none(runs_dir) -> None:
    run = make_run(runs_dir, Script(trained=0.05))
    assert evaluations(run) == {}
    run.evaluations_file.mkdir()
    assert evaluations(run) == {}
