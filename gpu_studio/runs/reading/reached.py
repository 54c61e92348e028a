"""How far a run was trained, in words that count what is done: whole epochs, and the steps after the last of them."""

from __future__ import annotations

from gpu_studio.runs.wording import plural


def trained(step: int, steps_per_epoch: int | None, epochs: int | None = None) -> str:
    """Write how much is trained: `35 of 400 epochs and 14 steps`, `14 of 920 steps`; empty before the first step.

    `step` counts global batches from the beginning of the training. None is not known.
    """
    if step <= 0:
        return ""
    whole, rest = divmod(step, steps_per_epoch) if steps_per_epoch else (0, step)
    if not whole:
        return _of(rest, steps_per_epoch * epochs if steps_per_epoch and epochs else None, "step")
    return f"{_of(whole, epochs, 'epoch')} and {plural(rest, 'step')}" if rest else _of(whole, epochs, "epoch")


def reached(step: int, steps_per_epoch: int | None, epochs: int | None = None) -> str:
    """Write how far the training came: `after 35 of 400 epochs and 14 steps`, `before the first step`."""
    amount = trained(step, steps_per_epoch, epochs)
    return f"after {amount}" if amount else "before the first step"


def saved_at(epoch: int, step: int) -> str:
    """Write when a checkpoint was made, of which `epoch` counts finished epochs: `after epoch 35, at step 819`."""
    if step <= 0:
        return "before the first step"
    return f"after epoch {epoch:,}, at step {step:,}" if epoch > 0 else f"at step {step:,}"


def _of(count: int, total: int | None, word: str) -> str:
    return f"{count:,} of {plural(total, word)}" if total else plural(count, word)
