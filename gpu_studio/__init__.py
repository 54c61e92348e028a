"""GPU Studio: carve GPUs, place training on them, and watch it run."""

__version__ = "0.1.0"
