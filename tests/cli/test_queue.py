"""The queue by the command line: what is started when, and by whom."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from made_machines import TWO_CARDS
from patience import PATIENCE_S
from real_runs import PLAN, eventually

from gpu_studio.cli import queue_runner
from gpu_studio.cli.queue_runner import Runner
from gpu_studio.common import processes
from gpu_studio.contract import lock
from gpu_studio.hardware.source import SIMULATE
from gpu_studio.plan import MIB, Plan, load, save, with_settings
from gpu_studio.runs import queue as queueing
from gpu_studio.runs.catalogue import directories
from gpu_studio.runs.labels import title_of
from gpu_studio.runs.queue_entry import noted_in
from gpu_studio.runs.results import prediction
from gpu_studio.runs.state import is_live, state_of


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runners of this process look ten times as often; those in others as they always do."""
    for name in ("TICK_SECONDS", "MEMORY_SECONDS"):
        monkeypatch.setattr(queue_runner, name, getattr(queue_runner, name) / 10)


@pytest.fixture
def run_here(queue, machine, trainer) -> Callable[..., list[str]]:
    """Work the queue off in this process; the lines that were said."""

    def run(found=machine) -> list[str]:
        said: list[str] = []
        runner = Runner(queue.runs, said.append, lambda: found)
        assert runner.run()
        for process in runner.processes:  # they outlive the runner, and are this process's children
            getattr(process, "process", process).wait(PATIENCE_S)
        return said

    return run


def waits(queue) -> dict[str, str]:
    return {entry: wait.text for entry, wait in queue.waits().items()}


def names(queue) -> list[str]:
    return [entry.name for entry in queue.entries()]


def add(queue, *plans_named: str, **changes) -> list[str]:
    return [queue.add(replace(PLAN, name=name, **changes), queue.runs).id for name in plans_named]


def on_card(name: str, device: str) -> Plan:
    """A plan that trains on one of two cards, with a slice of 64 MiB on each."""
    carve = (
        "devices.carve=[{ device = 'GPU:0', slices_mib = [64] }, { device "
        "= 'GPU:1', slices_mib = [64] }]"
    )
    chosen = ["distribution.strategy=one_device", f"distribution.devices=['{device}']"]
    return with_settings(replace(PLAN, name=name), [carve, *chosen])


def started(runs_dir) -> list[str]:
    return [load(run.plan_file).name for run in reversed(directories(runs_dir))]


def test_that_plans_are_trained_one_after_another_in_their_order(queue, run_here, runs_dir):
    first, _ = add(queue, "one", "two")
    queue.shift(first, 1)
    said = run_here()
    assert started(runs_dir) == ["two", "one"]
    two, one = reversed(directories(runs_dir))
    assert (state_of(one), state_of(two)) == ("finished", "finished")
    # The second waited for the end of the first, and not for its start.
    assert two.events_file.stat().st_mtime_ns <= one.plan_file.stat().st_mtime_ns
    assert f"one waits for {title_of(two)} to end" in said
    assert noted_in(one) == first
    assert queue.entries() == ()


def test_that_a_plan_that_cannot_be_trained_any_more_is_held_and_the_next_goes_on(
    queue, run_here, runs_dir, tmp_path
):
    data = tmp_path / "gone.npz"
    (moved,) = add(queue, "moved", data=replace(PLAN.data, name=None, file=str(data)))
    (spoiled,) = add(queue, "spoiled")
    (queue.folder / f"{spoiled}.plan.toml").write_text("[training]\nepoch = 3\n")
    add(queue, "sound")
    said = run_here()
    assert started(runs_dir) == ["sound"]
    assert "there is no such file" in queue.find(moved).held
    assert "did you mean epochs?" in queue.find(spoiled).held
    assert sum(line.startswith("held ") for line in said) == 2
    assert not queue.has_runner


def test_that_a_card_is_waited_for_until_it_has_the_memory(queue, machine, trainer, runs_dir):
    whole = "devices.carve=[{ device = 'GPU:1', slices_mib = [3072] }]"
    sliced = with_settings(on_card("one", "GPU:1"), [whole])
    marked = ("GPU:1",)
    queue.add(sliced, runs_dir, predicted={"GPU:1": 64 * MIB}, incomplete=marked, bounds=marked)
    free = iter([2048, 2048, 4096, 4096, 4096])
    told: list[str] = []

    def found():
        left = next(free)
        told.extend(wait.text for wait in queue.waits().values())
        card = TWO_CARDS.cards[1]
        return replace(
            TWO_CARDS, cards=(TWO_CARDS.cards[0], replace(card, used_mib=card.usable_mib - left))
        )

    runner = Runner(runs_dir, told.append, found)
    assert runner.run()
    for process in runner.processes:
        getattr(process, "process", process).wait(PATIENCE_S)
    assert "one waits for 3 GiB on GPU 1: 1 GiB can be had now" in told
    assert "waits for 3 GiB on GPU 1: 1 GiB can be had now" in told
    [run] = directories(runs_dir)
    assert prediction.read(run).bytes == {"GPU:1": 64 * MIB}
    assert prediction.read(run).incomplete == prediction.read(run).bounds == marked


