"""The rules that a plan must keep, a file for each of its parts. `gpu_studio.plan.validation` runs them all."""
