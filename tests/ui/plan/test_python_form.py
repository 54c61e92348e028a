"""A function of one's own as model or data: chosen, typed, and with its options."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from edited_part import FOUR_CORES, Held, Reported, click, in_window, type_in
from plan_samples import a_plan
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu
from reaching import spoken

from gpu_studio.plan import Data, ModelSettings, load, loads, validate, with_absolute_files
from gpu_studio.plan.edits.sources import file_part, function_part, with_file_part
from gpu_studio.runs.sources import problems_of_files
from gpu_studio.ui.plan.data_tab import DataTab
from gpu_studio.ui.plan.model_tab import ModelTab
from gpu_studio.ui.plan.plan_view import PlanView

CODE = '''
def build_model(outputs, units=8, rate=0.1):
    """Three layers & a dropout."""

def small():
    """One layer."""
'''
PLAN = (
    '[model]\npython = "my nets/netze für Bilder.py:build_model"\noptions = { units = 4 '
    '}\n[data]\nname = "digits"\n'
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The plan's folder, with a file of functions in one below it."""
    (tmp_path / "my nets").mkdir()
    (tmp_path / "my nets" / "netze für Bilder.py").write_text(CODE)
    (tmp_path / "one.py").write_text("def only(): ...")
    return tmp_path


@pytest.fixture
def tab(qtbot, theme) -> ModelTab:
    return in_window(qtbot, ModelTab(theme))


@pytest.fixture
def held(tab, folder) -> Held:
    return Held(tab, loads(PLAN), folder)


def choosing(monkeypatch, path: Path | str) -> None:
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(path), ""))


def test_that_file_function_and_options_stand_in_rows_with_the_docstring_beside(tab, held) -> None:
    form = tab.form.python
    assert form.file.control.text() == "my nets/netze für Bilder.py"
    assert form.function.control.text() == "build_model"
    assert form.function.hint.text() == "Three layers & a dropout."
    assert tab.form.options.rows["units"].control.text() == "4"
    assert [each.name for each in form.functions] == ["build_model", "small"]


def test_that_a_file_with_one_function_is_chosen_with_it_and_called_relatively(
    tab, held, qtbot, folder, monkeypatch
) -> None:
    choosing(monkeypatch, folder / "one.py")
    click(qtbot, tab.form.python.choose)
    assert held.plan.model == ModelSettings(python="one.py:only", options={"units": 4})
    assert held.changes[-1].text == "choose one.py"
    choosing(monkeypatch, "")
    click(qtbot, tab.form.python.choose)
    assert len(held.changes) == 1


def test_that_a_file_with_several_leaves_the_choice_and_keeps_a_function_that_it_has(
    tab, held, qtbot, folder, monkeypatch
) -> None:
    choosing(monkeypatch, folder / "my nets" / "netze für Bilder.py")
    click(qtbot, tab.form.python.choose)
    assert held.plan.model.python == "my nets/netze für Bilder.py:build_model"
    held.show(loads('[model]\npython = "one.py:only"\n[data]\nname = "digits"\n'))
    click(qtbot, tab.form.python.choose)
    assert held.plan.model.python == "my nets/netze für Bilder.py:"
    assert tab.form.python.function.hint.text() == "the file has 2 functions"
    assert tab.form.python.function.control.hasFocus()
    assert "models.py:build_model" in tab.form.python.file.problem.text()


def test_that_a_function_is_chosen_from_the_list_by_keys_alone(tab, held, qtbot) -> None:
    pick = tab.form.python.pick
    pick.setFocus()
    qtbot.keyClick(pick, Qt.Key.Key_Space)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    assert [each.text() for each in menu.actions()] == [
        "build_model\tThree layers && a dropout.",
        "small\tOne layer.",
    ]
    qtbot.keyClick(menu, Qt.Key.Key_Down)
    qtbot.keyClick(menu, Qt.Key.Key_Return)
    assert held.plan.model.python == "my nets/netze für Bilder.py:small"
    assert held.changes[-1].text == "choose small"
    qtbot.waitUntil(lambda: tab.form.python.function.hint.text() == "One layer.")


SCRIPT = "model.fit(x, epochs=2)\nmodel.fit(x, epochs=3, callbacks=[stop])\n"


def test_that_another_call_of_fit_is_chosen_for_model_and_data_at_once(
    tab, held, qtbot, folder
) -> None:
    (folder / "train.py").write_text(SCRIPT)
    held.show(load(folder / "train.py"))
    assert tab.form.python.function.hint.text() == "what fit is given in line 1"
    pick = tab.form.python.pick
    pick.setFocus()
    qtbot.keyClick(pick, Qt.Key.Key_Space)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    qtbot.keyClick(menu, Qt.Key.Key_Down)
    qtbot.keyClick(menu, Qt.Key.Key_Return)
    assert held.plan == load(folder / "train.py", 2)
    assert held.changes[-1].text == "choose fit_2"
    type_in(qtbot, tab.form.python.function.control, "fit")
    assert held.plan == load(folder / "train.py")


