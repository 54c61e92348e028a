from __future__ import annotations

from gpu_studio.runs.reading import log_lines
from gpu_studio.runs.reading.log_lines import LogLines, shortened


def test_that_a_message_of_a_megabyte_is_cut_and_says_how_long_it_was():
    told = shortened("x" * 1_000_000)
    assert told.startswith("x" * log_lines.LONGEST_MESSAGE + "… (1000000 characters in all")
    assert shortened("as it is") == "as it is"


def test_that_long_messages_push_out_the_oldest_before_they_fill_the_memory(monkeypatch):
    monkeypatch.setattr(log_lines, "LOG_CHARACTERS", 100)
    lines = LogLines()
    for number in range(50):
        lines.say(float(number), "info", f"{number:030}")
    assert [line.time for line in lines] == [47.0, 48.0, 49.0]
    assert (len(lines), lines.total, lines[-1].message) == (3, 50, f"{49:030}")


def test_that_the_newest_line_stays_even_where_it_alone_is_too_long(monkeypatch):
    monkeypatch.setattr(log_lines, "LOG_CHARACTERS", 10)
    lines = LogLines()
    lines.say(1.0, "info", "far more than ten characters")
    lines.say(2.0, "info", "short")
    assert [line.message for line in lines] == ["short"]
