"""The words about the keys of a plan: what each is, its call in TensorFlow, when to change it.

What has an `Option` with a help text of its own leaves the first one empty, and takes that.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpu_studio.plan.cluster_values import CLUSTER_WORDS
from gpu_studio.plan.strategies import BY_NAME
from gpu_studio.plan.values import ALL_REDUCES, listed

WORDS: Mapping[str, tuple[str, str, str]] = {
    "version": (
        "the version of the plan's format",
        "",
        "Never by hand: a newer GPU Studio reads older plans as they are.",
    ),
    "name": ("what the plan is called; runs are called after it", "", "For each new idea."),
    "devices.visible": (
        "the cards that TensorFlow may see: names (`GPU:0`) or UUIDs, which survive a restart",
        "CUDA_VISIBLE_DEVICES, before TensorFlow is imported",
        "When others use a card: TensorFlow takes nearly all memory of every card it sees.",
    ),
    "devices.memory_growth": (
        "take a card's memory as it is needed, instead of nearly all at the start",
        "tf.config.experimental.set_memory_growth",
        "When several programs share a card. Not together with slices, which have a fixed limit.",
    ),
    "devices.soft_placement": (
        "let TensorFlow run an operation elsewhere where its device has no kernel for it",
        "tf.config.set_soft_device_placement",
        "Set it to false to get an error instead, and so the proof that nothing moved.",
    ),
    "devices.log_placement": (
        "write the device of every operation into trainer.log",
        "tf.debugging.set_log_device_placement",
        "When the Placement tab is not detailed enough. The log becomes long.",
    ),
    "devices.carve.device": (
        "the physical device that is cut: `GPU:0`, a UUID, or `CPU:0`",
        "tf.config.set_logical_device_configuration",
        "To try several devices on one card, or without any card on the CPU.",
    ),
    "devices.carve.slices_mib": (
        "the memory limit of each slice in MiB; on a CPU 0, for it has no limit there",
        "tf.config.LogicalDeviceConfiguration(memory_limit=…)",
        "When a slice runs out of memory, or the card has room left.",
    ),
    "model.name": (
        "a built-in model, see [Models](built-ins.md#models)",
        "",
        "To begin with, or to compare.",
    ),
    "model.file": (
        "a model saved by Keras, `.keras`",
        "keras.saving.load_model",
        "For a model made elsewhere. Layers that carry code are refused (Keras' safe mode).",
    ),
    "model.python": (
        "a function of your own that returns a model: `models.py:build_model`",
        "",
        "For your own Keras code; see [Your own Keras code](own-code.md).",
    ),
    "model.options": (
        "the options of the built-in, or the arguments of your function",
        "",
        "To make the model larger or smaller.",
    ),
    "model.weights": (
        "a file of weights that the model begins with: of `save_weights`, or a `.keras` file",
        "keras.Model.load_weights",
        "To go on from a model that was trained elsewhere. Only its numbers are read.",
    ),
    "model.frozen": (
        "layers that training leaves as they are, by name or pattern; `!` before one thaws it",
        "keras.layers.Layer.trainable",
        "To train only the head of a model that was trained before, or to tune a part of it.",
    ),
    "data.name": (
        "built-in data, see [Built-in data](built-ins.md#built-in-data)",
        "",
        "To begin with.",
    ),
    "data.file": (
        "arrays in a `.npz` file: `x` and `y`, and what else it has by its names",
        "",
        "For data that you have as arrays.",
    ),
    "data.table": (
        "a CSV file, JSON lines or a Parquet file: columns as inputs, targets, weights or groups",
        "",
        "For data that you have as columns.",
    ),
    "data.folder": (
        "a folder of images or of texts, one for each class; or of images and their masks",
        "keras.utils.image_dataset_from_directory reads the same layout",
        "For images or texts that are sorted into classes, and for images with a class a pixel.",
    ),
    "data.python": (
        "a function of your own that returns arrays or a stream of batches: `data.py:load`",
        "tf.data.Dataset, keras.utils.PyDataset, or a generator",
        "For all other data; see [Your own Keras code](own-code.md).",
    ),
    "data.options": (
        "the options of the data: of a built-in, a file or a folder, or your function's arguments",
        "",
        "To bring images to a size, or to choose how many samples are made up.",
    ),
    "data.split": (
        "how samples are kept aside: which ones validate and test",
        "",
        (
            '"stratified" gives each class its share; "ordered" takes the last ones, for a time '
            'series; "grouped" has no group in two splits.'
        ),
    ),
    "data.groups": (
        "the array with the group of each sample",
        "",
        'With `split = "grouped"`, if your array has another name.',
    ),
    "data.validation_fraction": (
        "",
        "Model.fit(validation_split=…)",
        "Smaller with very many samples, larger with few.",
    ),
    "data.test_fraction": ("", "", "0 if you test elsewhere: then all other samples train."),
    "training.epochs": ("", "Model.fit(epochs=…)", "While the validation loss still falls."),
    "training.batch_size": (
        "",
        "Model.fit(batch_size=…)",
        "Larger while a device is not busy and has memory; smaller when it runs out of memory.",
    ),
    "training.batch_scope": (
        "what the batch size counts: the global batch, or the batch of each replica",
        "tf.distribute.Strategy.experimental_distribute_dataset takes the global one",
        '"replica" to keep each device as busy when you add some; the global batch grows then.',
    ),
    "training.optimizer": (
        "Keras' name of the optimizer, or your own: `optimizers.py:make`",
        "Model.compile(optimizer=…)",
        "Adam is a good first choice. SGD keeps the least memory.",
    ),
    "training.options": (
        "the optimizer's options, as Keras names them: `momentum`, `global_clipnorm`, …",
        "keras.optimizers: the arguments of the optimizer's class",
        "`global_clipnorm = 1.0` when the loss stops being finite.",
    ),
    "training.learning_rate": (
        "",
        "keras.optimizers.Optimizer(learning_rate=…)",
        "Smaller when the loss jumps or stops being finite, larger when it falls slowly.",
    ),
    "training.schedule": (
        "how the learning rate changes: one of [these](built-ins.md#schedules), or your own",
        "keras.optimizers.schedules",
        "For long trainings: `cosine` with a warm-up is a good first choice.",
    ),
    "training.loss": (
        "what is made small: Keras' name, or your own: `losses.py:focal`",
        "Model.compile(loss=…)",
        "When what `auto` chose, which the Training tab shows, is not what you mean.",
    ),
    "training.metrics": (
        "what is measured besides the loss: Keras' names, or your own",
        "Model.compile(metrics=…)",
        "To see what you really care about; `val_` and its name can be watched.",
    ),
    "training.outputs.NAME.loss": (
        'the loss of this output; with "none" it learns nothing',
        "Model.compile(loss={…})",
        "When the outputs learn by different losses.",
    ),
    "training.outputs.NAME.loss_weight": (
        "how much its loss counts in the sum of all",
        "Model.compile(loss_weights={…})",
        "When one output's loss drowns the others.",
    ),
    "training.outputs.NAME.metrics": (
        "what is measured of this output",
        "Model.compile(metrics={…})",
        "When the outputs are measured differently.",
    ),
    "training.class_weight": (
        "how much each sample, step or pixel of a class counts in the loss, by the class's number",
        "Model.fit(class_weight=…)",
        "When some classes have far fewer samples than others.",
    ),
    "training.shuffle": (
        "train on samples in another order in each epoch; off: in that of the data",
        "Model.fit(shuffle=…)",
        "Set it to false where the order counts, as for windows of a time series with states.",
    ),
    "training.seed": (
        "",
        "keras.utils.set_random_seed",
        "To see how much of a difference is chance: train the same plan with three seeds.",
    ),
    "training.mixed_precision": (
        "compute in 16 bits where the device is fast at it, and keep the weights in 32",
        "keras.mixed_precision.set_global_policy",
        "On cards with tensor cores: faster, and about half the memory for activations.",
    ),
    "training.tf32": (
        "products of float32 in TF32 on cards since Ampere: faster, each about a thousandth off",
        "tf.config.experimental.enable_tensor_float_32_execution",
        "False for a CPU's losses, as a script may say, too. With mixed precision nearly the same.",
    ),
    "training.jit_compile": (
        "compile each training step with XLA, on one device: always, never, or where `fit` would",
        "Model.compile(jit_compile=…)",
        "Rarely. `false` where a step lacks memory, or shall draw what it draws on a CPU.",
    ),
    "training.steps_per_call": (
        "",
        "Model.compile(steps_per_execution=…)",
        "Rarely. 1 to have each step's figures at once, at the price of speed.",
    ),
    "training.steps_per_epoch": (
        "",
        "Model.fit(steps_per_epoch=…)",
        "For data without an end, which need it.",
    ),
    "training.validation_steps": (
        "",
        "Model.fit(validation_steps=…)",
        "When validating takes long, or its data have no end.",
    ),
    "training.validation_freq": (
        "",
        "Model.fit(validation_freq=…)",
        "When validating takes long. Early stopping counts the epochs that are validated.",
    ),
    "training.initial_epoch": (
        "",
        "Model.fit(initial_epoch=…)",
        "When the model was trained before: callbacks and phases go by the numbers of epochs.",
    ),
    "training.as_in_script": (
        "which of the keys that `fit` has, too, are as the script gives them to it",
        "Model.fit(…)",
        "Where its text does not say them. A key that is written counts for more.",
    ),
    "training.early_stopping.monitor": (
        "the metric that has to improve",
        "keras.callbacks.EarlyStopping(monitor=…)",
        "To watch what you really care about.",
    ),
    "training.early_stopping.patience": (
        "",
        "keras.callbacks.EarlyStopping(patience=…)",
        "Larger where the metric is noisy.",
    ),
    "training.early_stopping.min_delta": (
        "",
        "keras.callbacks.EarlyStopping(min_delta=…)",
        "When tiny improvements are not worth their time.",
    ),
    "training.early_stopping.restore_best": (
        "end with the weights of the best epoch instead of the last one",
        "keras.callbacks.EarlyStopping(restore_best_weights=…)",
        "Set it to false to go on from the very end.",
    ),
    "training.checkpoint.every_epochs": (
        "",
        "keras.callbacks.ModelCheckpoint does the like",
        "Larger for short epochs, 0 for none at the ends of epochs.",
    ),
    "training.checkpoint.every_steps": (
        "",
        "keras.callbacks.BackupAndRestore(save_freq=…) does the like",
        "When an epoch takes hours: that much is lost at most.",
    ),
    "training.checkpoint.keep": ("", "", "Smaller where the disk is small and the model large."),
    "training.checkpoint.monitor": (
        "the metric that keeps the best one; of a model without a loss, its first error or score",
        "keras.callbacks.ModelCheckpoint(monitor=…)",
        "To keep the best by what you really care about.",
    ),
    "training.phases.after": (
        "the epochs, of all that `training.epochs` counts, after which the phase begins",
        "",
        "To train the head of a model first, and then tune all of it.",
    ),
    "training.phases.learning_rate": (
        "the learning rate of the phase, constant",
        "keras.optimizers.Optimizer(learning_rate=…)",
        "Far smaller than the first one where layers are tuned that were trained before.",
    ),
    "training.phases.frozen": (
        "the layers that the phase leaves as they are, in the place of `model.frozen`",
        "keras.layers.Layer.trainable",
        "To keep some layers frozen; left out, layers are as the model was made.",
    ),
    "training.callbacks.name": (
        "one of [these](built-ins.md#built-in-callbacks), or your own: `callbacks.py:make`",
        "Model.fit(callbacks=[…])",
        "For what a plan cannot say.",
    ),
    "training.callbacks.options": (
        "the callback's options, or the arguments of your function",
        "keras.callbacks: the arguments of the callback's class",
        "As the callback needs them.",
    ),
    "distribution.strategy": (
        f"one of {listed(tuple(BY_NAME), 'or')}; see [Strategies](built-ins.md#strategies)",
        "tf.distribute",
        "When one device is too slow, or too small.",
    ),
    "distribution.devices": (
        "the logical devices that train, by TensorFlow's names: `GPU:0`, `GPU:1`",
        "the devices of the strategy",
        "To leave a device for something else, or to compare two devices with four.",
    ),
    "distribution.all_reduce": (
        f"how replicas sum their gradients: {listed(ALL_REDUCES, 'or')}",
        "tf.distribute.MirroredStrategy(cross_device_ops=…)",
        "Rarely: `auto` takes NCCL for whole cards, and one device's sum for slices and CPUs.",
    ),
    "distribution.parameter_device": (
        "where `central_storage` keeps the weights",
        "tf.distribute.experimental.CentralStorageStrategy(parameter_device=…)",
        "When a card has room for them: it reads them faster than the CPU's memory.",
    ),
    "distribution.placed.micro_batches": (
        "",
        "",
        "More make the bubble smaller, until each is too small to keep a device busy.",
    ),
    "distribution.placed.layers": (
        "the device of each layer; a list of devices splits the layer's units over them",
        "tf.device, for the forward pass, the backward pass and the update",
        "When *What will happen* shows one device full, or one that waits.",
    ),
    "distribution.placed.recompute": (
        "keep only the inputs of each stage for the backward pass, and compute the rest again",
        "tf.recompute_grad",
        "When activations do not fit. A step takes longer, for it computes most layers twice.",
    ),
    **CLUSTER_WORDS,
}
"""By the key: what it is, its call in TensorFlow or Keras, and when to change it."""
