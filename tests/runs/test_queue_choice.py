"""What a queued plan needs, and what it waits for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_machines import TWO_CARDS, WITHOUT_CARDS
from real_runs import PLAN

from gpu_studio.plan import MIB, CardUser, Machine, with_settings
from gpu_studio.plan.card_memory import CONTEXT_MIB, KEPT_OF_FEW_MIB, OUTSIDE_MIB
from gpu_studio.runs.queue_choice import (
    WHOLE_CARD,
    Need,
    Occupant,
    Waiting,
    first_to_start,
    in_words,
    needs_of,
    never_fits,
    waits_for,
    waits_now,
)
from gpu_studio.runs.queue_entry import Wait

GIB = 1024 * MIB
CPU, CARDS = "CPU:0", ("GPU:0", "GPU:1")
SLICED = with_settings(
    PLAN,
    [
        "devices.carve=[{ device = 'GPU:1', slices_mib = [1024, 2048] }]",
        "distribution.strategy=mirrored",
    ],
)
KEPT_BACK = CONTEXT_MIB + 1800
"""What CUDA and its libraries get of a card whose compute capability is not known, in MiB."""
WHOLE = int((24_576 - 300 - KEPT_BACK) * WHOLE_CARD) * MIB


def with_free(*mib: int) -> Machine:
    """Two cards with this much free."""
    cards = (
        replace(card, used_mib=card.usable_mib - free)
        for card, free in zip(TWO_CARDS.cards, mib, strict=True)
    )
    return replace(TWO_CARDS, cards=tuple(cards))


def test_that_a_plan_for_cpus_needs_the_machine_for_itself() -> None:
    needs = needs_of(PLAN, WITHOUT_CARDS, {})
    assert needs == (Need("CPU:0"),)
    assert waits_for(needs, WITHOUT_CARDS, ()) == ""
    one, other = (
        Occupant("one", frozenset({"CPU:0"}), holds=False),
        Occupant("other", frozenset(), holds=False),
    )
    assert waits_for(needs, WITHOUT_CARDS, (one,)) == "waits for one to end"
    assert waits_for(needs, WITHOUT_CARDS, (one, other)) == "waits for 2 runs to end"
    assert in_words(needs) == "the CPU, with no other run"


def test_that_slices_are_needed_whole_and_a_card_without_slices_nearly_so() -> None:
    assert needs_of(SLICED, TWO_CARDS, {}) == (
        Need("GPU:0", WHOLE, guessed=True),
        Need("GPU:1", 3 * GIB, carved=True),
    )
    assert needs_of(PLAN, TWO_CARDS, {}) == (Need("GPU:0", WHOLE, guessed=True),)


def test_that_a_slice_is_needed_whole_whatever_was_predicted_and_a_card_as_predicted() -> None:
    """TensorFlow takes a slice whole at its first use; of a card it takes what is free."""
    predicted = {"GPU:0": 2 * GIB, "GPU:1": GIB // 2, "GPU:2": GIB // 2}
    sliced = Need("GPU:1", 3 * GIB, carved=True)
    assert needs_of(SLICED, TWO_CARDS, predicted) == (Need("GPU:0", 2 * GIB), sliced)
    assert needs_of(SLICED, TWO_CARDS, {})[1] == sliced


def test_that_the_slice_of_the_variables_is_needed_though_no_replica_is_there() -> None:
    central = ["distribution.strategy=central_storage", "distribution.devices=['GPU:1', 'GPU:2']"]
    plan = with_settings(SLICED, [*central, "distribution.parameter_device=GPU:0"])
    assert [need.device for need in needs_of(plan, TWO_CARDS, {})] == ["GPU:1", "GPU:0"]


def test_that_what_is_certainly_lacking_now_is_told_but_not_a_whole_card_that_was_guessed() -> None:
    needs = needs_of(SLICED, TWO_CARDS, {})
    full = with_free(100, 1229 + OUTSIDE_MIB)
    assert waits_now(needs, full) == "waits for 3 GiB on GPU 1: 1.2 GiB can be had now"
    assert waits_now(needs, with_free(100, 3072 + OUTSIDE_MIB)) == ""
    assert waits_now(needs_of(PLAN, TWO_CARDS, {"GPU:0": GIB}), full).startswith("waits for 1 GiB")


def test_that_only_devices_which_work_are_waited_for() -> None:
    plan = with_settings(SLICED, ["distribution.devices=['GPU:2']"])
    assert needs_of(plan, TWO_CARDS, {}) == (Need("GPU:1", 2 * GIB, carved=True),)


def test_that_a_card_of_unknown_size_is_waited_for_only_while_a_run_is_on_it() -> None:
    unknown = replace(
        TWO_CARDS, cards=(replace(TWO_CARDS.cards[0], total_mib=None, used_mib=None),)
    )
    needs = needs_of(PLAN, unknown, {})
    assert needs == (Need("GPU:0", None, guessed=True),)
    assert waits_for(needs, unknown, ()) == ""
    busy = Occupant("busy", frozenset({"GPU:0"}), holds=False)
    assert waits_for(needs, unknown, (busy,)) == "waits for busy on GPU 0"
    assert in_words(needs) == "GPU 0"


def test_that_the_words_name_the_card_the_need_and_what_is_free() -> None:
    needs = needs_of(SLICED, TWO_CARDS, {"GPU:0": GIB})
    said = "waits for 3 GiB on GPU 1: 1.2 GiB can be had now"
    assert waits_for(needs, with_free(4096, 1229 + OUTSIDE_MIB), ()) == said
    assert waits_for(needs, with_free(4096, 3072 + OUTSIDE_MIB), ()) == ""
    assert in_words(needs) == "1 GiB on GPU 0, 3 GiB on GPU 1"


def test_that_who_holds_the_memory_is_named_with_what_each_has_and_a_run_by_its_id() -> None:
    users = (
        CardUser(4312, 18_637, "python train.py", "anna"),
        CardUser(99, 3072, "python -m gpu_studio.trainer"),
        CardUser(911, 410, "Xorg"),
        CardUser(912),
    )
    busy = replace(with_free(2048, 1229 + CONTEXT_MIB + KEPT_OF_FEW_MIB).cards[1], users=users)
    machine = replace(TWO_CARDS, cards=(TWO_CARDS.cards[0], busy))
    mine = Occupant("digits-1", frozenset({"GPU:1"}), holds=False, pid=99)
    said = waits_for((Need("GPU:1", 3 * GIB),), machine, (mine,))
    assert said == (
        "waits for 3 GiB on GPU 1: 1.2 GiB can be had now; held by python train.py 4312 of anna "
        "(18.2 GiB), digits-1 (3 GiB), 2 others"
    )
    assert Wait(said).what == "waits for 3 GiB on GPU 1"
    hidden = replace(machine, cards=(TWO_CARDS.cards[0], replace(busy, users=(CardUser(7),))))
    assert waits_for((Need("GPU:1", 3 * GIB),), hidden, ()).endswith(
        "1.2 GiB can be had now; held by process 7"
    )


def test_that_a_plan_that_needs_more_than_a_card_has_in_all_is_told_that_it_never_fits() -> None:
    most = TWO_CARDS.cards[1].usable_mib - KEPT_BACK
    assert never_fits((Need("GPU:0", GIB), Need("GPU:1", most * MIB)), with_free(0, 0)) == ""
    assert (
        never_fits((Need("GPU:1", 30 * GIB),), TWO_CARDS)
        == "needs 30 GiB on GPU 1, which can give 21.4 GiB"
    )
    unknown = replace(TWO_CARDS, cards=(replace(TWO_CARDS.cards[0], total_mib=None),))
    assert [
        never_fits((need,), unknown)
        for need in (Need("GPU:0", 99 * GIB), Need("GPU:7", GIB), Need(CPU))
    ] == [""] * 3


def test_that_a_run_which_holds_the_card_is_waited_for_whatever_is_free() -> None:
    needs = needs_of(SLICED, TWO_CARDS, {"GPU:0": GIB})
    queued = Occupant("queued", frozenset({"GPU:1"}), holds=True)
    by_hand = Occupant("by hand", frozenset({"GPU:1"}), holds=False)
    assert waits_for(needs, TWO_CARDS, (by_hand, queued)) == "waits for queued on GPU 1"
    assert waits_for(needs, TWO_CARDS, (by_hand,)) == ""
    assert waits_for((Need("GPU:0", GIB),), TWO_CARDS, (queued,)) == ""


def test_that_a_card_which_is_not_there_is_left_for_the_launch_to_refuse() -> None:
    assert waits_for((Need("GPU:7", GIB),), TWO_CARDS, ()) == ""


@given(need=st.integers(0, 30_000), free=st.integers(0, 24_000))
def test_that_a_plan_starts_exactly_if_its_memory_is_free(need: int, free: int) -> None:
    waits = waits_for((Need("GPU:0", need * MIB, carved=True),), with_free(free, 0), ())
    assert (waits == "") == (need <= max(0, free - OUTSIDE_MIB))


@pytest.mark.parametrize(
    "strategy", ["none", "one_device", "mirrored", "central_storage", "placed"]
)
def test_that_every_strategy_needs_something_of_each_device_that_works(strategy: str) -> None:
    plan = with_settings(SLICED, [f"distribution.strategy={strategy}"])
    assert all(need.bytes for need in needs_of(plan, TWO_CARDS, {}))
    assert needs_of(plan, TWO_CARDS, {})


def waiting(name: str, *devices: str, now: bool = False, lets_pass: bool = False) -> Waiting:
    """An entry that needs a GiB of each of these cards, or the CPU."""
    needs = tuple(Need(device, None if device == CPU else GIB) for device in devices)
    return Waiting(name, name, needs, now, lets_pass)


def busy(*runs: Waiting) -> list[Occupant]:
    """What is on the devices once these were started."""
    return [
        Occupant(f"run of {each.id}", frozenset(need.device for need in each.needs), holds=True)
        for each in runs
    ]


def test_that_a_free_card_is_kept_for_the_entry_that_waits_for_two() -> None:
    both, one, other = waiting("both", *CARDS), waiting("one", "GPU:1"), waiting("other", "GPU:0")
    chosen, waits = first_to_start([both, one, other], TWO_CARDS, busy(waiting("first", "GPU:0")))
    assert chosen is None
    assert waits == {
        "both": "waits for run of first on GPU 0",
        "one": "waits for its turn on GPU 1, after both",
        "other": "waits for its turn on GPU 0, after both",
    }
    assert first_to_start([both, one], TWO_CARDS, ())[0] == "both"


def test_that_a_card_which_nobody_before_waits_for_is_for_whoever_is_next() -> None:
    mine, later, free = (
        waiting("mine", "GPU:0"),
        waiting("later", "GPU:0"),
        waiting("free", "GPU:1"),
    )
    chosen, waits = first_to_start([mine, later, free], TWO_CARDS, busy(waiting("first", "GPU:0")))
    assert (chosen, list(waits)) == ("free", ["mine", "later"])


def test_that_an_entry_that_lets_others_pass_keeps_nothing_but_is_first_if_it_can_start() -> None:
    polite, one, cpu = (
        waiting("polite", *CARDS, lets_pass=True),
        waiting("one", "GPU:1"),
        waiting("cpu", CPU),
    )
    on_first = busy(waiting("first", "GPU:0"))
    assert first_to_start([polite, one], TWO_CARDS, on_first) == (
        "one",
        {"polite": "waits for run of first on GPU 0"},
    )
    assert first_to_start([polite, one], TWO_CARDS, ())[0] == "polite"
    chosen, waits = first_to_start(
        [waiting("kept", "GPU:1"), polite], TWO_CARDS, busy(waiting("second", "GPU:1"))
    )
    assert (chosen, waits["polite"]) == (None, "waits for its turn on GPU 1, after kept")
    assert first_to_start([replace(cpu, lets_pass=True), one], TWO_CARDS, on_first)[0] == "one"


def test_that_nobody_goes_before_the_one_that_needs_the_machine_without_any_other_run() -> None:
    cpu, card = waiting("cpu", CPU), waiting("card", "GPU:1")
    chosen, waits = first_to_start([cpu, card], TWO_CARDS, busy(waiting("first", "GPU:0")))
    assert (chosen, waits["card"]) == (None, "waits for its turn, after cpu")
    assert first_to_start([card, cpu], TWO_CARDS, busy(waiting("first", "GPU:0")))[0] == "card"


def test_that_who_waits_for_its_turn_is_told_the_last_one_before_it() -> None:
    """All were told the first one, as if the others would start together after it."""
    queue = [waiting(name, CPU) for name in ("one", "two", "three")]
    _, waits = first_to_start(queue, TWO_CARDS, busy(waiting("zero", CPU)))
    assert waits["two"] == "waits for its turn, after one"
    assert waits["three"] == "waits for its turn, after two"
    cards = [waiting("both", *CARDS), waiting("a", "GPU:1"), waiting("b", "GPU:0")]
    queue = [*cards, waiting("last", "GPU:1")]
    _, waits = first_to_start(queue, TWO_CARDS, busy(waiting("zero", "GPU:0")))
    assert waits["b"] == "waits for its turn on GPU 0, after both"
    assert waits["last"] == "waits for its turn on GPU 1, after a"


def test_that_an_entry_that_shall_start_now_waits_for_nobody() -> None:
    chosen, waits = first_to_start(
        [waiting("both", *CARDS), waiting("urgent", "GPU:0", now=True)],
        TWO_CARDS,
        busy(waiting("first", "GPU:0")),
    )
    assert (chosen, list(waits)) == ("urgent", ["both"])


PLACES = st.sampled_from([("GPU:0",), ("GPU:1",), CARDS, (CPU,)])


@given(first=st.lists(PLACES, max_size=4), newcomers=st.lists(PLACES, max_size=15))
def test_that_no_entry_starts_on_what_an_earlier_one_waits_for_and_none_waits_for_ever(
    first, newcomers
) -> None:
    queue = [waiting(f"first {number}", *devices) for number, devices in enumerate(first)]
    alive: list[Waiting] = []
    # After each decision an entry comes, and the oldest run ends. Of the three that there can be
    # (on two cards and the CPU) each is over after three, so that who waited at the beginning has
    # no newcomer to wait for.
    enough = 3 * len(first) + 3
    for number in range(len(newcomers) + enough):
        while (chosen := first_to_start(queue, TWO_CARDS, busy(*alive))[0]) is not None:
            place = next(place for place, each in enumerate(queue) if each.id == chosen)
            wanted = {need.device for each in queue[:place] for need in each.needs}
            assert not wanted & {need.device for need in queue[place].needs}
            assert CPU not in wanted
            alive.append(queue.pop(place))
        if number < len(newcomers):
            queue.append(waiting(f"newcomer {number}", *newcomers[number]))
        if alive:
            alive.pop(0)
        if number >= enough:
            assert not [each.id for each in queue if each.id.startswith("first")]
