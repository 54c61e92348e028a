"""Benchmarks in processes of their own: real ones with small sizes, and such as end badly."""

from __future__ import annotations

import os
import stat
import sys
import threading
from pathlib import Path

import pytest
import warm_python
from made_benchmarks import SMALL

from gpu_studio.lab.benchmarks import BENCHMARKS, BenchmarkError, BenchmarkResult, judged, tolerance
from gpu_studio.plan import (
    AbsolutePlan,
    Card,
    Carve,
    Data,
    DeviceSettings,
    Machine,
    ModelSettings,
    Plan,
    Training,
)
from gpu_studio.runs.benchmarks import (
    benchmark_plan,
    data_alone,
    delete_result,
    keep_result,
    kept_results,
    load_result,
    newest_pace,
    result_named,
    run_benchmark,
)

HERE = Machine(cpu_cores=2, cpu_name="a CPU")
FAKE = """
import json, os, sys, time
to = int(sys.argv[sys.argv.index("--to") + 1])
row = {"what": "matmul", "devices": ["CPU:0"], "size": 64, "seconds": [0.1, 0.1], "flops": 1e6}
os.write(to, json.dumps({"part": row}).encode() + b"\\n")
print(os.getpid(), file=open(os.environ["PID_FILE"], "w"))
if sys.argv[1] == "hangs":
    time.sleep(1000)
if sys.argv[1] == "lies":
    os.write(to, b'{"part": {"what": 7}}\\n')
os.write(to, b'{"error": "the device is gone"}\\n')
"""


def fake(kind: str) -> list[str]:
    return [sys.executable, "-c", FAKE, kind]


def is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


@pytest.fixture
def pid_file(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("PID_FILE", str(tmp_path / "pid"))
    return tmp_path / "pid"


@pytest.mark.slow
@pytest.mark.parametrize("name", [each.name for each in BENCHMARKS.values() if not each.of_a_plan])
def test_that_each_benchmark_measures_here_and_computes_rightly(name):
    said: list[str] = []
    command = [*warm_python.command("-c"), SMALL]
    result = run_benchmark(name, benchmark_plan(name, HERE), HERE, said.append, command=command)
    assert result.complete
    measured = [row for row in result.rows if row.seconds]
    assert measured
    if name == "place":  # of which a profile tells the times
        measured = [row for row in measured if row.what == "all"]
    assert all(len(row.seconds) == 3 and min(row.seconds) > 0 for row in measured)
    assert all(row.error <= tolerance(row.dtype) for row in measured if row.error is not None)
    left_out = {row.what for row in result.rows if not row.seconds and row.why_not}
    without = {"all-reduce": {"nccl"}, "copies": {"pinned copy", "overlapped copy"}}
    assert left_out == without.get(name, set())
    assert result.machine["TensorFlow"].startswith("2.")
    assert said[0] == "importing TensorFlow"
    assert judged(result)


def test_that_a_device_that_goes_leaves_what_was_measured(pid_file):
    result = run_benchmark("compute", Plan(), HERE, print, command=fake("fails"))
    assert len(result.rows) == 1
    assert (result.complete, result.why_not_complete) == (False, "the device is gone")


@pytest.mark.parametrize("kind", ["lies"])
def test_that_a_measurement_that_is_none_is_an_error(pid_file, kind):
    with pytest.raises(BenchmarkError, match="cannot be read"):
        run_benchmark("compute", Plan(), HERE, print, command=fake(kind))
    assert not is_there(int(pid_file.read_text()))


def test_that_cancelling_ends_the_process_and_keeps_what_was_measured(pid_file):
    cancel = threading.Event()

    def wait_and_cancel() -> None:
        while not (pid_file.exists() and pid_file.read_text().strip()):
            threading.Event().wait(0.01)
        cancel.set()

    watching = threading.Thread(target=wait_and_cancel)
    watching.start()
    result = run_benchmark("compute", Plan(), HERE, print, command=fake("hangs"), cancel=cancel)
    watching.join()
    assert (len(result.rows), result.why_not_complete) == (1, "it was cancelled")
    assert not is_there(int(pid_file.read_text()))


def test_that_nothing_measured_is_an_error_that_says_why(tmp_path):
    command = [sys.executable, "-c", "raise SystemExit('no TensorFlow')"]
    with pytest.raises(BenchmarkError, match=r"Nothing was measured: .*no TensorFlow"):
        run_benchmark("compute", Plan(), HERE, print, command=command)


def test_that_devices_are_those_of_the_plan_or_all_that_are_there():
    carved = Plan(devices=DeviceSettings(carve=(Carve("CPU:0", (0, 0, 0)),)))
    assert benchmark_plan("together", HERE, carved).devices == carved.devices
    assert benchmark_plan("compute", HERE).devices == DeviceSettings()
    assert benchmark_plan("together", HERE).devices.carve == (Carve("CPU:0", (0, 0)),)
    two = Machine(tuple(Card(n, f"GPU-{n}", "a card") for n in range(2)))
    assert benchmark_plan("together", two).devices == DeviceSettings()


def test_that_input_is_of_a_plan_and_runs_nothing_of_its_model(tmp_path):
    with pytest.raises(BenchmarkError, match="name it with --plan"):
        benchmark_plan("input", HERE)
    code = tmp_path / "code.py"
    code.write_text("def load(): ...")
    model, data = ModelSettings(python=f"{code}:build"), Data(name="digits")
    plan = AbsolutePlan(Plan(model=model, data=data, training=Training(batch_size=7)))
    assert benchmark_plan("input", HERE, plan) is plan
    alone = data_alone(plan)
    assert (alone.model, alone.data, alone.training.batch_size) == (ModelSettings(), data, 7)
    own = Plan(data=Data(python=f"{code}:load"))
    with pytest.raises(BenchmarkError, match="is not allowed yet"):
        run_benchmark("input", own, HERE, print, command=["/bin/false"])
    assert newest_pace(plan, tmp_path / "none") is None


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        (Machine(simulated=True), "Simulated cards compute nothing"),
        (Machine(practice="1 × 2 GiB"), "Practice cards compute on the CPU"),
        (Machine((Card(0, "GPU-0", "a card"),)), "needs two devices, and there is GPU:0"),
    ],
    ids=["simulated", "practice", "one card"],
)
def test_that_what_cannot_be_measured_is_refused_before_anything_starts(machine, said):
    with pytest.raises(BenchmarkError, match=said):
        benchmark_plan("all-reduce", machine)