def test_that_two_plans_on_two_cards_train_at_the_same_time_and_two_on_one_do_not(
    queue, trainer, runs_dir
):
    trainer("--hold-at", "3")
    for name, device in (("a", "GPU:0"), ("b", "GPU:0"), ("c", "GPU:1")):
        queue.add(on_card(name, device), runs_dir)
    runner = Runner(runs_dir, lambda _: None, lambda: TWO_CARDS)
    runner.step()
    a, _ = reversed(directories(runs_dir))
    assert started(runs_dir) == ["a", "c"]
    assert is_live(a)
    assert waits(queue) == {queue.entries()[0].id: f"waits for {title_of(a)} on GPU 0"}
    for process in runner.processes:
        getattr(process, "process", process).kill()
        getattr(process, "process", process).wait(PATIENCE_S)


def test_that_a_plan_that_waits_for_two_cards_is_not_overtaken_on_the_one_that_is_free(
    queue, trainer, runs_dir
):
    trainer("--hold-at", "3")
    queue.add(on_card("a", "GPU:0"), runs_dir)
    both = with_settings(
        on_card("both", "GPU:0"), ["distribution.strategy=mirrored", "distribution.devices=[]"]
    )
    waiting = [queue.add(plan, runs_dir).id for plan in (both, on_card("c", "GPU:1"))]
    runner = Runner(runs_dir, lambda _: None, lambda: TWO_CARDS)
    runner.step()
    [a] = directories(runs_dir)
    expected = (f"waits for {title_of(a)} on GPU 0", "waits for its turn on GPU 1, after both")
    assert waits(queue) == dict(zip(waiting, expected, strict=True))
    for process in runner.processes:
        getattr(process, "process", process).kill()
        getattr(process, "process", process).wait(PATIENCE_S)
    runner.step()
    assert started(runs_dir) == ["a", "both"]
    for process in runner.processes:
        getattr(process, "process", process).kill()
        getattr(process, "process", process).wait(PATIENCE_S)


def test_that_start_does_not_wait_for_the_others(gpu_studio, queue, run_here, trainer, runs_dir):
    trainer("--hold-at", "2")
    blocker = gpu_studio("train", _plan_file(runs_dir), "--detach").out.strip()
    held = add(queue, "held", "urgent")
    queue.hold(held[0])
    trainer()
    queue.start_now(held[1])
    run_here()
    assert started(runs_dir)[-1] == "urgent"
    assert is_live(next(run for run in directories(runs_dir) if run.id == blocker))
    assert names(queue) == ["held"]


def _plan_file(runs_dir):
    path = runs_dir.parent / "mine.plan.toml"
    save(PLAN, path)
    return path


def test_that_a_second_runner_leaves_at_once(gpu_studio, queue, machine):
    held = lock.take(queue.runner_lock)
    add(queue, "a")
    answer = gpu_studio("queue", "run")
    held.release()
    assert (answer.code, answer.err) == (0, "The queue is being worked off already.\n")
    assert names(queue) == ["a"]


@pytest.mark.parametrize("did", ["launched", "nothing"])
def test_that_what_a_killed_runner_had_claimed_is_started_once(queue, run_here, runs_dir, did):
    (entry,) = add(queue, "a")
    queue.change(entry, claimed=1.0)
    if did == "launched":
        from gpu_studio.runs.launch import launch

        launched = launch(PLAN, runs_dir, queued_as=entry)
        eventually(launched.directory.events_file.exists, "its first event")
    run_here()
    assert len(directories(runs_dir)) == 1
    assert queue.entries() == ()
    if did == "launched":
        launched.process.wait(PATIENCE_S)


def test_that_plans_are_added_listed_moved_held_and_removed(
    gpu_studio, queue, plan_file, machine, trainer, runs_dir
):
    answer = gpu_studio(
        "queue", "add", plan_file, plan_file, "--set", "training.epochs=9", "--hold"
    )
    first, second = answer.out.split()
    assert answer.err == "They start once released, with: gpu-studio queue release ID\n"
    assert [entry.held for entry in queue.entries()] == ["held by hand"] * 2
    assert queue.plan_of(queue.entries()[0]).training.epochs == 9
    gpu_studio("queue", "down", first)
    documents = gpu_studio("queue", "list", "--json").document
    assert [(each["id"], each["state"]) for each in documents] == [
        (second, "held by hand"),
        (first, "held by hand"),
    ]
    assert documents[0]["needs"] == "the CPU, with no other run"
    table = gpu_studio("queue", "list").out.splitlines()
    assert table[0].split() == ["ID", "PLAN", "NEEDS", "STATE"]
    assert len(table) == 3
    gpu_studio("queue", "up", first)
    assert gpu_studio("queue", "remove", second, "--json").document == [first]
    third = gpu_studio("queue", "add", plan_file, "--hold")
    assert third.err.endswith(
        f"It starts once released, with: gpu-studio queue release {third.out}"
    )
    gpu_studio("queue", "remove", third.out.strip())
    assert "is empty" in gpu_studio("queue", "remove", first).err + gpu_studio("queue", "list").err
    assert not queue.has_runner


