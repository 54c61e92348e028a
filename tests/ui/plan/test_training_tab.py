from __future__ import annotations

from dataclasses import replace

import pytest
from edited_part import DIGITS, FOUR_CORES, GRAPH, KNOWN, Held, Reported, click, in_window, type_in
from plan_samples import a_plan
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication

from gpu_studio.placement.plan_facts import ArrayFacts, Learnt, ModelFacts, PlanFacts
from gpu_studio.plan import (
    Carve,
    CheckpointSettings,
    DeviceSettings,
    Distribution,
    EarlyStopping,
    Named,
    Training,
    dumps,
    loads,
)
from gpu_studio.plan.references import with_absolute_files
from gpu_studio.plan.values import Callback, OutputTraining
from gpu_studio.runs.sources import problems_of_files
from gpu_studio.ui.kit.basic_widgets import Scrolled
from gpu_studio.ui.plan.plan_view import PlanView
from gpu_studio.ui.plan.training_tab import TrainingTab


@pytest.fixture
def tab(qtbot, theme) -> TrainingTab:
    tab: TrainingTab = in_window(qtbot, TrainingTab(theme))
    return tab


@pytest.fixture
def held(tab: TrainingTab) -> Held:
    return Held(tab, a_plan())


def down(qtbot, widget) -> None:
    widget.setFocus()
    qtbot.keyClick(widget, Qt.Key.Key_Down)


@pytest.mark.parametrize(
    ("form", "path", "text", "wanted"),
    [
        ("run", "training.epochs", "40", Training(epochs=40)),
        ("run", "training.batch_size", "64", Training(batch_size=64)),
        ("run", "training.seed", str(2**32 - 1), Training(seed=2**32 - 1)),
        ("run", "training.steps_per_call", "8", Training(steps_per_call=8)),
        ("optimizer", "training.learning_rate", "3e-4", Training(learning_rate=0.0003)),
        (
            "checkpoint",
            "training.checkpoint.every_epochs",
            "2",
            Training(checkpoint=CheckpointSettings(every_epochs=2)),
        ),
        (
            "checkpoint",
            "training.checkpoint.every_steps",
            "100",
            Training(checkpoint=CheckpointSettings(every_steps=100)),
        ),
        (
            "checkpoint",
            "training.checkpoint.keep",
            "5",
            Training(checkpoint=CheckpointSettings(keep=5)),
        ),
    ],
)
def test_that_a_typed_number_reaches_the_plan_as_one_step(
    tab, held, qtbot, form, path, text, wanted
) -> None:
    type_in(qtbot, getattr(tab, form).rows[path].control, text)
    assert held.plan.training == wanted
    assert {change.field for change in held.changes} == {path}
    assert getattr(tab, form).rows[path].control.hasFocus()


def test_that_what_each_replica_gets_is_told_and_the_batch_can_be_meant_for_each(
    tab, held, qtbot
) -> None:
    four = DeviceSettings(carve=(Carve("CPU:0", (0, 0, 0, 0)),))
    held.show(
        replace(
            a_plan(),
            devices=four,
            distribution=Distribution("mirrored"),
            training=Training(batch_size=10),
        )
    )
    assert tab.run.shares.text == "each replica 3 samples on 2 of them, 2 samples on 2 of them"
    down(qtbot, tab.run.rows["training.batch_scope"].control)
    assert held.plan.training.batch_scope == "replica"
    assert tab.run.shares.text == "each replica 10 samples on each of CPU:0, CPU:1, CPU:2, CPU:3"
    assert held.changes[-1].field == ""


@pytest.mark.parametrize(
    ("name", "switched"),
    [("mixed_precision", True), ("tf32", False), ("shuffle", False)],
)
def test_that_precision_and_order_are_switched_by_keyboard(
    tab, held, qtbot, name, switched
) -> None:
    row = tab.run.rows[f"training.{name}"]
    row.control.setFocus()
    assert row.back.isHidden()
    qtbot.keyClick(row.control, Qt.Key.Key_Space)
    assert getattr(held.plan.training, name) is switched
    assert not row.back.isHidden()


