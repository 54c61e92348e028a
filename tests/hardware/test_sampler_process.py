"""The sampler's process on a real shared library, compiled here, with real faults."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import nvml_library
import psutil
import pytest
from nvml_library import (
    CRASH,
    HANG,
    LOST,
    MISMATCH,
    NO_PERMISSION,
    NOT_SUPPORTED,
    NvmlLibrary,
    build,
)
from patience import PATIENCE_S

from gpu_studio.common.steady import steady_seconds
from gpu_studio.contract.samples import Owner, decode
from gpu_studio.hardware import inventory
from gpu_studio.hardware.picture import MachinePicture
from gpu_studio.hardware.sampler.processes import LONGEST_COMMAND
from gpu_studio.hardware.source import RENEW
from gpu_studio.hardware.supervision import Supervisor, Watchdog, sampler_command

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(nvml_library.compiler() is None, reason="needs a C compiler"),
]
FIGURES = ["nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetUtilizationRates", "nvmlDeviceGetPowerUsage"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return build(tmp_path_factory.mktemp("driver"))


@pytest.fixture
def driver(built, tmp_path, monkeypatch):
    """A driver with two cards, which every process started from here on finds."""
    library = NvmlLibrary(built, tmp_path / "control")
    for name, value in library.environment.items():
        monkeypatch.setenv(name, value)
    yield library
    library.close()


class Owned:
    """A sampler with its owner, and what it told so far."""

    def __init__(self, watchdog=None):
        self.picture = MachinePicture()
        self.samples = []
        # On a machine that is busy a sampler may rest for seconds: that is no driver that hangs.
        patient = Watchdog(hang_after=PATIENCE_S, opening_after=PATIENCE_S)
        self.supervisor = Supervisor(sampler_command(rate=10.0), watchdog or patient)

    def until(self, condition, what):
        end = time.monotonic() + PATIENCE_S
        while not condition(self.picture):
            assert time.monotonic() < end, f"{what} did not come; told: {self.picture}"
            for line in self.supervisor.lines(0.5):
                sample = decode(line)
                self.samples.append(sample)
                self.picture.apply(sample)

    def since_now(self, kind):
        """A condition: that another sample of this kind has come."""
        before = sum(sample.__struct_config__.tag == kind for sample in self.samples)
        return lambda _picture: (
            sum(sample.__struct_config__.tag == kind for sample in self.samples) > before + 2
        )


@pytest.fixture
def owned():
    made = []

    def start(watchdog=None):
        made.append(Owned(watchdog))
        return made[-1]

    yield start
    for each in made:
        each.supervisor.close()


def states(picture):
    return [card.facts.gone for card in picture.cards.values()]


def test_that_a_real_library_is_read_through_every_layer(driver, owned):
    sampler = owned()
    sampler.until(
        lambda picture: picture.seen >= {"fast", "slow", "processes", "pcie", "host"}, "everything"
    )
    card = next(iter(sampler.picture.cards.values()))

    assert (card.facts.name, card.facts.uuid) == (
        "NVIDIA Test 0",
        "GPU-7e570000-0000-4000-8000-000000000000",
    )
    assert (card.facts.bus_id, card.facts.compute_capability, card.facts.slowdown_c) == (
        "0000:10:00.0",
        "9.0",
        90,
    )
    told = {
        name: card.figure(name)
        for name in ("memory_used_mib", "memory_free_mib", "memory_reserved_mib")
    }
    assert told == {"memory_used_mib": 1000, "memory_free_mib": 7000, "memory_reserved_mib": 192}
    assert (
        card.figure("utilisation_percent"),
        card.figure("memory_bus_percent"),
        card.figure("power_w"),
    ) == (
        70,
        30,
        100,
    )
    assert (card.figure("temperature_c"), card.figure("throttle"), card.figure("energy_j")) == (
        50,
        ["power limit"],
        5000,
    )
    steady = [sample.steady for sample in sampler.samples]
    assert steady == sorted(steady)
    assert 0 < steady[0] <= steady_seconds()
    process = sampler.picture.processes.processes[0]
    assert (process.pid, process.memory_mib) == (os.getpid(), 500)
    assert process.user == psutil.Process().username()
    assert process.command == " ".join(psutil.Process().cmdline())[:LONGEST_COMMAND]


def test_that_the_inventory_reads_it_too(driver):
    machine = inventory(PATIENCE_S)

    assert [card.name for card in machine.cards] == ["NVIDIA Test 0", "NVIDIA Test 1"]
    assert not machine.simulated


def test_that_a_missing_library_is_told(owned):
    sampler = owned()
    sampler.until(lambda picture: picture.host and picture.why, "the reason")

    assert "no NVIDIA driver is installed" in sampler.picture.why


def test_that_a_driver_installed_later_is_found_without_a_restart(driver, owned):
    driver.fail("nvmlInitWithFlags", 9)
    sampler = owned()
    sampler.until(lambda picture: picture.why, "the reason")
    assert sampler.picture.why == "the NVIDIA driver is installed but not loaded"
    driver.mend()
    sampler.until(lambda picture: states(picture) == ["", ""], "both cards")


@pytest.mark.parametrize("code", [NOT_SUPPORTED, NO_PERMISSION])
def test_that_each_call_can_fail_for_one_card(driver, owned, code):
    for function in FIGURES:
        driver.fail(function, code, card=0)
    reasons = ("not supported by this card", "no permission")
    sampler = owned()

    def is_told(picture):
        # Of a machine that is busy for seconds the driver may not have answered in time at first.
        first, second = picture.cards.values()
        return first.why("power_w") in reasons and second.figure("power_w") == 101

    sampler.until(lambda picture: picture.seen >= {"fast", "slow"} and is_told(picture), "figures")
    first, _ = sampler.picture.cards.values()
    assert first.figure("power_w") is None


def test_that_a_card_is_lost_and_comes_back_while_the_other_goes_on(driver, owned):
    sampler = owned()
    sampler.until(
        lambda picture: states(picture) == ["", ""] and "fast" in picture.seen, "both cards"
    )
    for function in (*FIGURES, "nvmlDeviceGetHandleByIndex_v2"):
        driver.fail(function, LOST, card=0)
    sampler.until(
        lambda picture: states(picture) == ["lost: the driver no longer answers for it", ""],
        "the loss",
    )
    sampler.until(sampler.since_now("fast"), "figures of the other card")
    driver.mend()
    sampler.until(lambda picture: states(picture) == ["", ""], "its return")
    assert sampler.picture.notes == type(sampler.picture.notes)(maxlen=1000), (
        "no process had to be restarted"
    )


def test_that_cards_can_be_none_and_come_later_and_be_sixteen(driver, owned):
    driver.set_cards(0)
    sampler = owned()
    sampler.until(lambda picture: picture.why, "the reason")
    assert sampler.picture.why == "the NVIDIA driver finds no card in this machine"
    driver.set_cards(16)
    sampler.until(lambda picture: len(picture.cards) == 16, "sixteen cards")
    sampler.until(sampler.since_now("fast"), "figures")
    assert all(card.figure("memory_used_mib") == 1000 for card in sampler.picture.cards.values())


def test_that_a_driver_replaced_in_mid_run_ends_the_process_with_its_own_code(driver):
    process = subprocess.Popen(
        sampler_command(rate=10.0), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        for line in process.stdout:
            if b'"fast"' in line:
                driver.fail("nvmlDeviceGetPowerUsage", MISMATCH)
        assert process.wait(PATIENCE_S) == RENEW


def test_that_its_owner_renews_the_process_after_that(driver, owned):
    sampler = owned()
    sampler.until(lambda picture: "fast" in picture.seen, "figures")
    first = sampler.supervisor.pid
    driver.fail("nvmlDeviceGetPowerUsage", MISMATCH)
    sampler.until(lambda picture: picture.notes, "the note")
    driver.mend()
    sampler.until(sampler.since_now("fast"), "figures")

    assert sampler.picture.notes[0].words.startswith("the NVIDIA driver was replaced")
    assert sampler.supervisor.pid not in (first, None)


def test_that_a_call_that_hangs_is_given_up_and_the_sampler_started_anew(driver, owned):
    sampler = owned(Watchdog(hang_after=2.5))
    sampler.until(lambda picture: "fast" in picture.seen and sampler.supervisor.pid, "figures")
    hung, told = psutil.Process(sampler.supervisor.pid), len(sampler.picture.notes)
    driver.fail("nvmlDeviceGetPowerUsage", HANG, card=1)
    sampler.until(lambda picture: len(picture.notes) > told, "the note")
    driver.mend()
    sampler.until(sampler.since_now("fast"), "figures")

    # A machine that is busy may have held up others before.
    told = sampler.picture.notes[told].words
    assert told.startswith("the NVIDIA driver did not answer for 2.5 s")
    assert not hung.is_running() or hung.status() == psutil.STATUS_ZOMBIE


def test_that_a_driver_that_crashes_the_sampler_is_asked_again(driver, owned):
    driver.fail("nvmlDeviceGetUtilizationRates", CRASH)
    sampler = owned()
    sampler.until(lambda picture: len(picture.notes) >= 2, "two notes")
    driver.mend()
    sampler.until(
        lambda picture: states(picture) == ["", ""] and "slow" in picture.seen, "both cards"
    )

    told = [note.words for note in sampler.picture.notes]
    assert (
        told[0]
        == "the process that watches the cards crashed (SIGABRT): it is asked again in 0.5 s"
    )
    assert told[1].endswith("in 1 s")


def test_that_a_sampler_that_is_killed_is_started_anew(driver, owned):
    sampler = owned()
    sampler.until(lambda picture: "fast" in picture.seen, "figures")
    os.kill(sampler.supervisor.pid, signal.SIGKILL)
    sampler.until(lambda picture: picture.notes, "the note")
    sampler.until(sampler.since_now("fast"), "figures")
    assert "crashed (SIGKILL)" in sampler.picture.notes[0].words
    assert [type(sample) for sample in sampler.samples].count(Owner) == 1


def test_that_an_xid_of_a_real_event_set_is_told(driver, owned):
    sampler = owned()
    sampler.until(lambda picture: "fast" in picture.seen, "figures")
    driver.raise_xid(1, 48)
    sampler.until(lambda picture: picture.events, "the event")

    event = sampler.picture.events[0]
    assert (event.card, event.code) == ("GPU-7e570000-0000-4000-8000-000000000001", 48)


def test_that_the_sampler_ends_when_its_owner_is_gone(driver):
    code = (
        "import os, subprocess, sys, signal\n"
        "from gpu_studio.hardware.supervision import sampler_command\n"
        "child = subprocess.Popen(sampler_command(), stdin=subprocess.PIPE, "
        "stdout=subprocess.DEVNULL)\n"
        "print(child.pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        timeout=PATIENCE_S,
        text=True,
        check=False,
    )
    orphan = int(done.stdout)
    with suppress(psutil.NoSuchProcess):
        psutil.Process(orphan).wait(PATIENCE_S)
    assert not psutil.pid_exists(orphan)


def test_that_requests_are_obeyed_and_nonsense_is_passed_over(driver):
    process = subprocess.Popen(
        sampler_command(["host"]), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        process.stdin.write(b'nonsense\n{"classes": 3}\n\xff\n{"classes": ["slow"]}\n')
        process.stdin.flush()
        kinds = []
        for line in process.stdout:
            kinds.append(json.loads(line)["sample"])
            if kinds[-1] == "slow":
                break
        process.stdin.close()
        process.stdout.read()
        assert process.wait(PATIENCE_S) == 0
    assert "fast" not in kinds


def test_that_the_sampler_loads_nothing_heavy(driver):
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", *sampler_command()[2:]],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    _, errors = process.communicate("", timeout=PATIENCE_S)
    loaded = {
        line.rpartition("|")[2].strip()
        for line in errors.splitlines()
        if line.startswith("import time")
    }

    assert "pynvml" in loaded
    own = {"gpu_studio.plan", "gpu_studio.contract.directory", "gpu_studio.contract.events"}
    assert loaded.isdisjoint({"numpy", "PySide6", "tensorflow", "rich", "asyncio", *own})
