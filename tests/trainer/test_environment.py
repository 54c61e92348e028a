from __future__ import annotations

import pytest

from gpu_studio.plan import Carve, DeviceSettings, Plan
from gpu_studio.trainer import environment
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


@pytest.mark.parametrize(
    ("maker", "mib"), [("GenuineIntel", 32), ("AuthenticAMD", 2 * 32), ("", 32)]
)
def test_that_the_last_cache_is_that_of_one_processor_as_eigen_counts_it(
    monkeypatch, tmp_path, maker, mib
) -> None:
    """Of AMD's all parts count, each of which two cores share here; two processors, four each."""
    monkeypatch.setattr(environment, "_PROCESSORS", tmp_path)
    monkeypatch.setattr(environment, "_PROCESS", tmp_path)
    assert environment.last_cache_bytes() == 2 << 20
    (tmp_path / "cpuinfo").write_text(f"processor : 0\nvendor_id : {maker}\n")
    for number in range(8):
        core = tmp_path / f"cpu{number}"
        (core / "topology").mkdir(parents=True)
        (core / "topology/physical_package_id").write_text(f"{number // 4}\n")
        (core / "cache/index3").mkdir(parents=True)
        first = number // 2 * 2
        (core / "cache/index3/shared_cpu_list").write_text(f"{first}-{first + 1}\n")
        (core / "cache/index3/size").write_text("32768K\n")
    assert environment.last_cache_bytes() == mib << 20
