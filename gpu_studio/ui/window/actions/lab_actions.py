"""The actions on benchmarks, of the Lab page."""

from __future__ import annotations

from typing import Final

from gpu_studio.ui.kit import ActionSpec

_SUBMENU: Final = "Benchmark"

BENCHMARK: tuple[ActionSpec, ...] = (
    ActionSpec(
        "measure",
        "Run",
        "Measure benchmark",
        "Measure the chosen benchmark in the background, and keep the result",
        "Ctrl+M",
        "play",
        5,
        submenu=_SUBMENU,
    ),
    ActionSpec(
        "cancel_measuring",
        "Run",
        "Cancel measuring",
        "Measure no more; what was measured until now is kept",
        icon="stop",
        group=5,
        submenu=_SUBMENU,
    ),
    ActionSpec(
        "compare_results",
        "Run",
        "Compare result with…",
        "Choose another result of the benchmark, and see what has changed beyond the noise",
        group=5,
        submenu=_SUBMENU,
    ),
    ActionSpec(
        "copy_result_picture",
        "Run",
        "Copy picture of result",
        "Put the picture of the result that is shown on the clipboard",
        icon="copy",
        group=5,
        submenu=_SUBMENU,
    ),
    ActionSpec(
        "copy_result_rows",
        "Run",
        "Copy rows of result",
        "Put the rows of the result that is shown on the clipboard, for a spreadsheet",
        icon="copy",
        group=5,
        submenu=_SUBMENU,
    ),
    ActionSpec(
        "save_result_png",
        "Run",
        "Save picture of result as PNG…",
        "Write the picture of the result that is shown to a file",
        icon="save",
        group=5,
        submenu=_SUBMENU,
    ),
    ActionSpec(
        "save_result_svg",
        "Run",
        "Save picture of result as SVG…",
        "Write the picture of the result that is shown to a file of lines and letters",
        icon="save",
        group=5,
        submenu=_SUBMENU,
    ),
    ActionSpec(
        "save_result_csv",
        "Run",
        "Save rows of result as CSV…",
        "Write the rows of the result that is shown to a file for a spreadsheet",
        icon="save",
        group=5,
        submenu=_SUBMENU,
    ),
    ActionSpec(
        "delete_result",
        "Run",
        "Delete result",
        "Delete the result that is shown; this can be undone",
        icon="trash",
        group=5,
        submenu=_SUBMENU,
    ),
)
OF_BENCHMARKS: tuple[str, ...] = tuple(spec.id for spec in BENCHMARK)
