"""Ports of a cluster. One that is in use is tested with the supervisor."""

from __future__ import annotations

from gpu_studio.trainer.cluster.ports import free_ports


def test_that_free_ports_are_as_many_as_asked_for_and_differ():
    assert len(set(free_ports(4))) == 4


def test_that_the_plans_ports_follow_the_first():
    (first,) = free_ports(1)
    assert free_ports(1, first) == [first]
