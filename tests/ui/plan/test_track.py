from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from gpu_studio.plan import Card
from gpu_studio.ui.plan.carving import carve_steps
from gpu_studio.ui.plan.carving.strips import Track, caution_of, overflow_of, segments_of, track_of
from gpu_studio.ui.plan.carving.track_view import snapped

TRACK = Track(
    "GPU:0", total=20_000, reserved=500, used=1500, capacity=18_000, sizes=(4096, 4096), beside=1024
)
slices = st.lists(st.integers(1, 9000), min_size=1, max_size=8).map(tuple)


@given(slices, st.integers(0, 7), st.integers(-100_000, 100_000), st.floats(0, 2000))
def test_that_a_snapped_drag_never_takes_more_than_is_free(
    sizes, index: int, to: int, reach: float
) -> None:
    assume(index < len(sizes))
    track = replace(TRACK, sizes=sizes)
    moved = track.with_end(index, snapped(track, index, to, reach))
    assert sum(moved.sizes) <= max(track.capacity, sum(sizes))
    assert moved.length == max(track.length, moved.length)


@given(slices)
def test_that_the_parts_of_a_bar_are_as_long_as_the_bar(sizes) -> None:
    track = replace(TRACK, sizes=sizes)
    assert sum(part.size for part in segments_of(track)) == track.length
    assert (overflow_of(track) is not None) == (sum(sizes) > 18_000)


def test_that_an_end_goes_to_a_neighbours_size_then_to_a_whole_gib_then_to_a_step() -> None:
    assert snapped(TRACK, 1, 4150, reach=100) == 4096
    assert snapped(replace(TRACK, sizes=(5000, 4096)), 1, 4950, reach=100) == 5000
    assert snapped(TRACK, 0, 3100, reach=100) == 3072
    assert snapped(TRACK, 0, 3300, reach=100) == 3328
    assert snapped(TRACK, 1, 13_850, reach=100) == 18_000 - 4096
    assert snapped(TRACK, 1, 12_900, reach=100) == 18_000 - 4096 - 1024
    assert snapped(TRACK, 0, -700, reach=100) == 256


def test_that_more_than_the_card_has_is_bad_and_more_than_is_free_is_not() -> None:
    over_free, over_card = replace(TRACK, sizes=(19_000,)), replace(TRACK, sizes=(30_000,))
    assert overflow_of(TRACK) is None
    assert overflow_of(over_free) is not None
    assert not overflow_of(over_free).bad
    assert "other programs" in caution_of(over_free)
    assert overflow_of(over_card).bad
    assert overflow_of(over_card).text == "10.3 GiB too many"


def test_that_a_card_whose_memory_is_not_known_has_no_overflow_and_no_scale() -> None:
    card = Card(2, "", "Card", why_unknown="asleep")
    whole, carved = track_of(card, (), 3, grows=True), track_of(card, (10, 20), 3, grows=False)
    assert segments_of(whole)[0].caption == "grows as needed"
    assert whole.movable_ends == ()
    assert carved.movable_ends == (10,)
    assert overflow_of(carved) is None
    assert carve_steps.why_not_split(whole, 0) == (
        "How much memory GPU 2 has is not known: type the size of a slice"
    )


def test_that_what_cannot_be_done_says_why() -> None:
    tiny, full = replace(TRACK, sizes=(1, 1)), replace(TRACK, sizes=(16,) * 64)
    assert carve_steps.why_not_split(tiny, 0) == "GPU:0 has 1 MiB, too few for two slices"
    assert carve_steps.why_not_add(full) == "A device has at most 64 slices"
    assert carve_steps.why_not_merge(TRACK, 1) == "No slice comes after GPU:1"
    assert carve_steps.why_not_equalise(replace(TRACK, sizes=())) == "GPU 0 has no two slices"
    assert carve_steps.why_not_remove(replace(TRACK, sizes=())) == "GPU 0 is whole already"
    assert carve_steps.why_not_nudge(tiny, 0, -64) == "GPU:0 cannot be smaller"
    assert carve_steps.why_not_nudge(TRACK, 0, 64) == ""