def test_that_a_wrong_plan_among_several_adds_none(gpu_studio, queue, plan_file, machine, tmp_path):
    wrong = tmp_path / "wrong.plan.toml"
    wrong.write_text(
        'version = 1\n[model]\nname = "mlp"\n[data]\nname = "digits"\n[training]\nepochs = 0\n'
    )
    answer = gpu_studio("queue", "add", plan_file, wrong)
    assert answer.code == 2
    assert "training.epochs" in answer.err
    assert queue.entries() == ()
    assert gpu_studio("queue", "up", "x").code == 2


def test_that_simulated_cards_are_not_trained_on(gpu_studio, queue, plan_file, monkeypatch):
    monkeypatch.setenv(SIMULATE, "1xH100")
    assert "simulated" in gpu_studio("queue", "add", plan_file).err
    assert queue.entries() == ()


@pytest.fixture
def runner_process(monkeypatch, runs_dir):
    """Have a process run instead of the queue's runner.

    `code` in Python, which finds the runs directory in `runs`.
    """

    def run(code: str) -> None:
        start = f"from pathlib import Path; runs = Path({str(runs_dir)!r}); {code}"
        monkeypatch.setattr(
            processes, "module_command", lambda _module: [sys.executable, "-c", start]
        )

    return run


def test_that_a_queue_that_nobody_works_is_said_to_be_and_goes_on_when_told_to(
    gpu_studio, queue, machine, runner_process, monkeypatch
):
    monkeypatch.setattr("gpu_studio.runs.queue.STARTING_SECONDS", PATIENCE_S)
    add(queue, "a", "b")
    queue.hold(queue.entries()[1].id)
    assert (
        gpu_studio("queue", "list").err == ""
    )  # whoever has just added to it has also started its runner
    changed = time.time()
    os.utime(queue.folder, (changed, changed + 3600))  # the clock was set back since
    assert "gpu-studio queue start" in gpu_studio("queue", "list").err
    os.utime(queue.folder, (changed, changed))
    monkeypatch.setattr("gpu_studio.runs.queue.STARTING_SECONDS", 0.0)
    listed = gpu_studio("queue", "list")
    assert "gpu-studio queue start" in listed.err
    rows = gpu_studio("queue", "list", "--json").document
    assert [row["state"] for row in rows] == ["waits: nobody works the queue", "held by hand"]
    assert not queue.has_runner  # looking starts nothing
    code = (
        "import signal; from gpu_studio.contract import lock; held = lock.take(runs / "
        "'queue.lock'); signal.pause()"
    )
    runner_process(code)
    answer = gpu_studio("queue", "start")
    assert (answer.code, queue.has_runner) == (0, True)
    assert "worked off in the background" in answer.err
    assert gpu_studio("queue", "start").err == "The queue is being worked off already.\n"
    assert gpu_studio("queue", "list").err == ""
    os.kill(lock.holder(queue.runner_lock).pid, signal.SIGKILL)
    eventually(lambda: not queue.has_runner, "the end of the runner")


def test_that_a_runner_that_cannot_work_is_told_of_with_what_it_said(
    gpu_studio, queue, runner_process
):
    assert gpu_studio("queue", "start").err == "Nothing in the queue may start.\n"
    add(queue, "a")
    runner_process("raise SystemExit('no room')")
    answer = gpu_studio("queue", "start")
    assert (answer.code, answer.out) == (2, "")
    log = queue.folder / queueing.LOG
    assert str(log) in answer.err
    assert log.read_text() == "no room\n"


@pytest.mark.slow
def test_that_the_queue_is_worked_off_in_the_background_and_after_a_kill(
    gpu_studio, queue, plan_file, trainer, runs_dir
):
    """The runner is a process of its own.

    Killed, whoever touches the queue next starts another, which goes on.
    """
    trainer("--hold-at", "2")
    assert gpu_studio("queue", "add", plan_file, plan_file, plan_file).code == 0
    eventually(
        lambda: len(directories(runs_dir)) == 1 and queue.waits(),
        "the first run, and what waits for it",
    )
    runner = lock.holder(queue.runner_lock)
    assert os.getsid(runner.pid) == runner.pid
    os.kill(runner.pid, signal.SIGKILL)
    eventually(lambda: not queue.has_runner, "the end of the runner")
    [run] = directories(runs_dir)
    assert is_live(run)
    last = queue.entries()[-1].id
    assert gpu_studio("queue", "up", last).code == 0
    gpu_studio("runs", "stop", run.id, "--now")
    eventually(lambda: len(directories(runs_dir)) == 2, "the second run")
    assert noted_in(directories(runs_dir)[0]) == last
