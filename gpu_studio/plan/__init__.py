"""The plan: its values, its file, and its rules. Pure: no TensorFlow, Qt or NVML."""

from gpu_studio.common.figures import MIB
from gpu_studio.plan.files import load, loads, save
from gpu_studio.plan.logical import PlannedDevice, logical_devices, visible_cards
from gpu_studio.plan.machine import Card, CardUser, Machine
from gpu_studio.plan.problems import PlanError, Problem
from gpu_studio.plan.replication import replica_count, replicas, shares_of
from gpu_studio.plan.settings import with_settings, with_value
from gpu_studio.plan.starter import starter
from gpu_studio.plan.strategies import RUNNABLE_STRATEGIES, STRATEGIES
from gpu_studio.plan.validation import validate
from gpu_studio.plan.values import (
    ALL_REDUCES,
    VERSION,
    BatchScope,
    Carve,
    CheckpointSettings,
    Data,
    DataSplit,
    DeviceSettings,
    Distribution,
    EarlyStopping,
    ModelSettings,
    Named,
    Options,
    Placed,
    Plan,
    Training,
)
from gpu_studio.plan.writing import dumps

__all__ = [
    "ALL_REDUCES",
    "MIB",
    "RUNNABLE_STRATEGIES",
    "STRATEGIES",
    "VERSION",
    "BatchScope",
    "Card",
    "CardUser",
    "Carve",
    "CheckpointSettings",
    "Data",
    "DataSplit",
    "DeviceSettings",
    "Distribution",
    "EarlyStopping",
    "Machine",
    "ModelSettings",
    "Named",
    "Options",
    "Placed",
    "Plan",
    "PlanError",
    "PlannedDevice",
    "Problem",
    "Training",
    "dumps",
    "load",
    "loads",
    "logical_devices",
    "replica_count",
    "replicas",
    "save",
    "shares_of",
    "starter",
    "validate",
    "visible_cards",
    "with_settings",
    "with_value",
]
