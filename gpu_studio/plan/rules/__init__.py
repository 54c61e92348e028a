"""The rules that a plan must satisfy, a file for each part.

`gpu_studio.plan.validation` runs them all.
"""