def test_that_results_are_kept_privately_and_found_by_what_they_are_called(tmp_path):
    folder = tmp_path / "new" / "lab"
    first = BenchmarkResult("copies", 1.0, {}, ())
    second = BenchmarkResult("compute", 100.0, {}, ())
    paths = [keep_result(each, folder) for each in (first, first, second)]
    assert len({path.name for path in paths}) == 3
    assert stat.S_IMODE(paths[0].stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert load_result(paths[0]) == first
    assert result_named("latest", folder).result == second
    assert result_named("copies", folder).name == "19700101T000001Z-copies-2"
    assert result_named("19700101T0001", folder).result == second
    assert result_named(str(paths[0])).result == first
    for text, said in (("1970", "3 results begin with 1970"), ("none", "There is no result none")):
        with pytest.raises(BenchmarkError, match=said):
            result_named(text, folder)


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 100_000,
        b'{"x":' * 100_000,
        b'{"benchmark":"\xff"}',
        b'{"version":' + b"9" * 5000 + b"}",
        b'{"benchmark":"copies","begun":1e300,"machine":{},"rows":[]}',
        b'{"benchmark":"copies","begun":-1e300,"machine":{},"rows":[]}',
    ],
    ids=["deep list", "deep object", "no UTF-8", "long number", "no date", "no date before"],
)
def test_that_a_file_that_no_result_can_be_hides_no_other(tmp_path, text):
    whole = keep_result(BenchmarkResult("copies", 1.0, {}, ()), tmp_path)
    odd = tmp_path / "20990101T000000Z-copies.benchmark.json"
    odd.write_bytes(text)
    assert [each.path for each in kept_results(tmp_path) if each.result] == [whole]
    assert "remove it" in kept_results(tmp_path)[0].why_not


def test_that_a_folder_in_the_trash_keeps_no_result_from_being_deleted(tmp_path):
    for _ in range(2):
        keep_result(BenchmarkResult("copies", 1.0, {}, ()), tmp_path)
    gone = delete_result(kept_results(tmp_path)[0])
    (gone.parent / "folder").mkdir()
    (gone.parent / "link").symlink_to("nothing")
    for name in ("folder", "link"):
        os.utime(gone.parent / name, (1, 1), follow_symlinks=False)
    kept = delete_result(kept_results(tmp_path)[0])
    assert set(gone.parent.iterdir()) == {gone, kept}


def test_that_a_result_that_is_cut_off_hides_no_other(tmp_path):
    whole = keep_result(BenchmarkResult("copies", 1.0, {}, ()), tmp_path)
    cut = keep_result(BenchmarkResult("copies", 2.0, {}, ()), tmp_path)
    cut.write_bytes(cut.read_bytes()[:-20])
    (tmp_path / "20990101T000000Z-compute.benchmark.json").symlink_to("/dev/zero")
    found = kept_results(tmp_path)
    assert [each.path for each in found if each.result] == [whole]
    assert len(found) == 3
    assert all(each.why_not for each in found if not each.result)
    with pytest.raises(BenchmarkError, match="measure again"):
        result_named(cut.name.removesuffix(".benchmark.json"), tmp_path)
    assert kept_results(tmp_path / "missing") == []
