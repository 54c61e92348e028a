"""Scripts for targets of any shape train what Keras' `fit` trains, to 1e-5.

What was proven is not trained again (`proven.py`).
"""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import parity_jobs
import parity_targets
import pytest
from exported_scripts import epochs_in
from proven import Proof
from script_jobs import printed_by

from gpu_studio.export import UnseenError, python_script
from gpu_studio.placement.plan_facts import DataFacts, Learnt, ModelFacts, ModelGraph
from gpu_studio.plan import loads, with_settings
from gpu_studio.trainer.data.values import Split, target_of

pytestmark = pytest.mark.slow


def keras_loss(name: str, **config: Any) -> dict[str, Any]:
    return {"class_name": name, "config": config}


BINARY = ("binary", keras_loss("BinaryCrossentropy"))
# The model of parity_models, its outputs and whether they are logits, the kind and Keras' loss.
CASES: dict[str, tuple[str, tuple[int, ...], bool, str, dict[str, Any]]] = {
    "floats": ("yes", (1,), False, *BINARY),
    "bytes": (
        "logit",
        (1,),
        True,
        "binary",
        keras_loss("BinaryCrossentropy", from_logits=True),
    ),
    "one_hot": ("shares", (4,), False, "one_hot", keras_loss("CategoricalCrossentropy")),
    "labels": ("labels", (5,), False, *BINARY),
    "places_apart": (
        "places",
        (2, 3, 4),
        False,
        "classes",
        keras_loss("SparseCategoricalCrossentropy"),
    ),
    "spots": ("spots", (2, 3, 1), False, *BINARY),
    "picture": ("picture", (2, 3, 2), True, "values", keras_loss("MeanSquaredError")),
}
UNDER = {
    "none": ("floats", "one_hot", "labels", "spots", "picture"),
    "mirrored": ("bytes", "places_apart", "spots"),
}
"""Over replicas a script does all that it does without a strategy, and counts their parts.

But without one its metrics are given no weights, which those of several numbers a sample spread."""
MADE_BY = ("parity_models", "parity_targets", "parity_jobs")
METRICS = {"binary": '["auto", "auc", "f1_score"]', "classes": '["auto", "f1_score"]'}
OWN = """
import parity_models

def build(name, seed):
    return parity_models.made(name, seed)
"""


def script(way: str, name: str, folder: Path) -> Path:
    """The script of a case, as the Plan page that has looked at data and model exports it."""
    model, shape, logits, kind, _ = CASES[name]
    settings = [
        *parity_jobs.WAYS[way],
        *parity_jobs.VALIDATED,
        "data.name=",
        "data.options=",
        f"data.file={folder / name}.npz",
        "model.python=own.py:build",
        f"model.options={{ name = '{model}' }}",
        "training.metrics=" + METRICS.get(kind, '["auto"]'),
    ]
    built = ModelFacts(
        ModelGraph(model, (), (12,), shape),
        learnt=Learnt(kind, logits, "", ()),  # type: ignore[arg-type]
    )
    plan = with_settings(loads(parity_jobs.PLAN), settings)
    path = folder / f"{way}_{name}.py"
    path.write_text(python_script(plan, None, folder, seen(name, folder), built), encoding="utf-8")
    return path


def seen(name: str, folder: Path) -> DataFacts:
    """What is known of the data once they have been read."""
    parity_targets.save(name, folder / f"{name}.npz")
    with np.load(folder / f"{name}.npz") as file:
        x, y = file["x"], file["y"]
    y = y.reshape(-1) if y.size == len(y) and y.dtype.kind != "f" else y
    split = Split(x, y)
    target = target_of([split])
    return DataFacts(
        name,
        target.task,
        target.classes,
        len(x),
        x_shape=x.shape[1:],
        y_shape=target.shape,
        y_dtype=split.wanted_type.name,
        arrays=("x", "y"),
        ids=target.ids,
        one_hot=target.one_hot,
    )


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What `fit` had for each epoch, and what the scripts printed: two processes at a time."""
    folder = tmp_path_factory.mktemp("scripts")
    (folder / "own.py").write_text(OWN)
    shutil.copy(Path(parity_jobs.__file__).with_name("parity_models.py"), folder)

    def scripts(way: str) -> dict[str, str]:
        saved = folder / way
        saved.mkdir()
        printed = printed_by([script(way, name, folder) for name in UNDER[way]], saved)
        return dict(zip(UNDER[way], printed, strict=True))

    def fit() -> dict[str, Any]:
        own = tmp_path_factory.mktemp("fit")
        cases = {
            name: {
                "model": model,
                "targets": name,
                "loss": loss,
                "settings": parity_jobs.VALIDATED,
            }
            for name, (model, _, _, _, loss) in CASES.items()
        }
        return parity_jobs.results("fit", cases, own)

    with ThreadPoolExecutor(2) as pool:
        fitted, *rest = pool.submit(fit), *(pool.submit(scripts, way) for way in UNDER)
        pairs = zip(UNDER, rest, strict=True)
        return {"fit": fitted.result(), **{way: each.result() for way, each in pairs}}


@pytest.mark.parametrize(
    ("way", "name"), [(way, name) for way, names in UNDER.items() for name in names]
)
def test_that_a_script_trains_any_targets_as_fit_does(
    request: pytest.FixtureRequest, way: str, name: str, tmp_path: Path, proof: Proof
) -> None:
    if proof.holds([script(way, name, tmp_path).read_text()], tmp_path, *MADE_BY):
        return
    told = request.getfixturevalue("told")
    printed, fitted = told[way][name], told["fit"][name]
    assert "error" not in fitted, fitted["error"]
    epochs = epochs_in(printed)
    assert len(epochs) == parity_jobs.EPOCHS, printed
    for mine, theirs in zip(epochs, fitted["epochs"], strict=True):
        losses = {key: mine[key] for key in ("loss", "val_loss")}
        assert losses == pytest.approx(theirs, rel=parity_jobs.CLOSE)
    assert {key for key in epochs[0] if key.startswith("val_")} == {
        f"val_{key}" for key in epochs[0] if not key.startswith("val_")
    }
    proof.keep()


def test_that_what_must_be_looked_at_first_is_said(tmp_path: Path) -> None:
    for name, model, words in (
        ("labels", "mlp", "once they have been read"),
        ("spots", "", "once it has been built"),
    ):
        parity_targets.save(name, tmp_path / f"{name}.npz")
        chosen = f"model.name={model}" if model else "model.python=own.py:build"
        settings = ["data.name=", "data.options=", f"data.file={tmp_path / name}.npz", chosen]
        with pytest.raises(UnseenError, match=words):
            python_script(with_settings(loads(parity_jobs.PLAN), settings), None, tmp_path)