def test_that_both_are_typed_by_hand_and_a_colon_leads_to_the_function(tab, held, qtbot) -> None:
    click(qtbot, tab.form.kinds.buttons["file"])
    click(qtbot, tab.form.kinds.buttons["python"])
    assert held.plan.model == ModelSettings(python="")
    form = tab.form.python
    type_in(qtbot, form.file.control, "later.py:")
    assert form.function.control.hasFocus()
    assert form.file.control.text() == "later.py"
    qtbot.keyClicks(form.function.control, "make")
    assert held.plan.model == ModelSettings(python="later.py:make")
    assert not form.pick.isEnabled()
    type_in(qtbot, form.file.control, "x.py")
    assert held.plan.model == ModelSettings(python="x.py:make")


def test_that_a_pasted_reference_changes_both(tab, held, qtbot) -> None:
    QApplication.clipboard().setText("one.py:only")
    line = tab.form.python.file.control
    line.setFocus()
    line.selectAll()
    qtbot.keyClick(line, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    assert held.plan.model.python == "one.py:only"
    assert line.text() == "one.py"


@pytest.mark.parametrize("text", ["", "a.py", "a.py:", ":f", "a:b.py:f", "a.py:f"])
def test_that_what_a_plan_says_is_kept_by_its_two_parts(text: str) -> None:
    plan = replace(a_plan(), model=ModelSettings(python=text))
    path = "model.python"
    again = with_file_part(plan, path, file_part(plan, path))
    assert (file_part(again, path), function_part(again, path)) == (
        file_part(plan, path),
        function_part(plan, path),
    )


def test_that_what_the_function_takes_stands_there_by_name_with_its_default(
    tab, held, qtbot
) -> None:
    rows = tab.form.options.rows
    assert list(rows) == ["units", "rate"]
    assert (rows["rate"].control.text(), rows["rate"].hint.text()) == ("0.1", "default 0.1")
    assert rows["rate"].back.isHidden()
    assert tab.form.new.isHidden()
    type_in(qtbot, rows["rate"].control, "0.5")
    assert held.plan.model.options == {"units": 4, "rate": 0.5}
    click(qtbot, rows["units"].back)
    assert held.plan.model.options == {"rate": 0.5}
    assert rows["units"].control.text() == "8"


def test_that_an_option_of_any_name_is_added_where_the_function_takes_it(
    tab, held, qtbot, folder
) -> None:
    (folder / "any.py").write_text("def build(**options): ...")
    held.show(loads('[model]\npython = "any.py:build"\n[data]\nname = "digits"\n'))
    new = tab.form.new
    assert new.isVisible()
    type_in(qtbot, new.key, "rate")
    type_in(qtbot, new.value, "0.5")
    qtbot.keyClick(new.value, Qt.Key.Key_Return)
    assert held.plan.model.options == {"rate": 0.5}


def test_that_the_only_function_of_a_file_that_is_typed_is_chosen_by_itself(
    tab, held, qtbot
) -> None:
    click(qtbot, tab.form.kinds.buttons["file"])
    click(qtbot, tab.form.kinds.buttons["python"])
    type_in(qtbot, tab.form.python.file.control, "one.py")
    assert held.plan.model == ModelSettings(python="one.py:only")
    assert tab.form.python.function.control.text() == "only"
    assert tab.form.python.file.control.hasFocus()


def test_that_options_can_be_added_to_a_function_only(tab, held, qtbot) -> None:
    held.show(loads('[model]\nname = "mlp"\n[data]\nname = "digits"\n'))
    assert tab.form.new.isHidden()
    assert tab.form.python.isHidden()


def test_that_the_data_tab_has_the_same_for_a_function_of_arrays(
    qtbot, theme, folder, monkeypatch
) -> None:
    tab = in_window(qtbot, DataTab(theme))
    held = Held(tab, loads('[model]\nname = "mlp"\n[data]\nname = "digits"\n'), folder)
    click(qtbot, tab.form.kinds.buttons["python"])
    choosing(monkeypatch, folder / "one.py")
    click(qtbot, tab.form.python.choose)
    assert held.plan.data == Data(python="one.py:only")


def test_that_allow_stands_beside_a_file_that_is_not_allowed_and_asks_for_it(
    tab, held, qtbot, folder
) -> None:
    assert tab.form.python.allow.isHidden()
    reader = Reported()
    tab.set_facts(reader)
    found = problems_of_files(held.plan, with_absolute_files(held.plan, folder))
    problems = (*validate(held.plan, FOUR_CORES), *found)
    tab.show_view(PlanView(held.plan, FOUR_CORES, problems, folder, folder / "a.plan.toml"))
    assert "read it, then allow it" in tab.form.python.file.problem.text()
    with qtbot.waitSignal(reader.consent_wanted) as wanted:
        qtbot.keyClick(tab.form.python.allow, Qt.Key.Key_Space)
    assert wanted.args == [folder / "my nets" / "netze für Bilder.py"]


def test_that_tab_goes_through_all_of_it_as_it_is_read_and_each_has_a_name_of_its_own(
    tab, held, qtbot
) -> None:
    form = tab.form
    order = [
        form.python.file.control,
        form.python.choose,
        form.python.function.control,
        form.python.pick,
    ]
    order += [
        form.options.rows["units"].control,
        form.options.rows["units"].back,
        form.options.rows["rate"].control,
    ]
    names = [spoken(each) for each in order]
    assert len(set(names)) == len(names)
    order[0].setFocus()
    seen = [order[0]]
    while len(seen) < len(order):
        qtbot.keyClick(tab.focusWidget(), Qt.Key.Key_Tab)
        seen.append(tab.focusWidget())
    assert seen == order
