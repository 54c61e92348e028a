"""The rules over what is known of a live run.

When they begin, when they end, and that nothing flickers.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_disks import SmallDisk

from gpu_studio.contract import events
from gpu_studio.contract.failure_texts import is_disk_full
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.warnings import LINGER_SECONDS, CardSight, Concern, concerns_of

GIB = 1024**3


class Reported:
    """A history that is told of calls, one a second, and looked at."""

    def __init__(self, strategy: str = "mirrored", from_step: int = 0) -> None:
        self.history, self.now, self.step, self.held = History(), 1000.0, from_step, ()
        self.tell(
            events.Started(
                run="r", plan="p", pid=1, host="h", gpu_studio="0", python="3", from_step=from_step
            )
        )
        self.tell(events.Devices(logical=[], replicas=["GPU:0", "GPU:1"], strategy=strategy))
        self.tell(
            events.Model(
                name="m", parameters=1, trainable=1, layers=[], data="d", train_samples=100,
                validation_samples=0, test_samples=0, epochs=9, steps_per_epoch=100,
                global_batch=10, replica_batches=[5, 5], optimizer="sgd", loss="l",
                precision="float32",
            )
        )  # fmt: skip
        self.tell(events.StateChanged(state="running"))

    def tell(self, event: events.Event) -> None:
        from msgspec.structs import replace

        self.history.apply(replace(event, time=self.now, seq=self.history.revision))

    def train(
        self, calls: int, *, waited: float = 0.02, loss: float | None = 1.0, seconds: float = 1.0
    ) -> Reported:
        for _ in range(calls):
            self.now += seconds
            self.tell(
                events.Steps(epoch=1, first_step=self.step, losses=[loss], samples=10,
                             seconds=seconds * 0.9, input_seconds=seconds * 0.9 * waited)
            )  # fmt: skip
            self.step += 1
        return self

    def use(self, share: float, device: str = "GPU:0", limit: int | None = GIB) -> Reported:
        memory = events.DeviceMemory(
            device=device,
            current=int(share * GIB),
            peak=int(share * GIB),
            source="allocator",
            limit=limit,
        )
        self.tell(events.Memory(devices=[memory]))
        return self

    def look(
        self, *cards: CardSight, after: float = 0.0, disk_full: bool = False
    ) -> dict[str, Concern]:
        self.now += after
        self.held = concerns_of(
            self.history, cards, now=self.now, before=self.held, disk_full=disk_full
        )
        return {concern.key: concern for concern in self.held}


def test_that_a_run_that_goes_well_gives_nothing_to_see_to() -> None:
    cards = (CardSight("GPU:0", 93.0), CardSight("GPU:1", 91.0))
    assert Reported().use(0.5).train(40).look(*cards) == {}


def test_that_waiting_for_data_begins_at_a_quarter_and_ends_at_less_than_fifteen_percent() -> None:
    told = Reported()
    assert told.train(9, waited=0.4).look() == {}
    concern = told.train(31, waited=0.4).look()["input"]
    assert concern.text == "40 % of the training time goes by waiting for data."
    assert "disk" in concern.suggestion
    assert "input" in told.train(40, waited=0.2).look()
    assert told.train(40, waited=0.1).look() == {}
    assert told.train(40, waited=0.2).look() == {}


def profiled(exposed: float, version: int = 1) -> events.Communication:
    return events.Communication(
        step=2, steps=5, replicas=2, seconds=0.02, input_seconds=0.0, compute=0.02 - exposed,
        exposed=exposed, devices=[], version=version,
    )  # fmt: skip


def test_that_a_step_that_goes_by_in_communication_is_told_with_what_to_do() -> None:
    told = Reported()
    told.tell(profiled(0.009))
    assert told.train(9).look() == {}
    concern = told.train(9).look()["communication"]
    assert concern.text == "45 % of a step goes by in communication between the devices."
    assert concern.suggestion == "Train on larger batches, on fewer devices, or on one."
    told = Reported("central_storage")
    told.tell(profiled(0.009))
    assert (
        "keeps the weights where they are used" in told.train(20).look()["communication"].suggestion
    )
    told.tell(events.StateChanged(state="paused"))
    assert told.look(after=LINGER_SECONDS) == {}


@pytest.mark.parametrize("told_of", [profiled(0.007), profiled(0.009, version=2)])
def test_that_little_communication_and_what_later_rules_call_so_is_no_concern(told_of) -> None:
    told = Reported()
    told.tell(told_of)
    assert told.train(40).look() == {}


def test_that_memory_near_its_limit_is_told_by_device_and_not_where_there_is_none() -> None:
    told = Reported().use(0.93).use(0.99, "GPU:1", limit=None).use(0.5, "GPU:2")
    concern = told.look()["memory GPU:0"]
    assert (concern.text, concern.since) == ("GPU:0 uses 93 % of its memory limit.", told.now)
    assert "memory GPU:0" in told.use(0.9).look()
    told.use(0.8)
    assert told.look(after=LINGER_SECONDS) == {}


def test_that_what_hovers_about_its_threshold_stays_and_began_when_it_did() -> None:
    told = Reported().use(0.93)
    since = told.look()["memory GPU:0"].since
    for share in (0.91, 0.93, 0.86, 0.92, 0.84, 0.95):
        told.use(share)
        assert told.look(after=4.0)["memory GPU:0"].since == since


def test_that_a_loss_that_is_no_number_names_the_first_step_and_stands_on_top() -> None:
    told = Reported().use(0.99).train(5).train(3, loss=None)
    found = told.look()
    assert list(found) == ["not finite", "memory GPU:0"]
    assert found["not finite"].text == "The loss is not a number from step 6 on."
    assert found["not finite"].level == "error"


def test_that_a_resumed_run_gives_no_alarm_before_its_first_step() -> None:
    assert Reported(from_step=2506).look(after=20.0) == {}


def test_that_a_resumed_run_gives_no_alarm_for_what_the_run_before_had_lost() -> None:
    told = Reported(from_step=3)
    told.history.inherit(
        events.Steps(epoch=1, first_step=0, losses=[1.0, 1.0, None], samples=30, seconds=1.0)
    )
    assert told.look(after=20.0) == {}


def test_that_a_resumed_run_whose_first_loss_is_no_number_is_told_at_once() -> None:
    found = Reported(from_step=2506).train(1, loss=None).look()
    assert found["not finite"].text == "The loss is not a number from step 2,507 on."


@pytest.mark.parametrize(
    ("strategy", "mine", "others", "told"),
    [
        ("mirrored", 3.0, (90.0, 80.0), True),
        ("mirrored", 30.0, (90.0, 80.0), False),
        ("mirrored", 3.0, (9.0, 8.0), False),
        ("mirrored", 3.0, (), False),
        ("mirrored", None, (90.0, 80.0), False),
        ("placed", 3.0, (90.0, 80.0), False),
    ],
)
def test_that_a_replica_is_idle_only_beside_others_that_work(strategy, mine, others, told) -> None:
    cards = [
        CardSight("GPU:0", mine),
        *(CardSight(f"GPU:{n}", percent) for n, percent in enumerate(others, 1)),
    ]
    assert ("idle GPU:0" in Reported(strategy).train(5).look(*cards)) is told


def test_that_a_card_without_a_replica_may_be_idle() -> None:
    cards = (
        CardSight("GPU:0", 95.0),
        CardSight("GPU:1", 95.0),
        CardSight("GPU:2", 0.0, trains=False),
    )
    assert Reported().train(5).look(*cards) == {}


@pytest.mark.parametrize(
    ("reasons", "advice"),
    [
        (("power limit",), "nvidia-smi -pl"),
        (("temperature (hardware)",), "too hot"),
        (("something new",), ""),
    ],
)
def test_that_a_slowed_card_says_by_what_and_what_helps(reasons, advice) -> None:
    concern = Reported().look(CardSight("GPU:1", held_by=reasons))["throttled GPU:1"]
    assert concern.text == f"GPU:1 is slowed down by: {reasons[0]}."
    assert advice in concern.suggestion


def test_that_ten_usual_calls_without_a_step_are_told_of_but_not_in_a_pause() -> None:
    told = Reported().train(12, seconds=4.0)
    assert told.look(after=30.0) == {}
    assert (
        told.look(after=6.0)["no progress"].text
        == "No step has ended for 36 s; a call usually takes 3.6 s."
    )
    told.train(1)
    assert "no progress" in told.look()
    assert told.look(after=LINGER_SECONDS) == {}
    told.tell(events.StateChanged(state="paused"))
    assert told.look(after=3600.0) == {}
    told.tell(events.StateChanged(state="running"))
    assert told.look(after=5.0) == {}


def test_that_the_end_of_an_epoch_is_given_time() -> None:
    told = Reported().train(100)
    assert told.look(after=100.0) == {}
    assert "no progress" in told.look(after=30.0)


def test_that_what_the_trainer_warns_of_is_told_once_with_its_time() -> None:
    told = Reported()
    for _ in range(3):
        told.tell(events.Warned(message="The disk is slow.", suggestion="Use another."))
        told.now += 1
    (concern,) = told.look().values()
    assert (concern.said, concern.since, concern.reported) == (
        "The disk is slow. Use another.",
        1000.0,
        True,
    )


def test_that_a_run_that_has_ended_gives_nothing_to_see_to() -> None:
    told = Reported().use(0.99).train(20, waited=0.9)
    assert len(told.look()) == 2
    told.tell(events.Failed(message="x", suggestions=[]))
    assert told.look() == {}


@given(st.lists(st.tuples(st.floats(0, 1.2), st.floats(0.1, 30)), max_size=30))
def test_that_a_concern_stands_at_least_as_long_as_it_lingers_and_never_while_all_is_well(
    story,
) -> None:
    told, last_bad = Reported(), None
    for share, passed in story:
        told.use(share)
        before = told.held
        found = told.look(after=passed)
        if share > 0.9201:
            assert "memory GPU:0" in found
            last_bad = told.now
        elif share < 0.8799 and not before:
            assert found == {}
        if last_bad is not None and told.now - last_bad < LINGER_SECONDS:
            assert "memory GPU:0" in found


def test_that_a_full_disk_is_told_as_long_as_it_is_full() -> None:
    run = Reported().train(3)
    (concern,) = run.look(disk_full=True).values()
    assert concern.text.startswith("The disk that holds this run is full")
    assert run.look(after=LINGER_SECONDS + 1) == {}


def test_that_a_disk_is_full_when_it_has_no_room_for_a_line(small_disk: SmallDisk) -> None:
    assert not is_disk_full(small_disk.path)
    small_disk.leave(4096)
    assert is_disk_full(small_disk.path)
    assert not is_disk_full(small_disk.path / "gone")
