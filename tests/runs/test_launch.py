from __future__ import annotations

import errno
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
from patience import PATIENCE_S
from real_runs import PLAN, eventually, fake_trainer, told

from gpu_studio import plan as plans
from gpu_studio.contract import lock
from gpu_studio.contract.events import Finished, Started
from gpu_studio.runs.catalogue import directories
from gpu_studio.runs.launch import TRAINER_VARIABLE, launch, trainer_command, trainer_environment

SHOW = """
import json, os, sys
json.dump({"cwd": os.getcwd(), "env": dict(os.environ), "umask": os.umask(0), "argv": sys.argv,
           "stdin": sys.stdin.read(), "session": os.getsid(0)}, sys.stdout)
"""


def show(runs, **options):
    launched = launch(PLAN, runs, trainer=[sys.executable, "-c", SHOW], **options)
    launched.process.wait(PATIENCE_S)
    return launched, json.loads(launched.directory.log_file.read_text())


def test_that_a_run_has_its_plan_its_events_and_its_end(ended):
    launched = ended()
    assert launched.poll() == 0
    assert plans.load(launched.directory.plan_file) == PLAN
    events = told(launched)
    assert isinstance(events[0], Started)
    assert isinstance(events[-1], Finished)
    assert [event.seq for event in events] == list(range(len(events)))


