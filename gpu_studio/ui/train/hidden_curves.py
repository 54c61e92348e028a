"""Remember which curves of a plot the user has hidden."""

from __future__ import annotations

from gpu_studio.ui.kit.plots.time_plot import TimePlot
from gpu_studio.ui.kit.settings import Setting, Settings


def remember_hidden(
    plot: TimePlot, setting: Setting[tuple[str, ...]], settings: Settings | None
) -> None:
    """Let the curves of `plot` be hidden by their names, as they were when it was last seen."""
    plot.make_switchable(settings.get(setting) if settings is not None else ())
    if settings is not None:
        kept = settings
        plot.legend.hidden_changed.connect(
            lambda: kept.set(setting, tuple(sorted(plot.legend.hidden)))
        )
