"""Ports of a cluster. One that is in use is tested with the supervisor."""

from __future__ import annotations

import socket
from contextlib import ExitStack

import pytest
from free_ports import free_ports

from gpu_studio.trainer.cluster.ports import held_ports


def test_that_free_ports_are_as_many_as_asked_for_and_differ():
    assert len(set(free_ports(4))) == 4


def test_that_the_plans_ports_follow_the_first():
    (first,) = free_ports(1)
    assert free_ports(1, first) == [first]


def test_that_ports_that_are_held_are_given_to_nobody_but_a_server_as_tensorflow_has_one():
    with ExitStack() as held:
        (port,) = held_ports(held, 1)
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", port))
        with socket.socket() as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind(("", port))
            server.listen()
            with socket.create_connection(("127.0.0.1", port)):
                server.accept()[0].close()


def test_that_a_port_on_which_somebody_listened_until_just_now_is_free():
    (port,) = free_ports(1)
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("", port))
        server.listen()
        with socket.create_connection(("127.0.0.1", port)) as caller:
            accepted, _ = server.accept()
            accepted.close()  # who closes first keeps the port for a minute
            assert caller.recv(1) == b""
    assert free_ports(1, port) == [port]
