"""What `runs placement` says of itself."""

from __future__ import annotations

from typing import Final

from gpu_studio.cli.exit_codes import ELSEWHERE

ACTIONS: Final = {"placement": "show on which device each layer ran, beside the one that was asked for"}
EXAMPLES: Final = {
    "placement": f"""
  gpu-studio runs placement latest --json

The figures are numbers of operations, read from the graphs that TensorFlow executed in the first step.

exit codes:
  0    every layer ran where it was put
  2    refused: the run has placed no layers, or has not got so far
  {ELSEWHERE}    something ran on another device than it was asked to"""
}
