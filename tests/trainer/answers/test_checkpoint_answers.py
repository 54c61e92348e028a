"""A real checkpoint, evaluated and saved as a `.keras` file.

The run's own figures, and its own outputs.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import pytest
from keras_prediction import predicted
from training_runs import Finished, small_plan, trained

from gpu_studio.cli import main
from gpu_studio.contract import events
from gpu_studio.runs.results.evaluations import evaluations
from gpu_studio.trainer.data import load_data

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_asker")]

SPLIT = (
    '{ micro_batches = 2, layers = { dense = ["CPU:0", "CPU:1"], dense_1 '
    '= "CPU:1", outputs = "CPU:0" } }'
)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Finished:
    """A model with a layer split over two devices, trained for two epochs."""
    plan = small_plan(
        "model.options={ hidden = [32, 16] }",
        "data.validation_fraction=0.1",
        "distribution.strategy=placed",
        f"distribution.placed={SPLIT}",
        "training.mixed_precision=false",
    )
    return trained(plan, tmp_path_factory.mktemp("runs"))


def command(run: Finished, *words: str | Path) -> int:
    return main(["--runs-dir", str(run.directory.path.parent), "runs", *map(str, words)])


def outputs_of(weights: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    """The dense layers by hand, shape (samples, classes)."""
    kernels, biases = (
        [value for name, value in weights.items() if name.endswith(kind)]
        for kind in ("kernel", "bias")
    )
    x = x.reshape(len(x), -1)
    for kernel, bias in zip(kernels[:-1], biases[:-1], strict=True):
        x = np.maximum(x @ kernel + bias, 0)
    return x @ kernels[-1] + biases[-1]


def test_that_an_evaluation_gives_what_the_run_found_at_its_end(run, capsys) -> None:
    assert command(run, "evaluate", run.directory.id, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    own = run.one(events.Finished).metrics
    assert {f"test_{name}": value for name, value in told["metrics"].items()} == pytest.approx(
        own, rel=1e-5
    )
    assert (told["split"], told["samples"]) == ("test", run.one(events.Model).test_samples)
    assert evaluations(run.directory)[told["checkpoint"]].metrics == told["metrics"]


def test_that_some_held_out_samples_are_predicted_as_the_weights_do(run, capsys) -> None:
    assert command(run, "predict", run.directory.id, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    plan = small_plan()
    test = load_data(plan.data, plan.training.seed, Path()).test
    places = [sample["place"] for sample in told["samples"]]
    assert (told["split"], told["of"], len(places)) == ("test", len(test), 12)
    assert (places[0], places[-1]) == (0, len(test) - 1)
    classes = outputs_of(run.weights(), test.seen(places)).argmax(-1)
    for sample, guessed, wanted in zip(told["samples"], classes, test.wanted(places), strict=True):
        [output], [image] = sample["outputs"], sample["inputs"]
        assert output["predicted"]["text"].partition(" ")[0] == str(guessed)
        assert output["target"]["text"] == str(wanted)
        assert output["right"] == (guessed == wanted)
        pixels = base64.b64decode(image["pixels"])
        assert len(pixels) == image["height"] * image["width"] * image["channels"] > 1
        assert max(pixels) > 200


def test_that_the_saved_model_is_a_plain_one_that_predicts_what_the_weights_do(
    run, tmp_path, capsys
) -> None:
    file = tmp_path / "digits.keras"
    assert command(run, "save-model", run.directory.id, file) == 0
    assert file.stat().st_mode & 0o777 == 0o600
    plan = small_plan()
    test = load_data(plan.data, plan.training.seed, tmp_path).test
    found, layers = predicted(file, test.x, tmp_path)
    np.testing.assert_allclose(found, outputs_of(run.weights(), test.x), rtol=1e-4, atol=1e-5)
    assert layers == ["InputLayer", "Flatten", "Dense", "Dense", "Dense"]
    assert command(run, "save-model", run.directory.id, file) == 2
    assert "there already" in capsys.readouterr().err


def test_that_data_or_test_samples_other_than_those_of_the_training_are_warned_of(
    tmp_path, capsys
) -> None:
    file, numbers = tmp_path / "mine.npz", np.random.default_rng(1)
    arrays = {"x": numbers.normal(size=(64, 4)).astype(np.float32), "y": np.arange(64) % 3}
    held = {"x_test": arrays["x"][:12] + 1, "y_test": np.arange(12) % 3}
    np.savez(file, **arrays, **held)
    settings = (f'data={{ file = "{file}" }}', "training.epochs=1", "training.batch_size=16")
    run = trained(small_plan(*settings), tmp_path / "runs")
    assert command(run, "evaluate", run.directory.id, "--json") == 0
    same = capsys.readouterr()
    assert (json.loads(same.out)["warning"], "warning" in same.err) == ("", False)
    np.savez(file, **arrays | {"x": arrays["x"] + 1}, **held)
    assert command(run, "evaluate", run.directory.id, "--json") == 0
    other = capsys.readouterr()
    [checkpoint] = evaluations(run.directory)
    warning = json.loads(other.out)["warning"]
    assert warning.startswith(f"The data are not those that {checkpoint} was trained with")
    assert f"warning: {warning}" in other.err
    # Other test samples beside the same training samples.
    np.savez(file, **arrays, **held | {"y_test": held["y_test"][::-1]})
    assert command(run, "evaluate", run.directory.id, "--json") == 0
    other = capsys.readouterr()
    warning = json.loads(other.out)["warning"]
    assert warning.startswith(f"The test samples are not those of the run that wrote {checkpoint}")
    assert f"warning: {warning}" in other.err
    state = run.directory.path / "checkpoints" / checkpoint / "state.json"
    older = json.loads(state.read_text())
    del older["test_samples"]  # as a run of before wrote it
    state.write_text(json.dumps(older))
    np.savez(file, **arrays, **held | {"x_test": held["x_test"] + 1})
    assert command(run, "evaluate", run.directory.id, "--json") == 0
    assert json.loads(capsys.readouterr().out)["warning"] == ""
