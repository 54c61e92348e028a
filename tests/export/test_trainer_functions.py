"""Scripts have the trainer's own rules: the same functions, without what only readers need."""

from __future__ import annotations

import ast
import builtins
from pathlib import Path

import pytest

import gpu_studio
from gpu_studio.export.script_text import functions_of, source_below_imports

TRAINER = Path(gpu_studio.__file__).parent / "trainer"
SHARED = {
    "cuda_libraries.py": ("load_libraries", "is_loaded", "in_search_path", "in_packages"),
    "step_gradients.py": ("rows_once",),
    "replica_updates.py": (
        "in_one_place",
        "for_all",
        "at_each",
        "update_weights",
        "accumulate",
        "overwrite_by_averages",
        "update_for_all",
        "joined_step",
        "joined_once",
        "is_conditional",
        "update_by_sums",
    ),
    "layer_state.py": (
        "change_of",
        "counted_as",
        "joined",
        "wide_type",
        "begun_from",
        "spread",
        "of_batch",
    ),
    "served/program.py": ("plain_of", "sum_of_parts"),
    "served/refusals.py": (
        "updated_together",
        "refuse_callbacks",
        "refuse_alone",
        "refuse_overwriting",
        "refuse_written",
        "refuse_python",
        "operations_in",
    ),
    "strategies/parameter_server.py": ("spread_bytes", "read_batches_here"),
    "callbacks/hooks.py": ("is_terminating", "overrides"),
    "model_layers.py": ("graph_of", "nodes_of", "leaves_below"),
    "placed/recomputing.py": (
        "called_in_stages",
        "spread_graphs",
        "device_in",
        "stages_of",
        "taken_by",
        "in_stages",
        "run_stage",
        "passed_through",
    ),
    "callbacks/made.py": ("rate_at",),
    "callbacks/answering.py": ("make_readable",),
    "keras_objects/optimizers.py": ("set_rate",),
    "user_code/stream_kinds.py": ("opener",),
    "step_recording.py": ("logical_name",),
    "placed/devices.py": (
        "device_of",
        "move",
        "inner_of",
        "is_slot",
        "slots_of",
        "move_slots",
    ),
    "placed/placing.py": (
        "why_whole",
        "units_of",
        "axes_of",
        "part_sizes",
        "made_parts",
        "pieces_of",
        "is_elementwise",
        "joined_outputs",
        "let_go",
    ),
}
IMPORTED = {"keras", "np", "tf", "ctypes", "os", "sysconfig", "Path", "PlanRefused"}
"""What scripts import, or have, for these functions."""


class Bare(ast.NodeTransformer):
    """Takes the annotations off a function and what it assigns."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        assert node.value is not None
        return ast.Assign([node.target], node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        for each in ast.walk(node.args):
            if isinstance(each, ast.arg):
                each.annotation = None
        return self.generic_visit(node)


@pytest.mark.parametrize("file", SHARED)
def test_that_a_script_has_the_functions_of_the_trainer_as_they_are(file: str) -> None:
    written = functions_of(file, *SHARED[file])
    known = {
        each.name: ast.dump(Bare().visit(each))
        for each in ast.parse((TRAINER / file).read_text()).body
        if isinstance(each, ast.FunctionDef)
    }
    made = [each for each in ast.parse(written).body if isinstance(each, ast.FunctionDef)]
    assert [each.name for each in made] == list(SHARED[file])
    assert [ast.dump(each) for each in made] == [known[each.name] for each in made]
    assert "noqa" not in written
    assert max(map(len, written.splitlines())) <= 88
    # They use each other, what a script imports for them, and nothing else.
    nodes = list(ast.walk(ast.parse(written)))
    names = [each for each in nodes if isinstance(each, ast.Name)]
    mine = {each.arg for each in nodes if isinstance(each, ast.arg)}
    mine |= {each.name for each in nodes if isinstance(each, ast.FunctionDef)}
    mine |= {each.id for each in names if isinstance(each.ctx, ast.Store)}
    shared = {name for some in SHARED.values() for name in some}
    assert not {each.id for each in names} - mine - shared - IMPORTED - set(dir(builtins))


def test_that_inner_functions_and_starred_parameters_lose_their_annotations_too() -> None:
    text = source_below_imports("replica_updates.py")
    assert "def for_all(work, *given):" in text
    assert "    def together(new, mean):" in text
    assert "Any" not in text
