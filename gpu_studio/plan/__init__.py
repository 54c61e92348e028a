"""What to do: the Plan, its file, its rules. Values in, values out; nothing here knows TensorFlow, Qt or NVML."""

from gpu_studio.plan.files import load, loads, save
from gpu_studio.plan.logical import LogicalDevice, logical_devices, replica_count, replicas, shares_of, visible_cards
from gpu_studio.plan.machine import MIB, Card, CardUser, Machine
from gpu_studio.plan.problems import PlanError, Problem
from gpu_studio.plan.settings import with_settings, with_value
from gpu_studio.plan.starter import starter
from gpu_studio.plan.validation import validate
from gpu_studio.plan.values import (
    ALL_REDUCES,
    RUNNABLE_STRATEGIES,
    STRATEGIES,
    VERSION,
    BatchScope,
    Carve,
    Checkpoint,
    Data,
    DataSplit,
    Devices,
    Distribution,
    EarlyStopping,
    Model,
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
    "Checkpoint",
    "Data",
    "DataSplit",
    "Devices",
    "Distribution",
    "EarlyStopping",
    "LogicalDevice",
    "Machine",
    "Model",
    "Named",
    "Options",
    "Placed",
    "Plan",
    "PlanError",
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
