"""A hostile value in any field of a plan is answered in words that a person can read."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import tomli_w
from hostile_plans import SOUND, VALUES, fields, hostile_plans

from gpu_studio.export import ExportError, python_script
from gpu_studio.plan import Machine, PlanError, dumps, loads, validate

MACHINE = Machine(cpu_cores=4, memory_mib=8192)
EVERY = 23
"""Prime to the number of values: each value meets some fields, and each field some values."""
OF_SOUND = 307
LONGEST = 20_000


def test_that_every_key_of_a_plan_is_among_the_fields_and_no_value_is_given_twice():
    assert {"training.epochs", "devices.carve.slices_mib", "cluster.slurm.flags"} <= set(fields())
    assert len(fields()) > 90
    assert len(VALUES) % EVERY
    assert len(VALUES) % OF_SOUND


@pytest.mark.slow
def test_that_a_hostile_value_in_a_field_is_refused_briefly_or_can_be_written_again():
    for field, what, text in hostile_plans(every=EVERY):
        try:
            plan = loads(text)
        except PlanError as error:
            said = str(error)
        else:
            said = str(PlanError(validate(plan, MACHINE)))
            assert loads(dumps(plan)) == plan, (field, what)
        assert len(said) < LONGEST, (field, what)
        assert said.replace("\n", "").isprintable(), (field, what)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", SOUND)
def test_that_what_a_sound_plan_takes_can_be_written_again_and_is_no_code_of_its_script(
    strategy: str,
) -> None:
    sound = SOUND[strategy]
    assert not validate(loads(tomli_w.dumps(sound)), MACHINE)
    for field, what, text in hostile_plans(sound, every=OF_SOUND):
        said = ""
        try:
            plan = loads(text)
            if problems := validate(plan, MACHINE):
                raise PlanError(problems)
            assert loads(dumps(plan)) == plan, (field, what)
            tree = ast.parse(python_script(plan, MACHINE, Path("/nowhere")))
        except (PlanError, ExportError) as error:
            said = str(error)
        else:
            imported = [each for each in tree.body if isinstance(each, ast.Import)]
            names = {name.name for each in imported for name in each.names}
            assert "unasked" not in names, (field, what)
        assert len(said) < LONGEST, (field, what)
        assert said.replace("\n", "").isprintable(), (field, what)
