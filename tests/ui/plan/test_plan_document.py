from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.plan import Data, Plan, PlanError, load, save
from gpu_studio.plan.edits.training import set_training
from gpu_studio.ui.plan.plan_document import PlanDocument

FIRST = Plan(name="first")


@pytest.fixture
def document(qapp) -> PlanDocument:
    made = PlanDocument()
    made.begin(FIRST)
    return made


def test_that_a_document_begins_with_nothing(qapp) -> None:
    empty = PlanDocument()
    assert empty.plan is None
    assert not empty.dirty
    empty.replace(FIRST, "nothing to change yet")
    assert empty.plan is None


def test_that_a_change_is_told_and_can_be_undone_and_redone(document: PlanDocument, qtbot) -> None:
    with qtbot.waitSignal(document.changed):
        document.replace(set_training(FIRST, epochs=7), "change epochs")
    assert document.dirty
    document.undo_stack.undo()
    assert document.plan == FIRST
    assert not document.dirty
    document.undo_stack.redo()
    assert document.plan is not None
    assert document.plan.training.epochs == 7


def test_that_typing_at_one_field_is_one_step_and_at_another_is_another(
    document: PlanDocument,
) -> None:
    for epochs in (1, 10, 100):
        document.replace(
            set_training(document.plan, epochs=epochs), "change epochs", "training.epochs"
        )
    document.replace(
        set_training(document.plan, batch_size=8), "change batch size", "training.batch_size"
    )
    assert document.undo_stack.count() == 2
    document.undo_stack.undo()
    assert document.plan == set_training(FIRST, epochs=100)


def test_that_typing_back_to_the_old_value_leaves_no_step(document: PlanDocument) -> None:
    document.replace(set_training(FIRST, epochs=9), "change epochs", "training.epochs")
    document.replace(FIRST, "change epochs", "training.epochs")
    assert not document.undo_stack.canUndo()
    assert not document.dirty


def test_that_a_save_between_two_changes_of_a_field_keeps_them_apart(
    document: PlanDocument, tmp_path: Path
) -> None:
    document.replace(set_training(FIRST, epochs=8), "change epochs", "training.epochs")
    document.save(tmp_path / "a.plan.toml")
    document.replace(set_training(FIRST, epochs=9), "change epochs", "training.epochs")
    document.undo_stack.undo()
    assert document.plan == load(tmp_path / "a.plan.toml")
    assert not document.dirty


def test_that_a_saved_plan_is_dirty_again_after_an_undo(
    document: PlanDocument, tmp_path: Path
) -> None:
    document.replace(set_training(FIRST, epochs=8), "change epochs")
    document.save(tmp_path / "a.plan.toml")
    assert not document.dirty
    document.undo_stack.undo()
    assert document.dirty
    assert document.path == tmp_path / "a.plan.toml"


def test_that_opening_another_plan_can_be_undone_with_its_unsaved_changes(
    document: PlanDocument, tmp_path
) -> None:
    other = tmp_path / "other.plan.toml"
    save(Plan(name="other"), other)
    changed = set_training(FIRST, epochs=8)
    document.replace(changed, "change epochs")
    document.open(other)
    assert (document.plan, document.path, document.dirty) == (Plan(name="other"), other, False)
    document.undo_stack.undo()
    assert (document.plan, document.path, document.dirty) == (changed, None, True)


