"""Widgets, tables, plots and themes that know nothing of GPU Studio.

The wings of the window are built of them.
"""

from gpu_studio.ui.kit.action_set import (
    ActionSet,
    ActionSpec,
)
from gpu_studio.ui.kit.basic_widgets import (
    GAP,
    GUIDE_PLACE,
    ActionButton,
    Button,
    CardFrame,
    Elided,
    EmptyState,
    Label,
    Page,
    Paragraph,
    PrimaryButton,
    Scrolled,
    bring_into_view,
    holds_focus,
    let_go_of_focus,
    show_if,
    tab_after,
)
from gpu_studio.ui.kit.choosable import (
    ChoiceGroup,
    ChoiceRow,
    Tile,
)
from gpu_studio.ui.kit.code_view import (
    CodeView,
)
from gpu_studio.ui.kit.dialogs import (
    Dialog,
    ErrorDialog,
    Question,
    TraceDialog,
    about_dialog,
)
from gpu_studio.ui.kit.icons import (
    coloured_icon,
    icon,
    pixmap,
)
from gpu_studio.ui.kit.notice import (
    Note,
    Notice,
    Tone,
)
from gpu_studio.ui.kit.options import (
    ChoiceOption,
    MarkedTabs,
    OptionButton,
    tab_bar,
)
from gpu_studio.ui.kit.painting import (
    HEIGHT,
    LEFT,
    RIGHT,
    PaintedLine,
    draw_bar,
    draw_focus,
)
from gpu_studio.ui.kit.status_line import (
    Dot,
    LiveButton,
    StatusLine,
)
from gpu_studio.ui.kit.table import (
    HEADER,
    PADDING,
    ROW,
    SORT_ROLE,
    CheckDelegate,
    Index,
    PaintedCell,
    PlainTable,
    Table,
    model_as_text,
)
from gpu_studio.ui.kit.task import (
    BackgroundTask,
    CancelledError,
    FileJobs,
    Report,
    Stop,
    write_lines,
    write_parts,
)
from gpu_studio.ui.kit.theme import (
    GRID,
    ICONS,
    LIGHT,
    FontRole,
    ThemeManager,
    Tokens,
    contrast,
    font,
    line_height,
    mix,
    readable,
    state_colour,
)
from gpu_studio.ui.kit.when_seen import (
    WhenSeen,
)
from gpu_studio.ui.kit.words import (
    sentence,
)

__all__ = [
    "GAP",
    "GRID",
    "GUIDE_PLACE",
    "HEADER",
    "HEIGHT",
    "ICONS",
    "LEFT",
    "LIGHT",
    "PADDING",
    "RIGHT",
    "ROW",
    "SORT_ROLE",
    "ActionButton",
    "ActionSet",
    "ActionSpec",
    "BackgroundTask",
    "Button",
    "CancelledError",
    "CardFrame",
    "CheckDelegate",
    "ChoiceGroup",
    "ChoiceOption",
    "ChoiceRow",
    "CodeView",
    "Dialog",
    "Dot",
    "Elided",
    "EmptyState",
    "ErrorDialog",
    "FileJobs",
    "FontRole",
    "Index",
    "Label",
    "LiveButton",
    "MarkedTabs",
    "Note",
    "Notice",
    "OptionButton",
    "Page",
    "PaintedCell",
    "PaintedLine",
    "Paragraph",
    "PlainTable",
    "PrimaryButton",
    "Question",
    "Report",
    "Scrolled",
    "StatusLine",
    "Stop",
    "Table",
    "ThemeManager",
    "Tile",
    "Tokens",
    "Tone",
    "TraceDialog",
    "WhenSeen",
    "about_dialog",
    "bring_into_view",
    "coloured_icon",
    "contrast",
    "draw_bar",
    "draw_focus",
    "font",
    "holds_focus",
    "icon",
    "let_go_of_focus",
    "line_height",
    "mix",
    "model_as_text",
    "pixmap",
    "readable",
    "sentence",
    "show_if",
    "state_colour",
    "tab_after",
    "tab_bar",
    "write_lines",
    "write_parts",
]
