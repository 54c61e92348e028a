"""Where a worker is, and whether it finds the others."""

from __future__ import annotations

import json
import os
import socket

import pytest

from gpu_studio.trainer.cluster import whereabouts
from gpu_studio.trainer.cluster.whereabouts import (
    Whereabouts,
    spare_proxies,
    unresolved,
    versions,
)

CONFIG = json.dumps(
    {
        "cluster": {"worker": ["10.0.0.1:4000", "n7:4001", "n7:4002"]},
        "task": {"type": "worker", "index": 0},
    }
)


def test_that_a_machine_that_is_not_found_by_its_name_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def look_up(host: str, _port: None) -> list[object]:
        asked.append(host)
        if host == "n7" and len(asked) < 3:
            raise socket.gaierror(-2, "Name or service not known")
        return []

    monkeypatch.setattr(whereabouts.socket, "getaddrinfo", look_up)
    assert unresolved(CONFIG) == (
        f"{socket.gethostname()} does not find n7: name or service not known."
    )
    assert unresolved(CONFIG) == ""
    assert asked == ["10.0.0.1", "n7"] * 2, "each is asked for once"


def test_that_the_others_are_reached_without_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_grpc_proxy", "gpu2,n7")
    spare_proxies(CONFIG)
    assert os.environ[whereabouts.NO_PROXY] == "gpu2,n7,10.0.0.1"


def test_that_a_task_of_slurm_tells_its_node_and_keeps_a_port_for_tensorflow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SLURMD_NODENAME", "n3")
    task = Whereabouts.of_task()
    here = task.here()
    assert (here.pid, here.node) == (os.getpid(), "n3")
    assert "127.0.0.1" in here.addresses
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("", here.port))
    with socket.socket() as server:  # as TensorFlow's does
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("", here.port))
        server.listen()
    task.held.close()
    alone = Whereabouts().here()
    assert (alone.node, alone.port, alone.addresses) == ("", 0, [])


def test_that_versions_are_those_of_what_trains() -> None:
    assert {"GPU Studio", "Python", "tensorflow", "keras", "numpy"} == set(versions())