def test_that_xla_is_left_to_the_device_or_chosen_by_keyboard(tab, held, qtbot) -> None:
    row = tab.run.rows["training.jit_compile"]
    assert (row.control.currentText(), row.back.isHidden()) == ("auto", True)
    for chosen, words in ((True, "on"), (False, "off")):
        down(qtbot, row.control)
        assert held.plan.training.jit_compile is chosen
        assert (row.control.currentText(), row.back.isHidden()) == (words, False)
    click(qtbot, row.back)
    assert held.plan.training.jit_compile == "auto"


def test_that_an_option_of_the_optimizer_is_added_changed_and_removed(tab, held, qtbot) -> None:
    new = tab.optimizer.options.new
    type_in(qtbot, new.key, "beta_1")
    type_in(qtbot, new.value, "0.8")
    qtbot.keyClick(new.value, Qt.Key.Key_Return)
    assert held.plan.training.options == {"beta_1": 0.8}
    assert (new.key.text(), new.value.text(), new.key.hasFocus()) == ("", "", True)
    row = tab.optimizer.options.rows.rows["beta_1"]
    type_in(qtbot, row.control, "0.85")
    assert held.plan.training.options == {"beta_1": 0.85}
    click(qtbot, row.back)
    assert held.plan.training.options == {}


def test_that_only_names_with_a_value_are_added_and_none_twice(tab, held, qtbot) -> None:
    held.show(replace(a_plan(), training=Training(options={"clipnorm": 1.0})))
    new = tab.optimizer.options.new
    assert not new.add.isEnabled()
    for key, value, ready in (
        ("rho", "", False),
        ("rho", "[1", False),
        ("clipnorm", "2", False),
        ("rho", "2", True),
    ):
        type_in(qtbot, new.key, key)
        type_in(qtbot, new.value, value)
        assert new.add.isEnabled() is ready, (key, value)
    type_in(qtbot, new.key, "learning_rate")
    assert not new.add.isEnabled()
    assert "cannot be called learning_rate" in new.key.toolTip()
    assert held.changes == []


def test_that_keras_own_names_are_suggested_for_the_optimizer_that_is_chosen(
    tab, held, qtbot
) -> None:
    def suggested() -> set[str]:
        model = tab.optimizer.options.new.key.completer().model()
        return {model.index(row, 0).data() for row in range(model.rowCount())}

    assert {"beta_1", "clipnorm"} <= suggested()
    choice = tab.optimizer.rows["training.optimizer"].control
    choice.setFocus()
    qtbot.keyClicks(choice, "sgd")
    assert held.plan.training.optimizer == "sgd"
    assert {"momentum", "clipnorm"} <= suggested()
    assert "beta_1" not in suggested()


def test_that_a_schedule_is_chosen_with_its_options_and_drawn_over_the_steps_of_the_run(
    tab, held, qtbot
) -> None:
    reader = Reported()
    tab.set_facts(reader)
    control = tab.optimizer.rows["training.schedule"].control
    assert control.currentText().startswith("none")
    control.setFocus()
    qtbot.keyClicks(control, "cosine")
    assert held.plan.training.schedule == Named("cosine")
    assert tab.optimizer.curve.isHidden()
    assert "once the number of training samples is known" in tab.optimizer.no_curve.text()
    reader.tell(KNOWN)
    assert tab.optimizer.curve.isVisible()
    assert tab.optimizer.curve.words == "0.001 to 2.41e-06 over 32 steps"
    type_in(qtbot, tab.optimizer.schedule.rows["minimum"].control, "0.5")
    assert held.plan.training.schedule == Named("cosine", {"minimum": 0.5})
    assert tab.optimizer.curve.words == "0.001 to 0.000501 over 32 steps"


