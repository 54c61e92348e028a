"""Describe how far a run was trained: whole epochs, and the steps after the last of them."""

from __future__ import annotations

from gpu_studio.common.figures import plural


def trained(step: int, steps_per_epoch: int | None, epochs: int | None = None) -> str:
    """Write how much was trained: `35 of 400 epochs and 14 steps`, `14 of 920 steps`.

    `step` counts global batches from the beginning of the training. None is unknown. Empty before
    the first step.
    """
    if step <= 0:
        return ""
    whole, rest = divmod(step, steps_per_epoch) if steps_per_epoch else (0, step)
    if not whole:
        return _of(rest, steps_per_epoch * epochs if steps_per_epoch and epochs else None, "step")
    return (
        f"{_of(whole, epochs, 'epoch')} and {plural(rest, 'step')}"
        if rest
        else _of(whole, epochs, "epoch")
    )


def reached(step: int, steps_per_epoch: int | None, epochs: int | None = None) -> str:
    """Write how far training came: `after 35 of 400 epochs and 14 steps`.

    Or `before the first step`.
    """
    amount = trained(step, steps_per_epoch, epochs)
    return f"after {amount}" if amount else "before the first step"


def saved_at(epoch: int, step: int) -> str:
    """Write when a checkpoint was made: `after epoch 35, at step 819`.

    `epoch` counts finished epochs.
    """
    if step <= 0:
        return "before the first step"
    return f"after epoch {epoch:,}, at step {step:,}" if epoch > 0 else f"at step {step:,}"


def _of(count: int, total: int | None, word: str) -> str:
    return f"{count:,} of {plural(total, word)}" if total else plural(count, word)
