"""Which recorded cards a run trained on, joined by UUID or address and never by position."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_recordings import NO_UTILISATION, cards, fast, host, identities, used_mib
from made_runs import MIB, Script, make_run

from gpu_studio.common import figures
from gpu_studio.contract.events import Devices, LogicalDevice
from gpu_studio.contract.samples import CardFacts, Cards, Fast, FastFigures, SamplerStarted, encode
from gpu_studio.hardware.identity import same
from gpu_studio.hardware.sample_points import HOST
from gpu_studio.runs.lineage import events_of, read_history
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.results.run_cards import RunCard, card_numbers, run_cards, uses_cards
from gpu_studio.ui.train.card_record import LONGEST_GAP, MOST_POINTS, CardFigures, CardRecord
from gpu_studio.ui.train.device_figures import device_table, faint_style_of, places, style_of
from gpu_studio.ui.train.device_plot import figure_drawing, memory_drawing
from gpu_studio.ui.train.readout import Readout

EIGHT = cards("8xH100")
BY_KEY = {card.card: card for card in EIGHT}


def logical(name, uuid=None, bus_id=None):
    return LogicalDevice(name=name, physical="GPU:0", uuid=uuid, bus_id=bus_id)


def devices(*found):
    return Devices(logical=list(found), replicas=[], strategy="mirrored")


@pytest.fixture
def record(qapp, tmp_path):
    return CardRecord(tmp_path / "hardware.jsonl")


def busy(time, percent):
    return Fast(time=time, cards=[FastFigures(card="a", utilisation_percent=percent)])


def fed(record, history, facts, *, seconds=3):
    """The record of the last seconds of a run on these cards."""
    first = history.last_time - seconds + 1
    record.take(Cards(time=first, cards=list(facts)))
    for second in range(seconds):
        record.take(fast(facts, first + second, 0))
        record.take(host(first + second, 0))
    return record


@given(st.permutations(range(8)), st.booleans(), st.booleans())
def test_that_cards_are_joined_by_uuid_or_address_in_whatever_order_they_are_counted(
    order, with_uuid, upper
):
    seen = [EIGHT[place] for place in order]
    found = run_cards(
        devices(
            *(
                logical(
                    f"GPU:{index}",
                    card.uuid if with_uuid else None,
                    f"0000{card.bus_id}".upper() if upper else card.bus_id,
                )
                for index, card in enumerate(seen)
            )
        ),
        BY_KEY,
    )
    assert found == tuple(
        RunCard(card.card, (index,), (f"GPU:{index}",)) for index, card in enumerate(seen)
    )


def test_that_slices_of_one_card_are_one_card():
    carved = [logical(f"GPU:{index}", EIGHT[index // 2].uuid) for index in range(4)]
    found = run_cards(devices(*carved, logical("CPU:0")), BY_KEY)
    assert [(card.key, card.places, card.label) for card in found] == [
        (EIGHT[0].card, (0, 1), "GPU:0–1"),
        (EIGHT[1].card, (2, 3), "GPU:2–3"),
    ]


def test_that_slices_that_do_not_follow_each_other_are_named_one_by_one():
    assert RunCard("x", (0, 2), ("GPU:0", "GPU:2")).label == "GPU:0, 2"


def test_that_a_device_of_which_nobody_told_its_card_has_none_even_where_there_is_but_one():
    assert run_cards(devices(logical("GPU:0")), {EIGHT[0].card: EIGHT[0]}) == ()
    assert run_cards(devices(logical("GPU:0", "GPU-another", EIGHT[0].bus_id)), BY_KEY) == ()
    assert run_cards(None, BY_KEY) == ()
    assert not uses_cards(None)
    assert not uses_cards(devices(logical("CPU:0")))


def test_that_a_mig_instance_is_found_by_its_own_uuid_and_not_taken_for_its_card(record):
    card = cards("MIG")[0]
    record.take(Cards(time=1.0, cards=[card]))
    found = run_cards(devices(logical("GPU:0", card.instances[1].card, card.bus_id)), record.known)
    assert [each.key for each in found] == [card.instances[1].card]


def test_that_a_card_lost_at_first_is_found_under_the_key_that_has_its_figures(record):
    lost = {
        card.bus_id: type(card)(card=card.bus_id, bus_id=card.bus_id, gone="lost")
        for card in EIGHT[:1]
    }
    record.take(Cards(time=1.0, cards=list(lost.values())))
    record.take(Cards(time=2.0, cards=EIGHT[:1]))
    found = run_cards(devices(logical("GPU:0", bus_id=EIGHT[0].bus_id)), record.known)
    assert [each.key for each in found] == [EIGHT[0].card]


def test_that_the_curves_reach_back_to_the_beginning_in_bounded_memory():
    figures = CardFigures()
    for begin in range(0, 3 * MOST_POINTS, 100):
        figures.add(
            busy(float(second), 100 if second == 5 else 10) for second in range(begin, begin + 100)
        )
    series = figures.series("a", "utilisation")
    assert len(series) <= MOST_POINTS
    assert series.column("time")[0] < 10
    assert series.column("value").max() == 100
    assert figures.longest_gap("a", "utilisation") > LONGEST_GAP


def test_that_a_figure_that_is_missing_is_no_zero_and_an_old_one_is_not_of_now():
    figures = CardFigures()
    figures.add(
        [Fast(time=1.0, cards=[FastFigures(card="a", memory_used_mib=2, why=NO_UTILISATION)])]
    )
    assert figures.series("a", "utilisation") is None
    assert figures.value_at("a", "memory", 0.5) is None
    assert figures.value_at("a", "memory", 1.0 + LONGEST_GAP) == 2 * MIB
    assert figures.value_at("a", "memory", 1.1 + LONGEST_GAP) is None


def test_that_a_clock_put_back_runs_no_recorded_curve_backwards(qtbot, record, tmp_path):
    told = [host(time, number) for number, time in enumerate((100.0, 101.0, 40.0, 41.0))]
    (tmp_path / "hardware.jsonl").write_bytes(b"".join(encode(sample) for sample in told))
    with qtbot.waitSignal(record.caught_up):
        record.start()
    record.close()
    times = record.figures.series(HOST, "utilisation").column("time")
    assert len(times) == 4
    assert times[0] == 100.0
    assert all(times[1:] >= times[:-1])


def history_of(runs_dir, **script):
    return read_history(make_run(runs_dir, Script(trained=0.3, **script)))


def test_that_each_card_is_drawn_faintly_behind_the_device_whose_card_it_is(runs_dir, record):
    history = history_of(runs_dir, devices=2, identities=list(reversed(identities(EIGHT))))
    drawing = memory_drawing(history, fed(record, history, EIGHT))
    assert [line.name for line in drawing.lines] == [
        f"{EIGHT[7].card} memory", f"{EIGHT[6].card} memory", "GPU:0", "GPU:1",
    ]  # fmt: skip
    begun = [line.series.y[0] for line in drawing.lines[:2]]
    assert begun == [used_mib(7) * MIB, used_mib(6) * MIB]
    assert [line.style.dash for line in drawing.lines[:2]] == [
        line.style.dash for line in drawing.lines[2:]
    ]
    assert [entry.name for entry in drawing.entries] == [
        "GPU:0", "GPU:1", "card of GPU:0", "card of GPU:1",
    ]  # fmt: skip
    assert [entry.style for entry in drawing.entries[2:]] == [
        line.style for line in drawing.lines[:2]
    ], "named as it is drawn"
    assert drawing.cards_shown


def test_that_a_card_that_would_press_the_slices_flat_is_told_in_words_until_it_is_asked_for(
    runs_dir, record
):
    history = history_of(
        runs_dir, devices=2, limit_mib=128, per_card=2, identities=identities(EIGHT)
    )
    fed(record, history, EIGHT)
    drawing = memory_drawing(history, record)
    assert [line.name for line in drawing.lines] == ["GPU:0", "GPU:1"]
    assert (drawing.cards, drawing.cards_shown) == ("card", False)
    assert drawing.caption[0].endswith(" · card 1,000 MiB, above the view")
    assert len(memory_drawing(history, record, wanted=True).lines) == 3
    assert "above" not in memory_drawing(history, record, wanted=False).caption[0]


def test_that_a_run_without_a_recording_shows_tensorflows_lines_and_says_so(runs_dir, record):
    history = history_of(runs_dir, devices=2, ending="completed")
    record.over = True
    drawing = memory_drawing(history, record)
    assert [line.name for line in drawing.lines] == ["GPU:0", "GPU:1"]
    assert drawing.caption[0].endswith(" · the machine was not recorded during this run")
    assert not drawing.cards
    assert (
        figure_drawing(history, record, "utilisation").nothing
        == "the machine was not recorded during this run"
    )


def test_that_a_run_that_begins_does_not_complain_yet(runs_dir, record):
    history = History()
    history.apply_all(events_of(make_run(runs_dir, Script(trained=0.1, devices=2))))
    assert history.seconds < 5
    assert "recorded" not in memory_drawing(history, record).caption[0]


def test_that_an_older_run_that_does_not_tell_its_cards_says_so(runs_dir, record):
    history = history_of(runs_dir, devices=2)
    fed(record, history, EIGHT)
    assert (
        memory_drawing(history, record)
        .caption[0]
        .endswith("which of the cards these were is not known")
    )
    assert (
        figure_drawing(history, record, "utilisation").nothing
        == "which of the cards these were is not known"
    )
    assert device_table(history, record, None).heads == (("in use", "MiB"),)


def test_that_utilisation_is_a_strong_line_a_card_with_its_newest_value(runs_dir, record):
    history = history_of(runs_dir, devices=4, per_card=2, identities=identities(EIGHT[3:]))
    fed(record, history, EIGHT)
    drawing = figure_drawing(history, record, "utilisation")
    assert [(entry.name, entry.value) for entry in drawing.entries] == [
        ("GPU:0–1", "77 %"),
        ("GPU:2–3", "70 %"),
    ]
    assert [line.series.y[-1] for line in drawing.lines] == [77, 70]
    assert [entry.value for entry in figure_drawing(history, record, "power").entries] == [
        "330 W",
        "340 W",
    ]


def test_that_figures_of_cards_that_are_not_there_are_marked_as_simulated(runs_dir, record):
    history = history_of(runs_dir, devices=2, identities=identities(EIGHT))
    record.take(SamplerStarted(time=1.0, pid=1, gpu_studio="0", simulated="8xH100"))
    fed(record, history, EIGHT)
    for drawing in (
        memory_drawing(history, record),
        figure_drawing(history, record, "utilisation"),
    ):
        assert all(text.endswith(" · simulated: 8xH100") for text in drawing.caption)


def test_that_a_mig_instance_says_why_it_has_no_utilisation(runs_dir, record):
    card = cards("MIG")[0]
    history = history_of(runs_dir, devices=1, identities=[(card.instances[0].card, card.bus_id)])
    fed(record, history, [card])
    assert memory_drawing(history, record).lines[0].series.y[-1] == used_mib(20) * MIB
    drawing = figure_drawing(history, record, "utilisation")
    assert (list(drawing.lines), drawing.nothing) == ([], NO_UTILISATION["utilisation_percent"])


def test_that_without_cards_the_host_is_shown(runs_dir, record):
    history = history_of(runs_dir, kind="CPU", devices=2)
    fed(record, history, [])
    memory = memory_drawing(history, record, wanted=True)
    assert [line.name for line in memory.lines] == ["host memory", "host", "CPU:0", "CPU:1"]
    assert memory.cards == "whole host"
    assert [entry.value for entry in figure_drawing(history, record, "utilisation").entries] == [
        "60 %"
    ]
    table = device_table(history, record, None)
    assert table.heads == (("in use", "MiB"), ("whole", "GiB"), ("busy", "%"))
    assert table.rows[-1][0::2] == ("host", "4.9")
    assert table.column("busy") == {"CPU:0": "–", "CPU:1": "–", "host": "60"}


def test_that_the_table_tells_each_device_and_its_card_at_the_moment_asked_for(runs_dir, record):
    history = history_of(runs_dir, devices=2, identities=identities(EIGHT[5:]))
    fed(record, history, EIGHT)
    table = device_table(history, record, history.last_time - history.started.time)
    assert table.heads == (("in use", "MiB"), ("card", "GiB"), ("busy", "%"), ("power", "W"))
    assert table.column("busy") == {"GPU:0": "70", "GPU:1": "79"}
    assert table.column("card")["GPU:0"] == "1.5"
    current = history.memory["GPU:1"].used
    assert table.column("in use")["GPU:1"] == figures.amount_in(current[-1], "MiB")
    early = device_table(history, record, 1.5)
    assert early.column("in use")["GPU:1"] == figures.amount_in(current[0], "MiB")


def test_that_slices_of_one_card_are_each_told_beside_it(runs_dir, record):
    history = history_of(runs_dir, devices=4, per_card=2, identities=identities(EIGHT))
    fed(record, history, EIGHT)
    power = device_table(history, record, None).column("power")
    assert power == {"GPU:0": "300", "GPU:1": "300", "GPU:2": "310", "GPU:3": "310"}


def test_that_the_table_is_told_in_words_and_as_cells(runs_dir, record):
    history = history_of(runs_dir, devices=1, identities=identities(EIGHT))
    fed(record, history, EIGHT)
    table = device_table(history, record, None)
    (words,) = table.texts()
    assert words.startswith("GPU:0 in use ")
    assert words.endswith(" %, power 300 W")
    lines = Readout("At 14:02:31", (("loss", "0.1"),), table, ("epoch 3 ends",)).lines()
    assert lines[:3] == [
        ("At 14:02:31",),
        ("loss", "0.1"),
        ("device", "in use MiB", "card MiB", "busy %", "power W"),
    ]
    assert lines[3] == table.rows[0]
    assert lines[-1] == ("epoch 3 ends",)


def test_that_nothing_is_told_before_the_run_has_begun(record):
    record.take(host(1.0))
    assert device_table(History(), record, None) is None


@given(st.lists(st.integers(0, 7), min_size=1, max_size=4, unique=True), st.booleans())
def test_that_a_run_on_cards_by_uuid_has_the_colours_of_the_devices_page(
    qapp, tmp_path_factory, chosen, by_uuid
):
    history, record = History(), CardRecord(tmp_path_factory.mktemp("run") / "hardware.jsonl")
    seen = [
        LogicalDevice(
            name=f"GPU:{place}", physical=card.uuid if by_uuid else f"GPU:{number}", uuid=card.uuid
        )
        for place, (number, card) in enumerate((number, EIGHT[number]) for number in chosen)
    ]
    history.apply(devices(*seen))
    assert list(places(history, record).values()) == (list(range(len(seen))) if by_uuid else chosen)
    record.take(Cards(time=1.0, cards=list(EIGHT)))
    assert list(places(history, record).values()) == chosen


def test_that_a_cards_line_has_the_colour_of_the_device_on_it(record, tmp_path):
    history = read_history(make_run(tmp_path, Script(trained=1, devices=1)))
    history.apply(devices(LogicalDevice(name="GPU:0", physical=EIGHT[3].uuid, uuid=EIGHT[3].uuid)))
    fed(record, history, EIGHT)
    assert figure_drawing(history, record, "utilisation").entries[0].style == style_of(3)
    drawing = memory_drawing(history, record, wanted=True)
    assert [entry.style for entry in drawing.entries if entry.name == "GPU:0"] == [style_of(3)]
    assert [line.style for line in drawing.lines] == [faint_style_of(3), style_of(3)]


def test_that_an_instance_has_the_number_of_its_card():
    listed = cards("MIG")
    part = listed[0].instances[0]
    whole = CardFacts(card=part.card, uuid=part.card, name=part.name)
    seen = devices(logical("GPU:0", part.card))
    assert card_numbers(seen, {part.card: whole}, listed) == {"GPU:0": 0}


def test_that_cards_are_compared_once_for_as_long_as_they_stay_the_same(monkeypatch):
    compared = []

    def counted(one, other):
        compared.append((one, other))
        return same(one, other)

    monkeypatch.setattr("gpu_studio.runs.results.run_cards.same", counted)
    found = devices(*(logical(f"GPU:{n}", f"compared-{n}") for n in range(8)))
    known = {
        f"compared-{n}": CardFacts(card=f"compared-{n}", uuid=f"compared-{n}") for n in range(8)
    }
    for _ in range(5):
        assert len(run_cards(found, known)) == 8
        assert len(card_numbers(found, known, list(known.values()))) == 1
    assert len(compared) == 64
    known["compared-8"] = CardFacts(card="compared-8", uuid="compared-8")
    assert len(run_cards(found, known)) == 8
    assert len(compared) == 64 + 72
