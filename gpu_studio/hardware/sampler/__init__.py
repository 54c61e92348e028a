"""The process that watches the machine: `python -m gpu_studio.hardware.sampler`, JSON lines on stdout."""
