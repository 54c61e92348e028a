"""Warnings that need the model, the data or the predicted memory."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_machines import TWO_CARDS, WITHOUT_CARDS
from made_plan_facts import DATA, FACTS, MODEL, THREE_LAYERS

from gpu_studio.placement.cautions import cautions_with
from gpu_studio.placement.memory import predict
from gpu_studio.placement.plan_facts import (
    SCALED_AGAIN,
    ArrayFacts,
    Learnt,
    ModelNote,
    PlanFacts,
)
from gpu_studio.plan import (
    CardUser,
    Carve,
    Data,
    DeviceSettings,
    Distribution,
    Machine,
    ModelSettings,
    Plan,
    Training,
    validate,
)
from gpu_studio.plan.card_memory import CONTEXT_MIB, KEPT_OF_FEW_MIB
from gpu_studio.plan.data import STRATIFY
from gpu_studio.plan.keras_objects import Kind
from gpu_studio.plan.values import Caution
from gpu_studio.runs.queue_choice import needs_of, waits_for


def a_plan(
    batch: int, strategy: str = "mirrored", scope: str = "global", carve: tuple[Carve, ...] = ()
) -> Plan:
    return Plan(
        "made",
        DeviceSettings(carve=carve),
        ModelSettings("mlp"),
        Data("digits"),
        Training(batch_size=batch, batch_scope=scope),
        Distribution(strategy),
    )


def the(name: str, plan: Plan, machine: Machine, facts: PlanFacts = FACTS) -> Caution:
    [found] = [each for each in cautions_with(plan, machine, facts) if each.name == name]
    return found


def names(plan: Plan, machine: Machine, facts: PlanFacts = FACTS) -> list[str]:
    return [each.name for each in cautions_with(plan, machine, facts)]


def mended(caution: Caution, plan: Plan, machine: Machine, facts: PlanFacts = FACTS) -> Plan:
    """The mended plan, of which the same is no longer said."""
    assert caution.mend is not None
    after = caution.mend.make(plan)
    assert caution.name not in names(after, machine, facts)
    assert validate(after, machine) == []
    return after


@pytest.mark.parametrize("scope", ["global", "replica"])
def test_that_a_batch_too_large_for_a_slice_is_cut_to_the_largest_that_fits(scope):
    plan = a_plan(30_000, carve=(Carve("GPU:0", (2, 2)),), scope=scope)
    plan = replace(plan, distribution=replace(plan.distribution, devices=("GPU:0", "GPU:1")))
    mended(the("too much memory", plan, TWO_CARDS), plan, TWO_CARDS)
    larger, smaller = the("too much memory", plan, TWO_CARDS).remedies
    assert larger.label.startswith("Slices of ")
    after = smaller.make(plan)
    assert all(memory.fits is not False for memory in predict(after, TWO_CARDS, FACTS))
    twice = replace(
        after, training=replace(after.training, batch_size=2 * after.training.batch_size)
    )
    assert any(memory.fits is False for memory in predict(twice, TWO_CARDS, FACTS))


OUTSIDE_MIB = CONTEXT_MIB + KEPT_OF_FEW_MIB
"""What CUDA and its libraries get of a card that has little free."""


def crowded(*free: int, users: tuple[CardUser, ...] = ()) -> Machine:
    """Two cards with so many MiB for tensors now, the rest held by others."""
    cards = zip(TWO_CARDS.cards, free, strict=True)
    held = [
        replace(card, used_mib=(card.usable_mib or 0) - room - OUTSIDE_MIB, users=users)
        for card, room in cards
    ]
    return replace(TWO_CARDS, cards=tuple(held))


GRACE = CardUser(4711, 24_000, "python", "grace")


def test_that_what_others_hold_is_no_room_and_they_are_named() -> None:
    plan, machine = a_plan(30_000, "one_device"), crowded(10, 1000, users=(GRACE,))
    caution = the("too much memory", plan, machine)
    assert "on GPU:0" in caution.text
    assert caution.text.endswith("10 MiB are free now.")
    assert "GPU 0 is held by python 4711 of grace (23.4 GiB): 747 MiB are left" in caution.why
    assert "of which CUDA and its libraries get 737 MiB" in caution.why
    assert caution.waits


def test_that_who_holds_a_card_is_named_also_where_a_step_is_too_large_for_all_of_it() -> None:
    crowd = crowded(10, 1000, users=(GRACE,))
    cards = tuple(replace(card, total_mib=2000, used_mib=1200) for card in crowd.cards)
    plan, machine = a_plan(3_000_000, "one_device"), replace(crowd, cards=cards)
    caution = the("too much memory", plan, machine)
    assert not caution.waits
    assert caution.text.endswith("are free now.")
    assert "GPU 0 is held by python 4711 of grace" in caution.why
    assert "A run alone on it has " in caution.why


def test_that_of_a_whole_free_card_it_is_told_what_cuda_gets() -> None:
    card = replace(
        TWO_CARDS.cards[0], total_mib=TWO_CARDS.cards[0].reserved_mib + OUTSIDE_MIB + 10, used_mib=0
    )
    caution = the(
        "too much memory", a_plan(30_000, "one_device"), replace(TWO_CARDS, cards=(card,))
    )
    assert caution.text.endswith("10 MiB are there.")
    assert "Of the 747 MiB of GPU 0, CUDA and its libraries get 737 MiB." in caution.why
    assert not caution.waits


@pytest.mark.parametrize("used_mib", [0, 500])
def test_that_nothing_is_said_of_cuda_on_a_practice_card(used_mib: int) -> None:
    card = replace(TWO_CARDS.cards[0], practice=True, total_mib=520, used_mib=used_mib)
    machine, plan = replace(TWO_CARDS, cards=(card,)), a_plan(3_000_000, "one_device")
    assert "CUDA" not in the("too much memory", plan, machine).why


def test_that_every_way_out_of_too_little_memory_fits() -> None:
    plan, machine = a_plan(30_000, "one_device"), crowded(10, 1000)
    remedies = the("too much memory", plan, machine).remedies
    assert [way.label for way in remedies] == ["Use GPU 1", "Batch 4,096"]
    for way in remedies:
        after = way.make(plan)
        assert all(memory.fits is not False for memory in predict(after, machine, FACTS))
        assert validate(after, machine) == []
    assert remedies[0].make(plan).devices.visible == ("GPU:1",)


def test_that_no_card_is_offered_that_has_no_room_either() -> None:
    plan, machine = a_plan(30_000, "one_device"), crowded(10, 9)
    assert [way.label for way in the("too much memory", plan, machine).remedies] == ["Batch 4,096"]


def test_that_what_no_end_of_others_could_help_does_not_wait() -> None:
    plan = a_plan(30_000, "one_device", carve=(Carve("GPU:0", (2,)),))
    caution = the("too much memory", plan, crowded(2000, 1000))
    assert not caution.waits
    assert caution.text.endswith("2 MiB are there.")


@given(free=st.tuples(st.integers(0, 20), st.integers(0, 20)), batch=st.integers(1, 60_000))
def test_that_what_fits_is_what_the_queue_would_start(free: tuple[int, int], batch: int) -> None:
    plan, machine = a_plan(batch, "one_device"), crowded(*free)
    memory = predict(plan, machine, FACTS)
    needs = needs_of(plan, machine, {each.device: each.total for each in memory if each.total})
    assert (waits_for(needs, machine, ()) == "") == all(each.fits is not False for each in memory)


def test_that_weights_that_do_not_fit_are_not_mended_by_a_batch():
    graph = replace(
        THREE_LAYERS,
        layers=tuple(replace(each, weight_bytes=2**40) for each in THREE_LAYERS.layers),
    )
    facts = replace(FACTS, model=replace(MODEL, graph=graph))
    plan = a_plan(8)
    assert the("too much memory", plan, TWO_CARDS, facts).mend is None


def test_that_what_a_model_does_otherwise_than_its_author_may_think_is_warned_of():
    note = ModelNote(
        "compiled model", "own.py:build is compiled with SGD.", "The plan's optimizer counts."
    )
    facts = replace(FACTS, model=replace(MODEL, notes=(note,)))
    told = the("compiled model", a_plan(64), TWO_CARDS, facts)
    assert (told.text, told.why, told.mend) == (note.text, note.why, None)


def test_that_a_model_that_scales_again_is_given_the_bytes_as_they_are_where_they_are_bytes():
    note = ModelNote(
        SCALED_AGAIN,
        "own.py:build divides its samples by 255, but they are in 0…1 already.",
        "Why.",
    )
    facts = replace(
        FACTS, data=replace(DATA, pixels=True, highest=0.9), model=replace(MODEL, notes=(note,))
    )
    plan = replace(
        a_plan(64, "none"),
        data=Data(folder="pets", options={"colours": "grey"}),
        model=ModelSettings("cnn"),
    )
    after = mended(the(SCALED_AGAIN, plan, TWO_CARDS, facts), plan, TWO_CARDS, facts)
    assert after.data.options == {"colours": "grey", "scale": "none"}
    own = replace(plan, data=Data(python="data.py:load"))
    assert the(SCALED_AGAIN, own, TWO_CARDS, facts).mend is None
    floats = replace(facts, data=DATA)
    assert the(SCALED_AGAIN, plan, TWO_CARDS, floats).mend is None


@pytest.mark.parametrize(
    ("highest", "warned"), [(1 / 255, True), (16 / 255, True), (17 / 255, False), (0.0, False)]
)
def test_that_bytes_that_are_nearly_nothing_once_divided_are_told(highest, warned):
    facts = replace(FACTS, data=replace(DATA, pixels=True, highest=highest))
    plan = replace(a_plan(64, "none"), data=Data(file="black and white.npz"))
    assert ("faint bytes" in names(plan, TWO_CARDS, facts)) == warned
    if warned:
        found = the("faint bytes", plan, TWO_CARDS, facts)
        assert f"go no higher than {round(255 * highest)}," in found.text
        assert mended(found, plan, TWO_CARDS, facts).data.options == {"scale": "none"}
        own = the("faint bytes", replace(plan, data=Data(python="d.py:load")), TWO_CARDS, facts)
        assert (own.mend, 'return x.astype("float32")' in own.why) == (None, True)
    assert "faint bytes" not in names(
        plan, TWO_CARDS, replace(facts, data=replace(facts.data, pixels=False))
    )


def test_that_what_fits_is_not_warned_of():
    assert "too much memory" not in names(a_plan(64), TWO_CARDS)
    assert "too much memory" not in names(a_plan(10**9, "none"), WITHOUT_CARDS)


def test_that_a_batch_of_more_than_all_samples_is_cut_so_that_an_epoch_has_steps():
    plan = a_plan(1000)
    after = mended(the("few samples", plan, TWO_CARDS), plan, TWO_CARDS)
    assert after.training.batch_size == 64
    assert DATA.steps(64) >= 8


def test_that_more_replicas_than_samples_become_one():
    facts = replace(FACTS, data=replace(DATA, train=1))
    plan = a_plan(2)
    after = mended(
        the("more replicas than samples", plan, TWO_CARDS, facts), plan, TWO_CARDS, facts
    )
    assert after.distribution.strategy == "one_device"


def test_that_a_small_model_is_said_to_be_faster_on_one_card():
    plan = a_plan(64)
    after = mended(the("little work", plan, TWO_CARDS), plan, TWO_CARDS)
    assert after.distribution == Distribution("one_device", devices=("GPU:0",))


@pytest.mark.parametrize(
    ("plan", "machine"),
    [
        (a_plan(64, "none"), TWO_CARDS),
        (a_plan(64, carve=(Carve("CPU:0", (0, 0)),)), WITHOUT_CARDS),
        (a_plan(64, carve=(Carve("GPU:0", (1024, 1024)),)), TWO_CARDS),
    ],
    ids=["one replica", "logical CPUs", "slices of a card"],
)
def test_that_only_whole_cards_are_weighed_against_one(plan, machine):
    assert "little work" not in names(plan, machine)


def test_that_a_large_model_is_left_on_its_cards():
    heavy = tuple(
        replace(each, flops_forward=1e9, flops_backward=2e9) for each in THREE_LAYERS.layers
    )
    facts = replace(FACTS, model=replace(MODEL, graph=replace(THREE_LAYERS, layers=heavy)))
    assert names(a_plan(64), TWO_CARDS, facts) == []


@pytest.mark.parametrize("scope", ["global", "replica"])
def test_that_batch_normalisation_gets_enough_samples(scope):
    layers = (*THREE_LAYERS.layers[:2], replace(THREE_LAYERS.layers[2], kind="BatchNormalization"))
    facts = replace(FACTS, model=replace(MODEL, graph=replace(THREE_LAYERS, layers=layers)))
    plan = a_plan(4 if scope == "replica" else 8, scope=scope)
    after = mended(the("few to normalise", plan, TWO_CARDS, facts), plan, TWO_CARDS, facts)
    assert after.training.batch_size == (16 if scope == "replica" else 32)


def test_that_steps_of_the_model_s_own_on_replicas_are_told_of_before_the_start():
    own = ("train_step", "compute_metrics")
    facts = replace(FACTS, model=replace(MODEL, own_steps=own))
    caution = the("own steps apart", a_plan(64, "mirrored"), TWO_CARDS, facts)
    assert caution.text.startswith("Each of 2 replicas calls the model's own train_step")
    assert "averaged by samples" in caution.why
    assert "fit under a tf.distribute strategy adds them up, 2 times as large" in caution.why
    only_measures = replace(FACTS, model=replace(MODEL, own_steps=own[1:]))
    assert "own steps apart" not in names(a_plan(64, "mirrored"), TWO_CARDS, only_measures)
    assert "own steps apart" not in names(a_plan(64, "none"), TWO_CARDS, facts)


def test_that_replicas_that_normalise_apart_are_told_of_with_the_remedy():
    layers = (*THREE_LAYERS.layers[:2], replace(THREE_LAYERS.layers[2], normalises_apart=True))
    facts = replace(FACTS, model=replace(MODEL, graph=replace(THREE_LAYERS, layers=layers)))
    for strategy in ("mirrored", "central_storage"):
        plan = a_plan(64, strategy)
        caution = the("normalised apart", plan, TWO_CARDS, facts)
        assert "synchronized=True" in caution.why
        assert mended(caution, plan, TWO_CARDS, facts).distribution.strategy == "one_device"
    assert "normalised apart" not in names(a_plan(64, "none"), TWO_CARDS, facts)
    assert "normalised apart" not in names(a_plan(64), TWO_CARDS)


@given(
    batch=st.integers(-1, 100_000),
    strategy=st.sampled_from(["none", "one_device", "mirrored", "central_storage"]),
    scope=st.sampled_from(["global", "replica"]),
    slices=st.lists(st.integers(1, 64), max_size=3),
    train=st.integers(0, 2000),
)
def test_that_no_mend_leaves_its_warning_standing(batch, strategy, scope, slices, train):
    plan = a_plan(batch, strategy, scope, (Carve("GPU:0", tuple(slices)),) if slices else ())
    facts = replace(FACTS, data=replace(DATA, train=train))
    for caution in cautions_with(plan, TWO_CARDS, facts):
        if caution.mend is not None:
            after = caution.mend.make(plan)
            assert caution.name not in names(after, TWO_CARDS, facts)
            assert len(validate(after, TWO_CARDS)) <= len(validate(plan, TWO_CARDS))


def test_that_nothing_is_said_of_what_is_not_known():
    assert cautions_with(a_plan(64), TWO_CARDS, PlanFacts()) == ()


def test_that_splitting_by_class_is_offered_only_where_it_helps() -> None:
    said = "The test split has no samples of class 2. Its figures say nothing of it."
    plan = a_plan(8)
    alone, helped = (
        the("lacking classes", plan, WITHOUT_CARDS, with_notes(note))
        for note in (said, f"{said} {STRATIFY}")
    )
    assert (alone.text, alone.mend) == ("The test split has no samples of class 2.", None)
    assert (
        mended(helped, plan, WITHOUT_CARDS, with_notes(f"{said} {STRATIFY}")).data.split
        == "stratified"
    )


def test_that_what_several_splits_lack_is_one_caution_that_begins_with_the_gravest() -> None:
    """A page shows one caution of a name."""
    first = "The training split has no samples of class 7. Nothing is learnt of it."
    second = "The test split has no samples of class 2. Its figures say nothing of it."
    facts = with_notes(f"{first} {STRATIFY}", f"{second} {STRATIFY}")
    told = the("lacking classes", a_plan(8), WITHOUT_CARDS, facts)
    assert told.text == "The training split has no samples of class 7."
    assert told.why == f"Nothing is learnt of it. {second} {STRATIFY}"


def with_notes(*notes: str) -> PlanFacts:
    return replace(FACTS, data=replace(DATA, notes=notes))


HOMES = Data(table="homes.csv", options={"targets": ["price"]})


def with_ids(sparse: bool, kind: Kind | None = None) -> PlanFacts:
    """Facts of a target of many ids, and of an output that learns it in a kind, if known."""
    target = ArrayFacts((), (), "int32", ids=250_001, sparse=sparse)
    facts = replace(FACTS, data=replace(DATA, name="homes.csv", targets=(target,)))
    if kind is None:
        return replace(facts, model=None)
    learners = {"price": Learnt(kind, logits=True, loss="mse", metrics=())}
    outputs = (ArrayFacts((), (1,), name="price"),)
    return replace(facts, model=replace(MODEL, outputs=outputs, learners=learners))


@pytest.mark.parametrize("kind", [None, "classes"])
def test_that_values_taken_for_class_ids_can_be_named_as_values(kind: Kind | None) -> None:
    plan, facts = replace(a_plan(8), data=HOMES), with_ids(sparse=True, kind=kind)
    told = the("values as class ids", plan, WITHOUT_CARDS, facts)
    assert told.why.endswith("name price in data.options.values.")
    assert told.mend is not None
    after = told.mend.make(plan)
    assert after.data.options == {"targets": ["price"], "values": ["price"]}
    assert "values as class ids" not in names(after, WITHOUT_CARDS, facts)
    arrays = replace(plan, data=Data(file="homes.npz"))
    assert the("values as class ids", arrays, WITHOUT_CARDS, facts).mend is None


def test_that_ids_that_occur_or_are_learnt_as_values_are_no_caution() -> None:
    plan = replace(a_plan(8), data=HOMES)
    for facts in (with_ids(sparse=False), with_ids(sparse=True, kind="values")):
        assert "values as class ids" not in names(plan, WITHOUT_CARDS, facts)