def test_that_a_schedule_that_does_not_fit_the_run_says_why_there_is_no_curve(tab, held) -> None:
    reader = Reported()
    tab.set_facts(reader)
    reader.tell(PlanFacts(DIGITS))
    held.show(replace(a_plan(), training=Training(schedule=Named("cosine", {"warmup_epochs": 9}))))
    assert tab.optimizer.curve.isHidden()
    assert "takes 288 steps, and the whole run has 32" in tab.optimizer.no_curve.text()
    held.show(replace(a_plan(), training=Training(schedule=Named("cosin", {"a": 1}))))
    assert "did you mean cosine?" in tab.optimizer.schedule_row.problem.text()
    assert tab.optimizer.schedule.rows["a"].control.text() == "1"


def test_that_what_keras_refuses_is_told(tab, held) -> None:
    reader = Reported()
    tab.set_facts(reader)
    reader.tell(
        PlanFacts(
            DIGITS,
            ModelFacts(training_error="rho is not an option of adam", advice=("Leave it out",)),
        )
    )
    assert tab.refusal.text == "Keras refuses ✘ Rho is not an option of adam. Leave it out."
    reader.tell(KNOWN)
    assert tab.refusal.isHidden()


def test_that_the_curve_tells_the_rate_at_the_crosshair_by_mouse_and_keys(tab, held, qtbot) -> None:
    reader = Reported()
    tab.set_facts(reader)
    reader.tell(KNOWN)
    held.show(
        replace(a_plan(), training=Training(epochs=3, schedule=Named("step", {"every_epochs": 1})))
    )
    curve = tab.optimizer.curve
    curve.setFocus()
    for key in (Qt.Key.Key_Home, Qt.Key.Key_Right):
        qtbot.keyClick(curve, key)
    assert curve.words == "step 1, epoch 1: 0.001"
    qtbot.keyClick(curve, Qt.Key.Key_Right, Qt.KeyboardModifier.ControlModifier)
    assert curve.words == "step 33, epoch 2: 0.0005"
    qtbot.keyClick(curve, Qt.Key.Key_End)
    assert curve.accessibleName() == curve.words == "step 95, epoch 3: 0.00025"
    assert not curve.grab().toImage().isNull()
    (scrolled,) = tab.findChildren(Scrolled)
    QApplication.sendPostedEvents()  # the forms' places are settled
    scrolled.ensureWidgetVisible(curve)
    middle = curve.height() // 2
    qtbot.mouseMove(curve, QPoint(2, middle))
    qtbot.mouseMove(curve, QPoint(curve.width() // 2, middle))
    assert curve.words.startswith("step 4")


def test_that_the_loss_and_its_options_are_chosen(tab, held, qtbot) -> None:
    control = tab.loss.rows["training.loss.name"].control
    assert tab.loss.options.isHidden()
    control.setFocus()
    qtbot.keyClicks(control, "categorical_c")
    assert held.plan.training.loss == Named("categorical_crossentropy")
    type_in(qtbot, tab.loss.options.new.key, "label_smoothing")
    type_in(qtbot, tab.loss.options.new.value, "0.1")
    click(qtbot, tab.loss.options.new.add)
    assert held.plan.training.loss == Named("categorical_crossentropy", {"label_smoothing": 0.1})


def test_that_it_is_told_of_which_class_a_metric_of_two_is(tab, held) -> None:
    held.show(
        replace(
            a_plan(),
            training=Training(metrics=(Named("recall"), Named("f1_score"), Named("accuracy"))),
        )
    )
    hints = [each.row.hint.text() for each in tab.loss.metrics.metrics]
    assert hints == [
        "class 1 of two classes; all together where there are more; class_id picks one",
        "the mean over all classes",
        "",
    ]


def test_that_metrics_are_added_chosen_given_options_and_removed(tab, held, qtbot) -> None:
    metrics = tab.loss.metrics
    click(qtbot, metrics.add_button)
    assert [each.name for each in held.plan.training.metrics] == [
        "auto",
        "sparse_categorical_accuracy",
    ]
    control = metrics.metrics[1].row.control
    control.setFocus()
    qtbot.keyClicks(control, "top_k")
    assert held.plan.training.metrics[1] == Named("top_k_categorical_accuracy")
    type_in(qtbot, metrics.metrics[1].options.new.key, "k")
    type_in(qtbot, metrics.metrics[1].options.new.value, "3")
    click(qtbot, metrics.metrics[1].options.new.add)
    assert held.plan.training.metrics[1] == Named("top_k_categorical_accuracy", {"k": 3})
    [remove] = [
        each
        for each in metrics.metrics[0].findChildren(type(metrics.add_button))
        if each.text() == "Remove"
    ]
    click(qtbot, remove)
    assert held.plan.training.metrics == (Named("top_k_categorical_accuracy", {"k": 3}),)
    assert len(metrics.metrics) == 1


def test_that_a_metric_named_twice_is_told_at_its_row(tab, held) -> None:
    held.show(
        replace(a_plan(), training=Training(metrics=(Named("auc"), Named("auc"), Named("f2"))))
    )
    said = [form.row.problem.text() for form in tab.loss.metrics.metrics]
    assert said[0] == ""
    assert "a second time" in said[1]
    assert '"f2"' in said[2]


def test_that_early_stopping_is_switched_on_with_its_fields(tab, held, qtbot) -> None:
    switch, details = tab.stopping.rows["training.early_stopping.on"].control, tab.stopping.details
    assert details.isHidden()
    click(qtbot, switch)
    assert held.plan.training.early_stopping == EarlyStopping()
    type_in(qtbot, details.rows["training.early_stopping.patience"].control, "7")
    type_in(qtbot, details.rows["training.early_stopping.min_delta"].control, "0.01")
    down(qtbot, details.rows["training.early_stopping.monitor"].control)
    click(qtbot, details.rows["training.early_stopping.restore_best"].control)
    assert held.plan.training.early_stopping == EarlyStopping(
        "val_accuracy", 7, 0.01, restore_best=False
    )
    click(qtbot, switch)
    assert held.plan.training.early_stopping is None


def test_that_the_best_checkpoint_is_told_by_what_is_measured(tab, held, qtbot) -> None:
    control = tab.checkpoint.rows["training.checkpoint.monitor"].control
    assert [control.itemText(row) for row in range(control.count())] == [
        "val_loss",
        "val_accuracy",
        "loss",
        "accuracy",
    ]
    down(qtbot, control)
    assert held.plan.training.checkpoint.monitor == "val_accuracy"


def test_that_a_field_goes_back_to_its_default(tab, held, qtbot) -> None:
    held.show(replace(a_plan(), training=Training(epochs=9)))
    row = tab.run.rows["training.epochs"]
    assert row.back.toolTip() == "Back to the default 1"
    click(qtbot, row.back)
    assert held.plan.training == Training()
    assert row.back.isHidden()
    assert row.control.hasFocus()


def names(held: Held) -> list[str]:
    return [each.name for each in held.plan.training.callbacks]


def test_that_callbacks_are_added_named_given_options_moved_and_removed(tab, held, qtbot) -> None:
    callbacks = tab.callbacks
    assert not callbacks.none.isHidden()
    click(qtbot, callbacks.add_button)
    click(qtbot, callbacks.add_button)
    assert names(held) == ["reduce_lr_on_plateau", "learning_rate_scheduler"]
    first, second = callbacks.callbacks
    type_in(qtbot, first.options.rows["factor"].control, "0.5")
    assert held.plan.training.callbacks[0] == Callback("reduce_lr_on_plateau", {"factor": 0.5})
    assert "give one: schedule" in second.row.problem.text()
    type_in(qtbot, second.row.control, "csv_logger")
    assert names(held)[1] == "csv_logger"
    assert second.row.problem.isHidden()
    assert list(second.options.rows) == ["separator"]
    assert (first.up.isEnabled(), second.down.isEnabled()) == (False, False)
    click(qtbot, second.up)
    assert held.plan.training.callbacks == (
        Callback("csv_logger"),
        Callback("reduce_lr_on_plateau", {"factor": 0.5}),
    )
    assert first.down.hasFocus()
    click(qtbot, first.remove)
    assert names(held) == ["reduce_lr_on_plateau"]
    assert len(callbacks.callbacks) == 1
    assert [change.text for change in held.changes][-2:] == [
        "move callback 2",
        "remove callback 1",
    ]


def test_that_a_file_with_one_s_own_callbacks_is_chosen_and_asks_to_be_allowed(
    tab, held, qtbot, tmp_path, monkeypatch
) -> None:
    path = tmp_path / "callbacks.py"
    path.write_text(
        "class Probe(Callback):\n"
        '    """Looks at each step."""\n'
        "    def __init__(self, every=3, folder=None): ...\n"
    )
    monkeypatch.setattr(tab.callbacks, "_ask", lambda *_: str(path))
    click(qtbot, tab.callbacks.own_button)
    assert names(held) == [f"{path}:Probe"]
    [form] = tab.callbacks.callbacks
    assert form.row.hint.text() == "Looks at each step."
    assert list(form.options.rows) == ["every"]
    wanted: list[object] = []
    tab.callbacks.allow_wanted.connect(wanted.append)
    problems = tuple(problems_of_files(held.plan, with_absolute_files(held.plan, tmp_path)))
    tab.show_view(PlanView(held.plan, FOUR_CORES, problems, tmp_path, None))
    assert "nothing of callbacks.py has been run yet" in form.row.problem.text()
    click(qtbot, form.allow)
    assert wanted == [path]


TWO_ENDS = PlanFacts(
    DIGITS,
    ModelFacts(
        GRAPH,
        learners={"digit": Learnt("classes", False, "sparse_categorical_crossentropy", ("acc",))},
        outputs=(
            ArrayFacts(("digit",), (10,), name="digit"),
            ArrayFacts(("parity.x",), (1,), name="parity.x"),
        ),
    ),
)


def test_that_each_of_several_outputs_has_its_loss_its_weight_and_its_metrics(
    tab, held, qtbot
) -> None:
    reader = Reported()
    tab.set_facts(reader)
    reader.tell(KNOWN)
    assert tab.loss.outputs == {}
    reader.tell(TWO_ENDS)
    digit, parity = tab.loss.outputs.values()
    assert digit.facts.text() == (
        "10, float32 · learnt by sparse categorical crossentropy, measured by acc"
    )
    qtbot.keyClicks(parity.loss.control, "huber")
    assert held.plan.training.outputs == {"parity.x": OutputTraining(Named("huber"))}
    type_in(qtbot, parity.options.new.key, "delta")
    type_in(qtbot, parity.options.new.value, "0.5")
    click(qtbot, parity.options.new.add)
    type_in(qtbot, parity.weight.control, "0.25")
    click(qtbot, parity.apart.control)
    qtbot.keyClicks(parity.metrics.metrics[0].row.control, "mean_absolute_e")
    click(qtbot, parity.metrics.add_button)
    own = OutputTraining(
        Named("huber", {"delta": 0.5}),
        0.25,
        (Named("mean_absolute_error"), Named("accuracy")),
    )
    assert held.plan.training.outputs == {"parity.x": own}
    assert loads(dumps(held.plan)) == held.plan
    qtbot.keyClicks(digit.loss.control, "none")
    assert digit.weight.isHidden()
    assert digit.apart.isHidden()
    click(qtbot, parity.apart.control)
    type_in(qtbot, parity.weight.control, "1")
    qtbot.keyClick(parity.loss.control, Qt.Key.Key_Home)
    assert held.plan.training.outputs == {"digit": OutputTraining(Named("none"))}


def test_that_an_output_that_the_model_does_not_have_is_told_and_can_be_removed(
    tab, held, qtbot
) -> None:
    held.show(replace(a_plan(), training=Training(outputs={"old": OutputTraining(loss_weight=2)})))
    [old] = tab.loss.outputs.values()
    assert old.remove.isHidden()
    reader = Reported()
    tab.set_facts(reader)
    reader.tell(TWO_ENDS)
    assert list(tab.loss.outputs) == ["digit", "parity.x", "old"]
    assert old.facts.text() == "✘ the model has no output of this name"
    click(qtbot, old.remove)
    assert held.plan.training.outputs == {}
    assert list(tab.loss.outputs) == ["digit", "parity.x"]


OWN = '''
def focal(y_true, y_pred, gamma=2.0):
    """Weighs easy samples less."""

def make(learning_rate, steps_per_epoch, warm=3):
    """Begins slowly."""

class Iou:
    def __init__(self, classes): ...
'''


def test_that_what_one_s_own_file_defines_is_chosen_unread_by_python_and_asks_to_be_allowed(
    tab, held, qtbot, tmp_path
) -> None:
    path = tmp_path / "own.py"
    path.write_text(f"raise SystemExit\n{OWN}")
    reader = Reported()
    tab.set_facts(reader)
    reader.tell(TWO_ENDS)
    wanted: list[object] = []
    reader.consent_wanted.connect(wanted.append)
    output = tab.loss.outputs["parity.x"]
    places = {
        "focal": (tab.loss.row, tab.loss.options, ["gamma"]),
        "make": (tab.optimizer.optimizer, tab.optimizer.options, ["warm"]),
        "Iou": (tab.loss.metrics.metrics[0].row, tab.loss.metrics.metrics[0].options, ["classes"]),
    }
    for name, (row, options, taken) in (
        *places.items(),
        ("focal", (output.loss, output.options, ["gamma"])),
    ):
        menu = row.menu_of(path)
        assert [each.text().split("\t")[0] for each in menu.actions()] == ["focal", "make", "Iou"]
        [chosen] = [each for each in menu.actions() if each.text().startswith(name)]
        chosen.trigger()
        assert row.control.currentText() == f"{path}:{name}"
        assert list(options.rows.rows) == taken
    training = held.plan.training
    assert training.optimizer == f"{path}:make"
    assert training.metrics == (Named(f"{path}:Iou"),)
    assert training.loss == training.outputs["parity.x"].loss == Named(f"{path}:focal")
    assert output.loss.hint.text() == "Weighs easy samples less."
    problems = tuple(problems_of_files(held.plan, with_absolute_files(held.plan, tmp_path)))
    tab.show_view(PlanView(held.plan, FOUR_CORES, problems, tmp_path, None))
    for row, _, _ in (*places.values(), (output.loss, None, None)):
        assert "nothing of own.py has been run yet" in row.problem.text()
        click(qtbot, row.allow)
    assert wanted == [path] * 4


def test_that_a_schedule_of_one_s_own_is_chosen_and_says_why_it_has_no_curve(
    tab, held, qtbot, tmp_path, monkeypatch
) -> None:
    path = tmp_path / "schedules.py"
    path.write_text("def warm(step, over=10):\n    return 0.1\n")
    row = tab.optimizer.schedule_row
    monkeypatch.setattr(row, "_ask", lambda *_: str(path))
    click(qtbot, row.own)
    assert held.plan.training.schedule == Named(f"{path}:warm")
    assert list(tab.optimizer.schedule.rows) == ["over"]
    assert "only the run computes it" in tab.optimizer.no_curve.text()
    path.write_text("no Python")
    said = row.menu_of(path).actions()
    assert [each.text() for each in said] == ["No function or class can be read in schedules.py"]
