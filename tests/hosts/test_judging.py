"""What machines tell is judged as a person would, and each finding says what to do."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from gpu_studio.common.cut_texts import LONGEST_LINE
from gpu_studio.hardware.doctor.findings import Finding, all_well
from gpu_studio.hosts.judging import findings_of
from gpu_studio.hosts.views import CardView, HostView, WorkerLink, views_in
from gpu_studio.plan.cluster_values import Cluster

GIB = 1 << 30
VERSIONS = {"python": "3.11.7", "tensorflow": "2.21.0", "keras": "3.15.1", "gpu-studio": "0.1.0"}


def view(index: int, **more: Any) -> HostView:
    """A machine of its own, which all is well with."""
    known: dict[str, Any] = {
        "host": f"gpu{index}",
        "address": f"10.0.0.{index}",
        "port": 23456 + index,
        "versions": VERSIONS,
        "cores": 8,
        "load": 0.5,
        "free_bytes": 64 * GIB,
        "disk_free_bytes": 100 * GIB,
        "reached": {1 - index: WorkerLink(seconds=0.0004)},
    }
    return HostView(index=index, **(known | more))


def judged(*views: HostView, **cluster: Any) -> list[Finding]:
    chosen = {"workers": 2, "trusted_network": True} | cluster
    return findings_of(Cluster(**chosen), views)


def test_that_two_machines_that_are_alike_are_well() -> None:
    findings = judged(view(0), view(1))
    assert [each.state for each in findings] == ["good"] * len(findings)
    told = {each.check: each.found for each in findings}
    assert told["hosts"] == "All 2 answered: gpu0 and gpu1."
    assert told["versions"] == "python 3.11.7, tensorflow 2.21.0 and keras 3.15.1 everywhere."
    assert "400 µs" in told["reach"]


WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "port in use": (
        "port",
        {"port": 0, "port_error": "Address already in use"},
        "cluster.port = 0",
    ),
    "firewall": (
        "reach",
        {"reached": {0: WorkerLink(error="no answer in 3 s")}},
        "firewall",
    ),
    "name": (
        "reach",
        {"reached": {0: WorkerLink(error="its name does not resolve (Name or service not known)")}},
        "/etc/hosts",
    ),
    "other folder": ("folder", {"missing": [0], "reached": {}}, "all of them share"),
    "other TensorFlow": (
        "versions",
        {"versions": {**VERSIONS, "tensorflow": "2.20.0"}},
        "one version of tensorflow",
    ),
    "no Keras": ("versions", {"versions": {**VERSIONS, "keras": None}}, "pip install keras"),
    "no room": ("room", {"disk_free_bytes": None}, "Choose another"),
    "not writable": ("room", {"writable": False}, "make it yours"),
}


@pytest.mark.parametrize("what", WRONG)
def test_that_what_would_keep_the_workers_from_training_must_be_mended(what: str) -> None:
    check, more, mend = WRONG[what]
    findings = judged(view(0), view(1, **more))
    (bad,) = [each for each in findings if each.state == "bad"]
    assert not all_well(findings)
    assert (bad.check, "gpu1" in bad.found) == (check, True)
    assert mend in " ".join(bad.mend)
    assert not any(each.check == check and each.state == "good" for each in findings)


WARNED: dict[str, tuple[str, dict[str, Any]]] = {
    "load": ("load", {"load": 9.5}),
    "memory": ("memory", {"free_bytes": GIB // 2}),
    "room": ("room", {"disk_free_bytes": GIB // 2}),
    "cards": ("cards", {"cards": [CardView("NVIDIA L4", 24576, 0)]}),
    "others on a card": ("cards", {"cards": [CardView("NVIDIA L4", 24576, 20000)]}),
    "proxy": ("proxy", {"proxies": {"http_proxy": "http://proxy:3128"}}),
}


@pytest.mark.parametrize("what", WARNED)
def test_that_what_only_slows_the_workers_is_a_warning(what: str) -> None:
    check, more = WARNED[what]
    findings = judged(view(0), view(1, **more))
    warned = [each for each in findings if each.state == "warning"]
    assert {each.check for each in warned} == {check}
    assert all("gpu1" in each.found for each in warned)
    assert all(each.mend for each in warned)
    assert all_well(findings)


def test_that_a_proxy_that_spares_the_workers_is_none() -> None:
    spared = {"http_proxy": "http://proxy:3128", "no_proxy": "10.0.0.0, 10.0.0.1"}
    assert all(each.state == "good" for each in judged(view(0), view(1, proxies=spared)))


def test_that_a_command_to_type_is_whole_however_many_machines_it_names() -> None:
    proxied = {"proxies": {"http_proxy": "http://proxy:3128"}}
    many = [view(index, address=f"10.0.{index}.200", **proxied) for index in range(250)]
    told = next(each for each in judged(*many) if each.check == "proxy")
    assert told.mend[0].count(",") == 249
    assert len(told.mend[0]) > LONGEST_LINE


def test_that_workers_of_one_machine_need_no_exception_from_its_proxy() -> None:
    here = {"address": "127.0.0.1", "proxies": {"http_proxy": "http://proxy:3128"}}
    assert all(each.state == "good" for each in judged(view(0, **here), view(1, **here)))


def test_that_a_clock_that_is_off_is_told_once() -> None:
    off = view(0, reached={1: WorkerLink(seconds=0.001, clock=-3.2)})
    (warned,) = [each for each in judged(off, view(1)) if each.state == "warning"]
    assert warned.found == "The clock of gpu1 is -3.2 s off that of gpu0."


def test_that_data_and_code_must_be_there_and_the_same() -> None:
    same = {"/data/x.npz": "a1"}
    assert all(each.state == "good" for each in judged(view(0, data=same), view(1, data=same)))
    other = {"/data/x.npz": "b2"}
    unread = {"/data/x.npz": "! No such file or directory"}
    for more, words in ((other, "is another on"), (unread, "cannot be read on gpu1")):
        for check in ("data", "code"):
            findings = judged(view(0, **{check: same}), view(1, **{check: more}))
            (bad,) = [each for each in findings if each.state == "bad"]
            assert (bad.check, words in bad.found) == (check, True)


def test_that_workers_that_did_not_answer_are_named() -> None:
    (first, *_) = judged(view(0), workers=4)
    assert (first.state, first.found) == (
        "bad",
        "Of 4 workers workers 1, 2 and 3 did not answer.",
    )


@pytest.mark.parametrize(
    ("address", "trusted", "state"),
    [
        ("127.0.0.1", False, "good"),
        ("10.0.0.1", False, "warning"),
        ("8.8.8.8", False, "bad"),
        ("8.8.8.8", True, "good"),
        ("gpu1.lab", False, "warning"),
    ],
)
def test_that_a_public_address_is_refused_unless_the_network_is_trusted(
    address: str, trusted: bool, state: str
) -> None:
    views = [view(index, address=address, route="127.0.0.1") for index in range(2)]
    (exposed,) = [
        each for each in judged(*views, trusted_network=trusted) if each.check == "exposed"
    ]
    assert exposed.state == state
    assert ("trusted_network" in " ".join(exposed.mend)) == (state not in ("good",))
    if state != "good":
        assert "ask for no password" in exposed.found


def test_that_any_interface_with_a_public_address_counts() -> None:
    views = [view(0, interfaces=["10.0.0.1", "fe80::1%eth0", "2600:1f00::7"]), view(1)]
    findings = judged(*views, trusted_network=False)
    (exposed,) = [each for each in findings if each.check == "exposed"]
    assert exposed.state == "bad"
    assert exposed.found.startswith("2600:1f00::7 can be reached from the internet.")


def test_that_what_is_no_answer_is_passed_over() -> None:
    line = msgspec.json.encode(view(1)).decode()
    assert views_in(["srun: job 7 queued", line, "{}", '{"index": "x"}', "\ud800"], 2) == [view(1)]


@pytest.mark.parametrize(
    "odd",
    [
        {"reached": {"x": {}}},
        {"reached": {"9" * 5_000: {}}},
        {"host": "h" * 1_000_000},
        {"cards": [{"name": "c", "total_mib": 1, "used_mib": 1}] * 20_000},
        {"index": -1},
        {"index": 2},
    ],
)
def test_that_an_answer_that_no_agent_gives_is_passed_over(odd: dict[str, Any]) -> None:
    line = json.dumps(msgspec.to_builtins(view(1), str_keys=True) | odd)
    assert views_in([line], 2) == []


def test_that_of_two_answers_for_one_worker_the_first_counts() -> None:
    lines = [msgspec.json.encode(view(0, host=each)).decode() for each in ("first", "second")]
    (answer,) = views_in(lines, 2)
    assert answer.host == "first"


def test_that_a_sentence_about_machines_has_an_end() -> None:
    unseen = view(0, missing=list(range(100_000)))
    assert max(len(each.shown) for each in judged(unseen, view(1))) <= LONGEST_LINE


def test_that_a_clock_that_is_off_no_more_than_a_busy_machine_took_to_answer_is_not_told() -> None:
    late = view(0, reached={1: WorkerLink(seconds=2.9, clock=-1.4)})
    assert all(each.state == "good" for each in judged(late, view(1)))
