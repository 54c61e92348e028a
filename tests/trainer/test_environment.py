from __future__ import annotations

import pytest

from gpu_studio.plan import Carve, DeviceSettings, Plan
from gpu_studio.trainer.environment import settings_for, visible_cards
from gpu_studio.trainer.errors import PlanRefused


def test_that_all_cards_stay_visible_where_the_plan_names_none() -> None:
    assert visible_cards(DeviceSettings(), None) is None
    assert visible_cards(DeviceSettings(), "2,3") == "2,3"


def test_that_cards_are_named_by_index_and_uuid_in_the_order_of_the_plan() -> None:
    assert visible_cards(DeviceSettings(visible=("GPU:2", "GPU-5d0", "CPU:0")), None) == "2,GPU-5d0"


def test_that_a_plan_for_the_cpu_alone_hides_every_card() -> None:
    assert visible_cards(DeviceSettings(visible=("CPU:0",)), "0") == "-1"


def test_that_an_index_counts_within_what_a_scheduler_allows() -> None:
    assert visible_cards(DeviceSettings(visible=("GPU:1",)), "4, 6") == "6"
    with pytest.raises(PlanRefused, match="GPU:2"):
        visible_cards(DeviceSettings(visible=("GPU:2",)), "4,6")
    with pytest.raises(PlanRefused, match="GPU:0"):
        visible_cards(DeviceSettings(visible=("GPU:0",)), "")


def test_that_a_shared_pool_is_refused_with_a_carve() -> None:
    carved = Plan(devices=DeviceSettings(carve=(Carve("GPU:0", (1024, 1024)),)))
    with pytest.raises(PlanRefused, match="TF_GPU_ALLOCATOR"):
        settings_for(carved, {"TF_GPU_ALLOCATOR": "cuda_malloc_async"})
    assert settings_for(Plan(), {"TF_GPU_ALLOCATOR": "cuda_malloc_async"})


def test_that_cards_are_counted_in_bus_order_and_no_cluster_is_inherited() -> None:
    settings = settings_for(Plan(), {"TF_CONFIG": "{}", "TF_CPP_MIN_LOG_LEVEL": "3"})
    assert settings["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
    assert settings["TF_CONFIG"] is None
    assert settings["TF_CPP_MIN_LOG_LEVEL"] == "3"
