"""Who takes part in a run of several processes, and what TensorFlow is told."""

from __future__ import annotations

import json

from gpu_studio.trainer.cluster.roles import config_of, equal_parts, served_parts


def test_that_without_servers_workers_are_equals_and_the_first_writes_the_run():
    parts = equal_parts(3)
    assert [each.title for each in parts] == ["worker 0", "worker 1", "worker 2"]
    assert [each.is_first for each in parts] == [True, False, False]
    assert not any(each.serves or each.can_be_replaced for each in parts)


def test_that_with_servers_a_chief_writes_the_run_and_workers_can_be_replaced():
    parts = served_parts(2, 1)
    assert [each.title for each in parts] == ["chief", "worker 0", "worker 1", "server 0"]
    assert [each.is_first for each in parts] == [True, False, False, False]
    assert [each.can_be_replaced for each in parts] == [False, True, True, False]


def test_that_each_is_told_all_addresses_by_tensorflows_names_and_its_own_place():
    parts, addresses = served_parts(2, 1), ["a:1", "a:2", "a:3", "a:4"]
    told = [json.loads(config_of(each, parts, addresses)) for each in parts]
    assert all(each["cluster"] == told[0]["cluster"] for each in told)
    assert told[0]["cluster"] == {"chief": ["a:1"], "worker": ["a:2", "a:3"], "ps": ["a:4"]}
    assert [tuple(each["task"].values()) for each in told] == [
        ("chief", 0),
        ("worker", 0),
        ("worker", 1),
        ("ps", 0),
    ]
