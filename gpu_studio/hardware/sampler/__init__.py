"""The process that watches the machine: `python -m gpu_studio.hardware.sampler`.

It writes JSON lines to stdout.
"""
