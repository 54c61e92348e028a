"""What a script reads of a table is of the types that a run gives its columns."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from gpu_studio.export.tables import nested_table, table_facts
from gpu_studio.placement.plan_facts import ArrayFacts, DataFacts
from gpu_studio.plan import Data


def test_that_each_of_several_targets_keeps_its_own_type_in_whatever_order(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("n,sold,price\n0,0,0.5\n1,1,1.5\n")
    data = Data(table=str(path), options={"inputs": ["n"], "targets": ["sold", "price"]})
    # As they are seen: in the order of their names.
    targets = (ArrayFacts(("price",), dtype="float32"), ArrayFacts(("sold",), dtype="int32"))
    seen = DataFacts(
        path.name, "values", 1, 2, inputs=(ArrayFacts((), (1,)),), targets=targets, x_shape=(1,)
    )
    head, load = nested_table(table_facts(path, data, seen), data, seen)
    made: dict[str, Any] = {"csv": csv, "np": np, "Path": Path}
    exec(head + load, made)
    y = made["arrays"]["y"]
    assert [y["price"].dtype, y["sold"].dtype] == [np.float32, np.int32]
    assert y["price"].tolist() == [0.5, 1.5]
    assert y["sold"].tolist() == [0, 1]