def test_that_all_files_are_only_their_owners(ended):
    launched = ended("--checkpoint-every", "2")
    for path in [launched.directory.path, *launched.directory.path.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path


def test_that_the_trainer_is_detached_from_whoever_started_it(runs_dir, tmp_path):
    launched, seen = show(runs_dir, base=tmp_path, environment={"EXTRA": "1"})
    assert seen["session"] == launched.process.pid != os.getsid(0)
    assert seen["stdin"] == ""
    assert seen["cwd"] == str(tmp_path)
    assert seen["argv"][1:] == [str(launched.directory.path)]
    assert seen["umask"] == 0o077
    variables = {
        name: seen["env"][name] for name in ("EXTRA", "PYTHONFAULTHANDLER", "PYTHONUNBUFFERED")
    }
    assert variables == {"EXTRA": "1", "PYTHONFAULTHANDLER": "1", "PYTHONUNBUFFERED": "1"}


def test_that_only_the_trainer_keeps_the_lock_open(start):
    launched = start("--hold-at", "0")
    own = [file.path for file in psutil.Process().open_files()]
    assert str(launched.directory.lock_file) not in own


def test_that_both_outputs_go_to_the_log(runs_dir):
    code = "import os; os.write(1, b'one '); os.write(2, b'two')"
    launched = launch(PLAN, runs_dir, trainer=[sys.executable, "-c", code])
    launched.process.wait(PATIENCE_S)
    assert launched.directory.log_file.read_bytes() == b"one two"


def test_that_an_invalid_plan_is_refused_with_nothing_written(runs_dir):
    wrong = replace(PLAN, training=replace(PLAN.training, epochs=0, batch_size=-1))
    with pytest.raises(plans.PlanError) as refused:
        launch(wrong, runs_dir / "new", trainer=fake_trainer())
    assert {problem.field for problem in refused.value.problems} == {
        "training.epochs",
        "training.batch_size",
    }
    assert list(runs_dir.iterdir()) == []


def test_that_a_plan_is_held_against_the_machine(runs_dir):
    wrong = replace(PLAN, devices=plans.DeviceSettings(carve=(plans.Carve("GPU:7", (1024,)),)))
    with pytest.raises(plans.PlanError):
        launch(wrong, runs_dir, trainer=fake_trainer(), machine=plans.Machine(cpu_cores=2))
    assert list(runs_dir.iterdir()) == []


def test_that_a_trainer_which_cannot_be_started_leaves_nothing_behind(runs_dir):
    with pytest.raises(FileNotFoundError):
        launch(PLAN, runs_dir, trainer=["/no/such/program"])
    assert list(runs_dir.iterdir()) == []
    assert not [file for file in psutil.Process().open_files() if "trainer" in file.path]


def test_that_a_full_disk_is_refused_by_the_folder_of_runs_with_nothing_left(small_disk):
    runs = small_disk.path / "runs"
    runs.mkdir()
    small_disk.fill()
    with pytest.raises(OSError, match="No space left") as refused:
        launch(PLAN, runs, trainer=fake_trainer())
    assert refused.value.filename == str(runs)
    assert list(runs.iterdir()) == []


def test_that_a_refusal_in_words_stays_as_it_is(runs_dir):
    def fill(_run):
        raise OSError("the note has no room: is the disk full?")

    with pytest.raises(OSError, match=r"^the note has no room: is the disk full\?$"):
        launch(PLAN, runs_dir, trainer=fake_trainer(), fill=fill)


def test_that_a_folder_without_locks_is_refused_by_its_name_with_nothing_left(
    runs_dir, monkeypatch
):
    def refuse(_descriptor, _operation):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(lock.fcntl, "flock", refuse)
    with pytest.raises(lock.NoLocksError) as refused:
        launch(PLAN, runs_dir, trainer=fake_trainer())
    assert refused.value.filename == str(runs_dir)
    assert list(runs_dir.iterdir()) == []


def test_that_relative_files_are_found_from_the_plans_folder_and_named_absolutely(ended, tmp_path):
    np.savez(tmp_path / "data.npz", x=np.zeros((2, 3)), y=np.zeros(2))
    relative = replace(PLAN, data=plans.Data(file="data.npz"))
    launched = ended(plan=plans.with_absolute_files(relative, tmp_path))
    assert plans.load(launched.directory.plan_file).data.file == f"{tmp_path}/data.npz"


def test_that_a_plan_with_a_file_that_is_not_there_is_refused_with_nothing_written(
    runs_dir, tmp_path
):
    relative = replace(PLAN, data=plans.Data(file="data.npz"))
    with pytest.raises(plans.PlanError, match="no such file"):
        launch(plans.with_absolute_files(relative, tmp_path), runs_dir, trainer=fake_trainer())
    assert list(runs_dir.iterdir()) == []


@pytest.mark.slow
def test_that_a_run_lives_on_when_its_launcher_is_killed(runs_dir):
    code = f"""
import sys
sys.path[:0] = {sys.path!r}
from pathlib import Path
from real_runs import PLAN, fake_trainer
from gpu_studio.runs.launch import launch
launched = launch(PLAN, Path({str(runs_dir)!r}), trainer=fake_trainer("--hold-at", "2"))
print(launched.process.pid, flush=True)
sys.stdin.read()
"""
    launcher = psutil.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1)
    trainer = psutil.Process(int(launcher.stdout.readline()))
    launcher.kill()
    launcher.communicate()
    try:
        [run] = directories(runs_dir)
        eventually(lambda: run.events_file.exists() and b'"steps"' in run.events_file.read_bytes())
        assert trainer.is_running()
    finally:
        trainer.kill()
        trainer.wait(PATIENCE_S)


def test_that_the_trainer_is_this_packages_unless_the_variable_names_another(monkeypatch):
    monkeypatch.delenv(TRAINER_VARIABLE, raising=False)
    assert trainer_command("/usr/bin/python3") == [
        "/usr/bin/python3",
        "-P",
        "-m",
        "gpu_studio.trainer",
    ]
    monkeypatch.setenv(TRAINER_VARIABLE, "nice -n 5 '/my python' -m gpu_studio.trainer")
    assert trainer_command() == ["nice", "-n", "5", "/my python", "-m", "gpu_studio.trainer"]


def test_that_the_package_is_found_from_any_folder_also_when_it_is_not_installed(
    monkeypatch, tmp_path
):
    monkeypatch.setenv("PYTHONPATH", "/users/own")
    environment = trainer_environment({})
    found = psutil.Popen(
        [sys.executable, "-P", "-c", "import gpu_studio; print(gpu_studio.__file__)"],
        cwd=tmp_path, env=environment, stdout=-1, text=True,
    )  # fmt: skip
    assert Path(found.communicate()[0].strip()) == Path(plans.__file__).parents[1] / "__init__.py"
    assert "/users/own" in environment["PYTHONPATH"].split(os.pathsep)
