"""The language of the sampler."""

from __future__ import annotations

import gc
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.contract import samples
from gpu_studio.contract.samples import SampleError, decode, encode

EVERY_KIND = [
    samples.SamplerStarted(time=1.0, pid=7, gpu_studio="1", simulated="8xH100"),
    samples.Opening(time=1.0),
    samples.Asking(time=1.0, index=3),
    samples.Cards(
        time=1.0,
        cards=[samples.CardFacts(card="GPU-1", gone="lost", why={"serial": "no permission"})],
    ),
    samples.Fast(
        time=1.0,
        cards=[samples.FastFigures(card="GPU-1", power_w=3.5, why={"memory_used_mib": "lost"})],
    ),
    samples.Slow(time=1.0, cards=[samples.SlowFigures(card="GPU-1", throttle=["power limit"])]),
    samples.Pcie(time=1.0, cards=[samples.PcieFigures(card="GPU-1", sent_mib_s=2.0)]),
    samples.Processes(
        time=1.0,
        processes=[samples.Process(card="GPU-1", pid=3, kinds=["compute"])],
        why={"a": "b"},
    ),
    samples.HostProcesses(
        time=1.0, processes=[samples.HostProcess(pid=3, cpu_percent=98.5, why={"user": "b"})]
    ),
    samples.Host(time=1.0, cpu_percent=2.0),
    samples.Happened(time=1.0, card="GPU-1", kind="xid", code=79, words="XID 79"),
    samples.Beat(time=1.0, cpu_percent=0.1, memory_mib=20.0, nvml_calls=3),
    samples.Owner(time=1.0, words="it was started anew"),
]


@pytest.mark.parametrize("sample", EVERY_KIND, ids=lambda sample: type(sample).__name__)
def test_that_what_is_written_is_what_is_read(sample):
    line = encode(sample)

    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode(line) == sample


def test_that_a_name_that_is_no_utf8_is_written_with_question_marks():
    line = encode(samples.SamplerStarted(time=1.0, pid=7, gpu_studio="1", simulated="a\udc80b"))
    read = decode(line)
    assert isinstance(read, samples.SamplerStarted)
    assert read.simulated == "a?b"


def test_that_every_kind_is_held_here():
    assert {type(sample) for sample in EVERY_KIND} == set(samples.AnySample.__args__)


def test_that_a_kind_of_a_later_sampler_is_passed_over():
    assert decode(b'{"sample":"weather","time":1}') is None


def test_that_a_field_of_a_later_sampler_is_passed_over():
    assert decode(b'{"sample":"opening","time":1,"later":true}') == samples.Opening(time=1.0)


@pytest.mark.parametrize(
    "line", [b"", b"{", b"[]", b'{"sample":"fast"}', b'{"sample":3}', b"\xff", b"[" * 100_000]
)
def test_that_what_is_no_sample_is_refused(line):
    with pytest.raises(SampleError):
        decode(line)


@given(st.binary())
def test_that_any_bytes_are_a_sample_or_refused(line):
    with suppress(SampleError):
        decode(line)


def card(parts: int = 0) -> samples.CardFacts:
    part = samples.Instance(card="b", name="")
    return samples.CardFacts(card="a", instances=[part] * parts)


PROCESS = samples.Process(card="a", pid=1, kinds=[])


@pytest.mark.parametrize(
    "sample",
    [
        samples.Cards(time=1.0, cards=[card()] * 257),
        samples.Cards(time=1.0, cards=[card(17)]),
        samples.Fast(time=1.0, cards=[samples.FastFigures(card="a")] * 257),
        samples.Processes(time=1.0, processes=[PROCESS] * 16_385),
    ],
)
def test_that_more_cards_or_processes_than_a_machine_has_are_no_sample(sample) -> None:
    with pytest.raises(SampleError, match="length"):
        decode(encode(sample))


@pytest.mark.parametrize(
    "sample", [each for each in EVERY_KIND if isinstance(each, samples.Fast | samples.Slow)]
)
def test_that_what_a_long_recording_is_made_of_costs_no_look_for_garbage(sample):
    read = decode(encode(sample))
    assert read == sample
    assert not any(gc.is_tracked(part) for part in (read, *read.cards))
