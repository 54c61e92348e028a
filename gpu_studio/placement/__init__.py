"""What layers cost, where to place them, and what a training step takes. Pure.

Values in, values out: no TensorFlow, Qt or NVML.
"""
