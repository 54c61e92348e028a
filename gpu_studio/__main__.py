"""`python -m gpu_studio`: the same as `gpu-studio`."""

from __future__ import annotations

import sys

from gpu_studio.cli import main

if __name__ == "__main__":
    sys.exit(main())
