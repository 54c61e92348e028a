"""The window, in wings.

Each page with its models and widgets is a wing; the kit lies below them, the window above.
"""

from gpu_studio.ui.kit.overrides import complete_errors

complete_errors()
