"""The line of a plan file that a problem is about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.plan import PlanError, Problem, loads
from gpu_studio.plan.files import line_of

TEXT = """\
version = 1
name = "mine" # devices.visible = 3

[devices]
visible = []
[[devices.carve]]
device = "GPU:0"
slices_mib = [1, 2]
[[devices.carve]]  # the second
device = "GPU:1"

[ model ]
name = "mlp"
options = { hidden = "many" }
[training]
epochs = "ten"
checkpoint.keep = 0
[distribution.placed.layers]
"a/b" = "CPU:0"
"""


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ("name", 2),
        ("devices.visible[0]", 5),
        ("devices.carve[1].device", 10),
        ("devices.carve[0].slices_mib[1]", 8),
        ("devices.carve[1].slices_mib", 9),
        ("model.options.hidden", 14),
        ("training.epochs", 16),
        ("training.checkpoint.keep", 17),
        ("training.optimizer", 15),
        ("distribution.placed.layers.a/b", 19),
        ("mine.plan.toml, line 7, column 3,", 7),
        ("data.name", None),
        ("mine.plan.toml", None),
    ],
)
def test_that_a_problem_is_found_at_its_field_or_at_the_table_around_it(
    field: str, line: int | None
) -> None:
    assert line_of(TEXT, Problem(field, "", "")) == line


MISTAKES = (
    ("epochs = 3", "epochs = [3]"),
    ("batch_size = 9", "batch_sise = 9"),
    ("seed = 1", "seed = ]"),
)


@given(
    st.sampled_from(MISTAKES), st.lists(st.sampled_from(["", "# [data]", "  # x = 1"]), max_size=5)
)
def test_that_every_mistake_is_found_in_the_line_where_it_was_made(
    mistake: tuple[str, str], before: list[str]
) -> None:
    lines = [*before, "[training]", "epochs = 3", "", "batch_size = 9", "seed = 1", *before]
    wrong = "\n".join(lines).replace(*mistake)
    with pytest.raises(PlanError) as refused:
        loads(wrong, "my.plan.toml")
    places = [line_of(wrong, problem) for problem in refused.value.problems]
    assert lines.index(mistake[0]) + 1 in places