def test_that_a_plan_that_cannot_be_read_leaves_everything_as_it_is(
    document: PlanDocument, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.plan.toml"
    bad.write_text("epochs = 3\n")
    with pytest.raises(PlanError):
        document.open(bad)
    assert document.plan == FIRST
    assert document.path is None
    assert document.undo_stack.count() == 0


def test_that_a_plan_that_cannot_be_saved_stays_unsaved(
    document: PlanDocument, tmp_path: Path
) -> None:
    with pytest.raises(OSError, match="missing"):
        document.save(tmp_path / "missing" / "a.plan.toml")
    assert document.path is None


@given(
    st.lists(
        st.tuples(st.sampled_from(["epochs", "batch_size", "seed"]), st.integers(1, 5)), max_size=12
    )
)
def test_that_undoing_everything_comes_back_to_the_first_plan(
    qapp, changes: list[tuple[str, int]]
) -> None:
    document = PlanDocument()
    document.begin(FIRST)
    for field, value in changes:
        document.replace(set_training(document.plan, **{field: value}), "change", field)
    last = document.plan
    document.undo_stack.setIndex(0)
    assert document.plan == FIRST
    document.undo_stack.setIndex(document.undo_stack.count())
    assert document.plan == last


def test_that_the_first_plan_of_a_start_may_differ_from_its_file(qapp, tmp_path: Path) -> None:
    document = PlanDocument()
    document.begin(replace(FIRST, name="draft"), tmp_path / "a.plan.toml", FIRST)
    assert document.dirty
    assert not document.undo_stack.canUndo()


BY_HAND = """\
version = 1
name = "by hand"  # a note

[training]
epochs = 2
"""


def test_that_the_comments_of_a_plan_written_by_hand_outlive_an_edit_and_a_save(
    qapp, tmp_path: Path
) -> None:
    path = tmp_path / "hand.plan.toml"
    path.write_text(BY_HAND)
    document = PlanDocument()
    document.begin(load(path), path)
    assert document.text == BY_HAND
    document.replace(set_training(document.plan, epochs=9), "change epochs")
    document.save(path)
    assert path.read_text() == BY_HAND.replace("epochs = 2", "epochs = 9")


def test_that_a_text_typed_in_the_window_is_the_one_that_is_saved(
    document: PlanDocument, tmp_path: Path
) -> None:
    document.keep_text('version = 1\nname = "first"  # typed\n')
    document.save(tmp_path / "a.plan.toml")
    assert (tmp_path / "a.plan.toml").read_text() == 'version = 1\nname = "first"  # typed\n'


def test_that_files_are_absolute_in_the_plan_s_folder_made_once_for_each_change(
    document: PlanDocument, tmp_path: Path
) -> None:
    assert document.absolute is document.absolute
    document.replace(replace(FIRST, data=Data(file="own.npz")), "own data")
    assert document.plan is not None
    assert document.plan.data.file == "own.npz"
    assert document.absolute is not None
    assert document.absolute.data.file == str(Path.home() / "own.npz")
    document.save(tmp_path / "a.plan.toml")
    assert document.absolute.data.file == str(tmp_path / "own.npz")
    assert load(tmp_path / "a.plan.toml").data.file == "own.npz"


def test_that_half_typed_text_is_a_step_of_its_own_that_undo_and_redo_keep(
    document: PlanDocument,
) -> None:
    document.type_half("name = ")
    document.type_half("name = 'fir")
    assert document.undo_stack.count() == 1
    document.undo_stack.undo()
    assert document.half_typed is None
    assert not document.dirty
    document.undo_stack.redo()
    assert document.half_typed == "name = 'fir"
    document.type_half(None)
    assert document.undo_stack.count() == 0


def test_that_half_typed_text_comes_back_when_the_edit_that_replaced_it_is_undone(
    document: PlanDocument,
) -> None:
    document.type_half("name = ")
    document.replace(set_training(FIRST, epochs=3), "change epochs", "epochs")
    document.replace(FIRST, "change epochs", "epochs")
    assert document.half_typed is None
    document.undo_stack.undo()
    assert (document.plan, document.half_typed) == (FIRST, "name = ")
    document.switch(Plan(name="other"), None, "open other")
    assert document.half_typed is None
    document.undo_stack.undo()
    assert (document.plan, document.half_typed) == (FIRST, "name = ")


def test_that_text_typed_until_it_is_a_plan_again_is_one_edit(document: PlanDocument) -> None:
    for text, epochs in (("epochs = 1", 1), ("epochs = ", None), ("epochs = 7", 7)):
        document.type_half(text if epochs is None else None)
        if epochs is not None:
            document.replace(set_training(FIRST, epochs=epochs), "edit the plan's text", "file")
    assert document.undo_stack.count() == 1
    document.undo_stack.undo()
    assert (document.plan, document.half_typed) == (FIRST, None)
