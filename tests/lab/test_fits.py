"""Laws of scaling are recovered from times that are known, and verdicts follow them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpu_studio.lab.fits import fit, karp_flatt
from gpu_studio.lab.study import Study
from gpu_studio.lab.study_picture import picture_of
from gpu_studio.lab.verdict import PointGroup, straggler, verdict_of

DEVICES = np.repeat(np.arange(1.0, 9.0), 3)
STRONG = Study("strong", "a.plan.toml", "scaling-strong")


def seconds(serial: float, added: float, devices: np.ndarray = DEVICES) -> np.ndarray:
    """Times of a step of a second whose serial part and cost for each device are known."""
    return serial + (1 - serial) / devices + added * (devices - 1)


def groups(devices: np.ndarray, times: np.ndarray, batch: int = 256) -> list[PointGroup]:
    """What a study would have measured, a group for each number of devices."""
    return [
        PointGroup(
            f"{int(count)} devices",
            float(count),
            rates=tuple(batch / times[devices == count]),
            step_seconds=tuple(times[devices == count]),
        )
        for count in np.unique(devices)
    ]


@pytest.mark.parametrize("serial", [0.01, 0.07, 0.4])
@pytest.mark.parametrize("added", [0.001, 0.03])
def test_that_a_serial_part_and_communication_are_recovered_without_noise(serial, added):
    found = fit("communication", DEVICES, seconds(serial, added))
    assert found.serial is not None
    assert found.communication is not None
    assert found.serial.value == pytest.approx(serial, rel=0.02)
    assert found.communication.value == pytest.approx(added, rel=0.02)
    alone = fit("amdahl", DEVICES, seconds(serial, 0.0)).serial
    assert alone is not None
    assert alone.value == pytest.approx(serial, rel=0.02)


def test_that_gustafsons_serial_part_is_recovered_from_steps_of_a_fixed_batch_each():
    speed_up = DEVICES - (DEVICES - 1) * 0.12
    found = fit("gustafson", DEVICES, DEVICES / speed_up).serial
    assert found is not None
    assert found.value == pytest.approx(0.12, rel=0.02)


@pytest.mark.slow
def test_that_nineteen_intervals_of_twenty_have_the_truth_in_them():
    drawn, inside = np.random.default_rng(1), np.zeros(2)
    for trial in range(1000):
        noise = 1 + 0.05 * drawn.standard_normal(len(DEVICES))
        found = fit("communication", DEVICES, seconds(0.1, 0.01) * noise, trial)
        assert found.serial is not None
        assert found.communication is not None
        inside += (
            found.serial.low <= 0.1 <= found.serial.high,
            found.communication.low <= 0.01 <= found.communication.high,
        )
    assert (inside >= 930).all(), inside
    assert (inside <= 970).all(), inside


@pytest.mark.slow
def test_that_the_recommended_number_of_devices_is_hardly_slower_than_the_best():
    drawn, devices = np.random.default_rng(2), np.arange(1.0, 9.0)
    for _ in range(200):
        serial, added = drawn.uniform(0, 0.5), 10 ** drawn.uniform(-4, -0.5)
        noise = 1 + 0.02 * drawn.standard_normal(len(DEVICES))
        verdict = verdict_of(STRONG, groups(DEVICES, seconds(serial, added) * noise))
        true = seconds(serial, added, devices)
        chosen = true[int(verdict.chosen.split()[0]) - 1]
        assert chosen <= true.min() * 1.03, (serial, added, verdict)


def test_that_fewer_devices_than_coefficients_are_refused_and_two_need_no_interval():
    with pytest.raises(ValueError, match="3 different numbers of devices"):
        fit("communication", np.array([1.0, 2.0]), np.array([1.0, 0.6]))
    found = fit("amdahl", np.array([1.0, 2.0]), np.array([1.0, 0.6])).serial
    assert found is not None
    assert found.value == pytest.approx(0.2)
    assert np.isnan(found.low)


def test_that_karp_and_flatt_give_the_serial_part_of_each_speed_up():
    implied = karp_flatt(np.array([1.0, 1 / (0.1 + 0.9 / 4)]), np.array([1.0, 4.0]))
    assert np.isnan(implied[0])
    assert implied[1] == pytest.approx(0.1)


def test_that_what_more_devices_bring_is_said_and_a_larger_batch_named():
    times = seconds(0.3, 0.02, np.repeat([1.0, 2.0, 3.0, 4.0], 2))
    verdict = verdict_of(STRONG, groups(np.repeat([1.0, 2.0, 3.0, 4.0], 2), times), batch=256)
    assert verdict.headline.startswith("Four devices: 1.9 times as fast as one device.")
    assert "the third gains 17 %" in verdict.headline
    assert any("with a batch of 2,048" in line for line in verdict.more)


def test_that_differences_within_the_noise_are_called_that():
    rates = {1.0: (100.0, 104.0, 96.0), 2.0: (103.0, 98.0, 101.0)}
    found = [
        PointGroup(f"{int(x)} devices", x, each, tuple(64 / rate for rate in each))
        for x, each in rates.items()
    ]
    verdict = verdict_of(STRONG, found)
    assert "within the noise" in verdict.headline
    assert verdict.chosen == "1 devices"


@pytest.mark.parametrize(
    ("two", "words"),
    [
        (1.96, "Two devices: 2 times as fast as one device."),
        (1.14, "Two devices are 14 % faster than one device."),
        (1.02, "Two devices are 2 % faster than one device."),
    ],
)
def test_that_a_small_gain_is_told_in_percent_and_never_as_once_as_fast(two, words):
    verdict = verdict_of(STRONG, groups(np.array([1.0, 2.0]), np.array([1.0, 1 / two])))
    assert verdict.headline.startswith(words)


@pytest.mark.parametrize(
    ("two", "words"),
    [
        (1.0, "Two devices are no faster than one device, but the law of all points says"),
        (1.006, "Two devices were 1 % slower than one device, but the law of all points"),
    ],
)
def test_that_what_only_the_law_favours_is_said_to_have_been_no_faster(two, words):
    found = groups(np.arange(1.0, 5.0), np.array([1.0, two, 0.985, 0.985]))
    verdict = verdict_of(STRONG, found)
    assert (verdict.chosen, verdict.headline[: len(words)]) == ("2 devices", words)


def test_that_a_study_under_way_is_not_advised_the_repeats_that_it_has():
    """One with three repeats was told to use three, until the first point was measured again."""
    devices = np.array([1.0, 2.0, 4.0])
    found = groups(devices, seconds(0.1, 0.01, devices))
    for template in ("scaling-strong", "strategies"):
        once = Study("one", "a.plan.toml", template)
        again = replace(once, repeats=3)
        assert "use repeats = 3" in " ".join(verdict_of(once, found).more)
        said = verdict_of(again, found).more
        assert "How much a measurement varies is known once" in " ".join(said)
        assert "use repeats" not in " ".join(said)


def test_that_no_more_devices_are_recommended_where_all_differences_are_within_the_noise():
    noisy = {1.0: (70.0, 100.0, 130.0), 2.0: (100.0, 140.0, 180.0)}
    found = [
        PointGroup(f"{int(x)} devices", x, each, tuple(64 / rate for rate in each))
        for x, each in noisy.items()
    ]
    verdict = verdict_of(STRONG, found)
    assert verdict.headline.startswith(
        "One device is enough: the differences are within the noise."
    )


def test_that_the_device_that_all_wait_for_is_named():
    times = {"GPU:0": 0.010, "GPU:1": 0.016, "GPU:2": 0.010}
    late = straggler(PointGroup("3 devices", 3.0, (1.0,), (1.0,), computing=(times, times)))
    assert "Every step waits for GPU:1." in late
    even = dict.fromkeys(times, 0.010)
    assert straggler(PointGroup("3 devices", 3.0, (1.0,), (1.0,), computing=(even,))) == ""
    assert straggler(PointGroup("1 device", 1.0, (1.0,), (1.0,), computing=({"GPU:0": 1.0},))) == ""


def test_that_a_device_that_is_late_in_one_run_of_several_is_no_straggler():
    late, early = {"CPU:0": 0.0127, "CPU:1": 0.0089}, {"CPU:0": 0.0080, "CPU:1": 0.0088}
    for computing in ((late, early), (early, late), (late, {"CPU:0": 0.008, "CPU:1": 0.013})):
        assert straggler(PointGroup("2 devices", 2.0, (1.0,), (1.0,), computing=computing)) == ""


def test_that_a_sweep_has_its_best_by_the_loss_with_the_spread_over_seeds():
    sweep = Study("sweep", "a.plan.toml", "sweep")
    found = [
        PointGroup("learning rate 0.1", 0.1, (1.0,) * 3, (1.0,) * 3, (0.50, 0.52, 0.48)),
        PointGroup("learning rate 0.01", 0.01, (1.0,) * 3, (1.0,) * 3, (0.30, 0.31, 0.29)),
    ]
    verdict = verdict_of(sweep, found)
    assert verdict.headline.startswith("Learning rate 0.01 has the lowest loss: 0.3000 ± 0.01")
    assert verdict.chosen == "learning rate 0.01"


def test_that_a_point_that_diverged_is_told_and_never_the_best_of_a_sweep():
    sweep = Study("sweep", "a.plan.toml", "sweep")
    found = [
        PointGroup("learning rate 10", 10.0, (1.0,) * 3, (1.0,) * 3, (0.10,)),
        PointGroup("learning rate 0.01", 0.01, (1.0,) * 3, (1.0,) * 3, (0.30, 0.31, 0.29)),
        PointGroup("learning rate 20", 20.0, (1.0,) * 3, (1.0,) * 3),
    ]
    verdict = verdict_of(sweep, found)
    assert verdict.headline.startswith("Learning rate 0.01 has the lowest loss: 0.3000 ± 0.01")
    assert verdict.more == (
        "learning rate 10: the last loss of 2 of 3 runs is not a number.",
        "learning rate 20: the last loss of 3 of 3 runs is not a number.",
    )
    picture = picture_of(sweep, found, verdict)
    assert picture is not None
    assert [each.label for each in picture.points] == ["learning rate 0.01"]


def test_that_far_slower_devices_are_not_said_to_be_within_the_noise():
    times = {1.0: (1.0, 1.02), 2.0: (1.005, 1.02), 4.0: (2.0, 2.04)}
    groups = [
        PointGroup(f"{count:.0f} devices", count, tuple(256 / each for each in both), both)
        for count, both in times.items()
    ]
    verdict = verdict_of(Study("s", "p", "scaling-strong"), groups, 256)
    assert verdict.headline.startswith(
        "One device is enough: more are not faster beyond the noise. The second makes no"
    )


def test_that_slower_devices_are_not_recommended_where_the_noise_hides_that_they_are():
    times = {1.0: (0.0300, 0.0372), 2.0: (0.0420, 0.0680)}
    groups = [
        PointGroup(f"{count:.0f} devices", count, tuple(256 / each for each in both), both)
        for count, both in times.items()
    ]
    verdict = verdict_of(Study("s", "p", "scaling-strong"), groups, 256)
    assert verdict.headline.startswith(
        "One device is enough: the differences are within the noise."
    )
    assert verdict.chosen == "1 devices"
