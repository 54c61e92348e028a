"""Plans that together use every part of an exported script."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from built_in_models import settings_for
from training_runs import small_plan

from gpu_studio.plan import Plan
from gpu_studio.plan.catalogue import MODELS

IMAGES = ("data.name=synthetic", "data.options={ shape = [9, 8, 3], samples = 150, classes = 3 }")
MIRRORED = "distribution.strategy=mirrored"
WORKERS = "distribution.strategy=multi_worker"
SERVERS = "distribution.strategy=parameter_server"
PLACED = "distribution.strategy=placed"
TWO = 'distribution.devices=["CPU:0", "CPU:1"]'
LEFT_OUT = ("data.test_fraction=0", "data.validation_fraction=0")

SETTINGS: dict[str, tuple[str, ...]] = {
    **{f"{name} as it is": settings_for(entry) for name, entry in MODELS.items()},
    "plain": (),
    "one device": (
        "distribution.strategy=one_device",
        'distribution.devices=["CPU:2"]',
        "model.name=lenet",
    ),
    "dropout": (
        "model.name=cnn",
        "model.options={ dropout = 0.3 }",
        "training.schedule.name=constant",
    ),
    "many layers": ("model.options={ hidden = [" + "1111, " * 20 + "] }",),
    "no layers": ("model.options={ hidden = [] }", "training.metrics=[]"),
    "residual": (MIRRORED, TWO, "model.name=resnet20", "data.name=cifar10"),
    "transformer": (
        "distribution.strategy=central_storage",
        "model.name=transformer",
        "data.name=fashion_mnist",
        "training.mixed_precision=true",
        "training.options={ global_clipnorm = 0.5 }",
        "distribution.parameter_device=CPU:3",
    ),
    "without dropout": (
        MIRRORED,
        "model.name=transformer",
        "model.options={ dropout = 0.0 }",
        *IMAGES,
    ),
    "tower": (
        MIRRORED,
        "model.name=cifar_cnn",
        *IMAGES,
        'training.metrics=["auc", "f1_score", "accuracy", "categorical_crossentropy"]',
        "training.loss.name=kl_divergence",
        "training.early_stopping.monitor=val_auc",
    ),
    "two classes": (
        "data.name=synthetic",
        "data.options={ shape = [9], classes = 2 }",
        'training.metrics=["auc", "precision", { name = "precision_at_recall", recall = 0.5 }]',
    ),
    "line": (
        MIRRORED,
        "model.name=linear",
        "data.name=regression",
        "data.options={ slope = -2.5, samples = 101 }",
        *LEFT_OUT,
        "training.batch_scope=replica",
        "training.batch_size=10",
        "training.checkpoint.every_epochs=0",
        "training.checkpoint.every_steps=3",
        'training.metrics=["r2_score", "mse"]',
    ),
    "no metrics": (
        MIRRORED,
        "training.metrics=[]",
        "data.name=mnist",
        "training.options={ clipvalue = 0.1 }",
    ),
    "alone without metrics": ("distribution.strategy=one_device", "training.metrics=[]", *LEFT_OUT),
    "cosine": (
        "training.schedule={ name = 'cosine', minimum = 0.1 }",
        "training.checkpoint.every_epochs=2",
    ),
    "warm-up": ("training.schedule={ name = 'cosine', warmup_epochs = 1 }", "data.test_fraction=0"),
    "warm-up of steps": (
        "training.schedule={ name = 'cosine', warmup_steps = 3 }",
        "data.validation_fraction=0",
    ),
    "steps": (
        "training.schedule={ name = 'step', every_steps = 100, drop = 0.25 }",
        "training.optimizer=rmsprop",
    ),
    "curve": (
        "training.schedule=exponential",
        "training.early_stopping={ restore_best = false, patience = 1 }",
    ),
    "stairs": ("training.schedule={ name = 'exponential', every_epochs = 5, staircase = true }",),
    "many options": (
        "training.optimizer=adamw",
        (
            "training.options={ weight_decay = 0.01, beta_1 = 0.8, beta_2 = 0.99, "
            "epsilon = 1e-4, clipnorm = 1.0 }"
        ),
        "training.learning_rate=3e-4",
    ),
    "placed": (PLACED, 'distribution.placed.layers={ outputs = "CPU:1" }', "training.metrics=[]"),
    "placed with dropout": (
        PLACED,
        'distribution.placed.layers={ outputs = "CPU:1" }',
        "model.options={ dropout = 0.1 }",
        "training.mixed_precision=true",
    ),
    "placed in parts": (
        PLACED,
        'distribution.placed={ micro_batches = 3, layers = { dense = "CPU:1" } }',
        "model.options={ dropout = 0.1 }",
        "training.options={ loss_scale_factor = 8 }",
    ),
    "placed and normalised": (
        PLACED,
        'distribution.placed={ micro_batches = 2, layers = { local3 = "CPU:2" } }',
        "model.name=cifar_cnn",
        *IMAGES,
    ),
    "placed blocks": (
        PLACED,
        (
            "distribution.placed={ micro_batches = 4, layers = { stage2_block2_add "
            '= "CPU:2", outputs = "CPU:3" } }'
        ),
        "model.name=resnet20",
        "data.name=cifar10",
        *LEFT_OUT,
    ),
    "scaled": (
        MIRRORED,
        "training.options={ loss_scale_factor = 8, clipnorm = 1 }",
        "training.mixed_precision=true",
    ),
    "mixed on a CPU": (
        "training.mixed_precision=true",
        "distribution.strategy=one_device",
        'distribution.devices=["CPU:1"]',
    ),
    "mixed": ("training.mixed_precision=true", "model.options={ dropout = 0.1 }"),
    "devices": (
        "devices.soft_placement=false",
        "devices.log_placement=true",
        'devices.visible=["CPU:0"]',
    ),
    "slices": (
        "devices.carve=[{ device = 'GPU:0', slices_mib = [1024, 2048] }]",
        MIRRORED,
        'distribution.devices=["GPU:0", "GPU:1"]',
    ),
    "many slices": ("devices.carve=[{ device = 'GPU:0', slices_mib = [" + "1111, " * 20 + "] }]",),
    "growth": ("devices.carve=", "devices.memory_growth=true", 'devices.visible=["GPU:0"]'),
    "workers": (WORKERS, "model.name=cnn", "model.options={ dropout = 0.3 }"),
    "workers without much": (
        WORKERS,
        "training.metrics=[]",
        "training.checkpoint.every_epochs=0",
        "distribution.all_reduce=ring",
        *LEFT_OUT,
    ),
    "workers with rules": (
        WORKERS,
        TWO,
        "model.name=cifar_cnn",
        *IMAGES,
        'training.metrics=["auc", "f1_score"]',
        "training.early_stopping={ patience = 2 }",
        "training.checkpoint.every_steps=5",
        "training.checkpoint.every_epochs=2",
        "training.options={ clipnorm = 0.5 }",
        "training.mixed_precision=true",
    ),
    "workers of logical CPUs": (
        WORKERS,
        'devices.visible=["CPU:0"]',
        "distribution.all_reduce=auto",
    ),
    "workers on cards": (
        WORKERS,
        "devices.carve=",
        'devices.visible=["GPU:0", "GPU:1"]',
        "distribution.all_reduce=nccl",
    ),
    "servers": (SERVERS, "model.name=cnn", "model.options={ dropout = 0.3 }"),
    "servers without much": (
        SERVERS,
        "training.metrics=[]",
        "training.checkpoint.every_epochs=0",
        *LEFT_OUT,
    ),
    "servers of shared steps": (
        SERVERS,
        "cluster.updates=sync",
        "model.name=cifar_cnn",
        *IMAGES,
        'training.metrics=["auc", "f1_score"]',
        "training.early_stopping={ patience = 2 }",
        "training.checkpoint.every_steps=5",
        "training.mixed_precision=true",
        "training.options={ use_ema = true }",
    ),
    "servers of shared steps without much": (
        SERVERS,
        "cluster.updates=sync",
        "training.metrics=[]",
        *LEFT_OUT,
    ),
    "ring": (MIRRORED, "distribution.all_reduce=ring"),
    "nccl": ("devices.carve=", MIRRORED, "distribution.all_reduce=nccl"),
    "hierarchical": (MIRRORED, "distribution.all_reduce=hierarchical_copy"),
    "on one": (MIRRORED, "distribution.all_reduce=reduction_to_one_device"),
}


def plan_of(name: str) -> Plan:
    """One of the plans by name."""
    return small_plan(*SETTINGS[name])


def token_file(folder: Path, classes: int = 3) -> Path:
    """An `.npz` file with token ids and a test split of its own."""
    generator = np.random.default_rng(3)
    x, y = generator.integers(0, 20, (140, 6)), np.arange(140) % classes
    x[:, 0] = y  # something to learn
    path = folder / "tokens.npz"
    np.savez(path, x_train=x[:110], y_train=y[:110], x_test=x[110:], y_test=y[110:])
    return path
