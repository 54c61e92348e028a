"""What is said of whole numbers that are taken for class ids, though they seem to be values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.plan import Data, Plan, validate
from gpu_studio.plan.class_ids import as_values, taken_for_ids
from gpu_studio.plan.columns import Header, TableError, chosen_columns
from gpu_studio.plan.targets import MANY_IDS, mostly_absent

HEADER = Header(("size", "price", "who", "file"), ",")


@given(ids=st.integers(1, 10**6), occurring=st.integers(1, 10**6))
def test_that_ids_are_absent_only_where_they_are_many_and_most_do_not_occur(ids, occurring):
    absent = mostly_absent(ids, occurring)
    assert not (absent and (ids <= MANY_IDS or occurring > ids - occurring))
    assert absent or ids <= MANY_IDS or occurring >= ids - occurring
    assert absent >= mostly_absent(ids, occurring + 1)  # what occurs more often is less absent


def test_that_a_column_of_a_table_is_named_with_the_way_out():
    data = Data(table="homes.csv", options={"targets": ["price"], "inputs": ["size"]})
    found = taken_for_ids(data, "homes.csv", (), 250_001)
    assert found is not None
    words = "The whole numbers of price in homes.csv are taken for 250,001 class ids."
    assert found.text == words
    assert found.advice == "To learn values name price in data.options.values."
    mended = as_values(data, "price").make(Plan(data=data)).data
    assert mended.options == {**data.options, "values": ["price"]}
    assert taken_for_ids(mended, "homes.csv", (), 250_001) is None


def test_that_each_of_several_targets_is_judged_by_itself():
    options = {"targets": ["price", "year"], "values": ["price"]}
    data = Data(table="homes.csv", options=options)
    assert taken_for_ids(data, "homes.csv", ("price",), 200) is None
    found = taken_for_ids(data, "homes.csv", ("year",), 2021)
    assert found is not None
    assert found.column == "year"
    mended = as_values(data, "year").make(Plan(data=data))
    assert mended.data.options["values"] == ["price", "year"]
    assert [each for each in validate(mended) if "values" in each.field] == []


def test_that_arrays_are_to_be_given_as_floats():
    found = taken_for_ids(Data(file="homes.npz"), "homes.npz", ("head",), 2021)
    assert found is not None
    assert found.column is None
    assert found.advice == 'To learn values give y/head as floats, by astype("float32").'


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"values": ["prise"]}, "there is no column prise: did you mean price?"),
        ({"values": ["price"], "texts": ["price"]}, "price is named in values and in texts"),
        ({"values": ["who"]}, "who names the group of a sample"),
        ({"values": ["file"], "images": "file"}, "file names images"),
    ],
)
def test_that_a_column_that_cannot_be_values_is_refused(options, said):
    with pytest.raises(TableError) as caught:
        chosen_columns(HEADER, {"targets": ["price"], **options}, "who")
    assert str(caught.value).startswith(said)
    assert caught.value.option == "values"
