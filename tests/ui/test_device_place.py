from __future__ import annotations

from gpu_studio.ui.models.device_place import places
from gpu_studio.ui.theme.tokens import DARK, HOST, LIGHT


def test_that_logical_cpus_have_colours_where_they_stand_for_cards() -> None:
    assert places(["CPU:0", "CPU:1"]) == {"CPU:0": 0, "CPU:1": 1}


def test_that_beside_cards_the_cpu_is_the_host_and_grey() -> None:
    known = places(["GPU:0", "GPU:1", "CPU:0"])
    assert known == {"GPU:0": 0, "GPU:1": 1, "CPU:0": HOST}
    for tokens in (DARK, LIGHT):
        assert tokens.device_colour(HOST) == tokens.host
        assert tokens.device_dash(HOST) == ()
        assert tokens.host not in tokens.devices
