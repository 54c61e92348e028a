"""Programs as users write them train to what their own `fit` trains; wrong ones hear what is wrong.

Some programs of `tests/zoo` under some strategies; GPU_STUDIO_WHOLE_PARITY=1 tests all under all,
which `make bench ARGS=zoo` shows as a table.
"""

from __future__ import annotations

import pytest
import zoo_runs
import zoo_wrong
from parity_jobs import WHOLE
from zoo_runs import Trained
from zoo_table import WAYS, ZOO, programs

from gpu_studio.contract.consent import allow_folder

pytestmark = [pytest.mark.slow, pytest.mark.processes, pytest.mark.timeout(1200)]

PROGRAMS = programs()
CHOSEN = tuple(PROGRAMS) if WHOLE else ("ratings", "flowers")
ADAM = {} if WHOLE else {"optimizer": "adam"}
"""What the chosen ones are compiled with."""
CHOSEN_WAYS = tuple(WAYS) if WHOLE else ("none", "mirrored")
WRONG = tuple(zoo_wrong.PROGRAMS) if WHOLE else (
    "lengths_differ",
    "nan_in_targets",
    "labels_are_words",
    "python_objects",
    "data_raise",
    "load_wants_an_argument",
    "samples_do_not_fit",
    "no_call",
    "call_raises",
    "forgot_to_return",
    "not_installed",
    "no_python",
    "optimizer_unknown",
    "pipeline_raises",
    "softmax_over_one_unit",
    "list_that_grows",
    "loss_is_a_vector",
    "class_of_no_sample",
    "labels_1_and_2",
    "loss_gives_nothing",
    "names_of_no_output",
    "weights_of_another_shape",
    "more_batches_than_data",
    "monitor_misspelt",
)  # fmt: skip


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Trained]]:
    """What became of each program in each way, and by "fit"."""
    allow_folder(ZOO)
    folder = tmp_path_factory.mktemp("zoo")
    found = {
        way: zoo_runs.trained([PROGRAMS[name] for name in CHOSEN], way, folder, **ADAM)
        for way in CHOSEN_WAYS
    }
    return {**found, "fit": zoo_runs.fitted(CHOSEN, folder)}


@pytest.mark.parametrize(("way", "name"), [(way, name) for way in CHOSEN_WAYS for name in CHOSEN])
def test_that_a_program_trains_what_its_own_fit_trains(
    trained: dict[str, dict[str, Trained]], way: str, name: str
) -> None:
    mine = trained[way][name]
    found = zoo_runs.verdict(PROGRAMS[name], way, mine, trained["fit"][name])
    assert found.good or found.word == "refused", f"{found}\n{mine.trace}"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, zoo_wrong.Said]:
    """What is said of each wrong program."""
    return zoo_wrong.told(WRONG, tmp_path_factory.mktemp("wrong"), **ADAM)


@pytest.mark.parametrize("name", WRONG)
def test_that_a_wrong_program_is_told_what_is_wrong_where_and_what_to_do(
    told: dict[str, zoo_wrong.Said], name: str
) -> None:
    assert not zoo_wrong.missing(name, told[name]), told[name]
