"""The table of `gpu-studio devices` in little room."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from gpu_studio.cli.devices_table import screen
from gpu_studio.contract.samples import CardFacts, Cards, Host, HostProcess, HostProcesses, Process
from gpu_studio.contract.samples import Processes as CardProcesses
from gpu_studio.hardware.picture import MachinePicture

NEXT = {"cpu_percent": "measured from the next time on"}
COMMAND = "/home/ada/.venv/bin/python -P -m gpu_studio.trainer /home/ada/runs/digits-4f21"


def picture() -> MachinePicture:
    made = MachinePicture()
    card = CardFacts(card="GPU-1", name="NVIDIA H100 80GB HBM3", index=0)
    on_card = Process(
        card="GPU-1", pid=4194303, kinds=["compute"], user="ada", command=COMMAND, why=NEXT
    )
    on_host = HostProcess(pid=25123, user="root", memory_mib=700, command=COMMAND, why=NEXT)
    for sample in (
        Cards(time=1.0, cards=[card]),
        CardProcesses(time=1.0, processes=[on_card]),
        HostProcesses(time=1.0, processes=[on_host]),
    ):
        made.apply(sample)
    return made


@pytest.mark.parametrize("width", [44, 60, 80, 160])
def test_that_a_process_is_named_in_whole_however_little_room_there_is(width) -> None:
    out = io.StringIO()
    Console(file=out, width=width).print(screen(picture()))
    for words in ("GPU 0", "4194303", "ada", "CPU", "25123", "root"):
        assert words in out.getvalue()
    assert max(len(line) for line in out.getvalue().splitlines()) <= width


@pytest.mark.parametrize("bars", [True, False])
def test_that_memory_stands_beside_its_title_where_no_bar_can_be_seen(bars) -> None:
    made, out = picture(), io.StringIO()
    made.apply(Host(time=1.0, cpu_percent=1.0, memory_used_mib=759, memory_total_mib=128887))
    Console(file=out, width=100).print(screen(made, bars=bars))
    heads, *rows = out.getvalue().splitlines()
    [host] = [row for row in rows if row.startswith("● CPU")]

    assert (heads.index("memory") + len("memory") == host.index("GiB") + len("GiB")) != bars
    assert host.index("0.7") - host.index("this computer") > (30 if bars else 13)


@pytest.mark.parametrize("width", [44, 60, 80])
def test_that_no_figure_of_memory_is_cut_however_little_space_there_is(width) -> None:
    """At 60 columns 21.2 of 79.6 GiB were 21.2 / 7."""
    made, out = picture(), io.StringIO()
    made.apply(Host(time=1.0, cpu_percent=100.0, memory_used_mib=21709, memory_total_mib=81510))
    Console(file=out, width=width).print(screen(made))
    for words in ("21.2", "79.6", "GiB", "100"):
        assert words in out.getvalue()
