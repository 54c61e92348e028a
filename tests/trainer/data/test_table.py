"""Data from tables: what is read of a CSV file, and what is refused in which words."""

from __future__ import annotations

import csv
import io
import json
import sys
from contextlib import suppress
from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpu_studio.plan import Data
from gpu_studio.trainer.data import load_data
from gpu_studio.trainer.data.fingerprints import fingerprints
from gpu_studio.trainer.data.table import read_table
from gpu_studio.trainer.errors import DataError


@pytest.fixture
def read(tmp_path):
    """Reads text or bytes as a table whose target is c, unless told otherwise."""

    def reading(content, groups=None, name="mine.csv", **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_table(path, {"targets": ["c"], **options}, groups)

    return reading


def refusal(read, content, **options) -> str:
    with pytest.raises(DataError) as caught:
        read(content, **options)
    return " ".join([caught.value.message, *caught.value.suggestions])


def test_that_numbers_make_a_matrix_in_the_order_of_the_plan(read):
    found = read("a,b,c,d\n1,2.5,0,7\n3,4,2,8\n", inputs=["b", "a"]).train
    assert found.x.dtype == np.float32
    assert found.x.tolist() == [[2.5, 1], [4, 3]]
    assert found.y.tolist() == [0, 2]
    assert found.y.dtype.kind == "i"


ROWS = (
    '{"a": 1, "yes": true, "kind": "caf\\u00e9", "c": 0.25}\n\n'
    '{"c": -2e1, "kind": "\u2028,", "a": 12345678901234567, "yes": false, "more": [1]}\r\n'
)


@pytest.mark.parametrize("name", ["mine.jsonl", "MINE.NDJSON"])
def test_that_json_lines_are_read_as_the_table_that_they_are(read, name):
    found = read(ROWS.encode("utf-8-sig"), name=name)
    x = found.train.x
    assert list(x) == ["a", "kind", "yes"]
    assert x["a"].tolist() == [[1], [12345678901234567]]
    assert [each.decode() for each in x["kind"][:, 0]] == ["caf\u00e9", "\u2028,"]
    assert found.train.seen(slice(None))["a"].dtype == np.int64
    assert (x["yes"].tolist(), found.train.y.tolist()) == ([[1], [0]], [0.25, -20])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"a": 1, "c": 1}\n{"a": [1], "c": 1}', "line 2: a is a list or an object, which is no"),
        ('{"a": 1, "c": 1}\n{"c": 2', "line 2 is no JSON (Expecting ',' delimiter"),
        ('{"a": 1, "c": 1}\n[2]\n', "line 2 is no object with names. Write an object, such as"),
        ('{"a": 1, "c": 1}\n\n{"c": 2}\n', "line 3 has no a, which the first object has. Give"),
        ('{"a": 1, "c": 1}\n{"a": null, "c": 2}\n', "line 2: a is empty. Fill it in, or leave"),
        ('{"a": 1, "c": 1}\n{"a": 1, "a": 2, "c": 2}', "line 2 has a twice. Leave out one of"),
        (
            '{"a": 1, "c": 1}\n' * 2 + '{"a": NaN, "c": 2}\n',
            "line 3: a is NaN, no finite number.",
        ),
        ("\n1.5\n", "line 2 is no object with names."),
        (b'{"c": 1}\n{"c": "\xe4"}\n', "it is not written in UTF-8, line 2 shows."),
        ("[" * 100_000, "line 1 is no JSON ("),
        ('{"a": "b", "c": 1}\n{"a": "\\ud800", "c": 2}\n', "line 2: a has half of a character"),
        ("", "it is empty"),
    ],
    ids=range(12),
)
def test_that_json_lines_that_are_no_table_are_refused_with_their_line(read, content, said):
    assert said in refusal(read, content, name="mine.jsonl").replace("  ", " ")


def test_that_json_lines_need_no_more_names_than_are_read(read):
    found = read('{"a": 1, "b": 2, "c": 3}\n{"a": 4, "c": 5}', name="mine.jsonl", inputs=["a"])
    assert found.train.x.tolist() == [[1], [4]]


@pytest.fixture
def parquet(tmp_path):
    """Reads columns, written as a Parquet file with small groups of rows; target c."""

    def reading(columns, groups=None, **options):
        path = tmp_path / "mine.parquet"
        pq.write_table(pa.table(columns), path, row_group_size=3)
        return read_table(path, {"targets": ["c"], **options}, groups)

    return reading


def test_that_columns_of_a_parquet_file_are_what_it_stores(parquet):
    found = parquet(
        {
            "yes": [True, False],
            "many": pa.array([1, 2**31 - 1], pa.uint64()),
            "half": np.array([0.5, 1], np.float16),
            "price": pa.array([Decimal("1.10"), Decimal("-2.00")]),
            "code": pa.array(["007", "7"]).dictionary_encode(),
            "list": [[1], [2]],
            "who": [3, 4],
            "c": pa.array(["ä", "a"], pa.large_string()),
        },
        groups="who",
    )
    x = found.train.x
    assert {name: (each.dtype, each[:, 0].tolist()) for name, each in x.items()} == {
        "yes": (np.int32, [1, 0]),
        "many": (np.int32, [1, 2**31 - 1]),
        "half": (np.float32, [0.5, 1]),
        "price": (np.float32, np.array([1.1, -2], np.float32).tolist()),
        "code": (np.dtype("S3"), [b"007", b"7"]),
    }
    assert (found.class_names, found.train.y.tolist()) == (("a", "ä"), [1, 0])
    assert found.groups.tolist() == [b"3", b"4"]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"a": [1, 2, 3, 4, None], "c": [1] * 5}, "row 5: a is empty. Fill it in, or leave"),
        ({"a": [1.0, float("nan")], "c": [1, 1]}, "row 2: a is nan, no finite number. Fill it"),
        (
            {"a": pa.array([1, 2**63], pa.uint64()), "c": [1, 1]},
            "row 2: a is 9223372036854775808, more than 9",
        ),
        ({"a": [date(2026, 1, 1)], "c": [1]}, "the column a holds dates or times (date32[day])."),
        ({"a": [b"1"], "c": [1]}, "the column a holds bytes. Save it as texts."),
        ({"a": [None], "c": [1]}, "the column a holds null. Save it as numbers or as texts."),
        (
            {"a": pa.array([b"\x80"]).view(pa.string()), "c": [1]},
            "it cannot be read as a Parquet file ('utf-8' codec can't decode",
        ),
        (
            {"a": pa.array([b"0" * 16], pa.uuid()), "c": [1]},
            "the column a holds extension<arrow.uuid>. Save it as numbers or as texts.",
        ),
        ({"a": [1, 2], "c": ["x", " "]}, "row 2: the target c is empty. Fill in its class"),
        ({"b": [[1]], "c": [1]}, "no column is left as an input."),
        ({"a": pa.array([], pa.int64()), "c": pa.array([], pa.int64())}, "but no rows."),
    ],
    ids=range(11),
)
def test_that_a_parquet_file_that_is_no_table_is_refused_with_its_row(parquet, columns, said):
    assert said in refusal(parquet, columns)


def test_that_a_list_named_as_an_input_is_no_column(parquet):
    columns = {"a": [1], "b": [[1]], "c": [1]}
    assert "there is no column b" in refusal(parquet, columns, inputs=["b"])


@pytest.mark.parametrize("part", [0, 7, 0.5, 0.99])
def test_that_a_parquet_file_that_is_cut_off_is_refused(parquet, tmp_path, part):
    parquet({"a": range(9), "c": range(9)})
    whole = (tmp_path / "mine.parquet").read_bytes()
    cut = whole[: part if isinstance(part, int) else int(part * len(whole))]
    (tmp_path / "mine.parquet").write_bytes(cut)
    with pytest.raises(DataError, match="it is no Parquet file, or it is cut off"):
        read_table(tmp_path / "mine.parquet", {"targets": ["c"]})


@given(at=st.integers(0, 2000), damage=st.binary(min_size=1, max_size=8))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_that_no_damage_to_a_parquet_file_is_more_than_refused(tmp_path, at, damage):
    path = tmp_path / "mine.parquet"
    pq.write_table(pa.table({"a": range(9), "t": ["x"] * 9, "c": range(9)}), path)
    content = bytearray(path.read_bytes())
    start = at % len(content)
    content[start : start + len(damage)] = damage
    path.write_bytes(content)
    with suppress(DataError):
        read_table(path, {"targets": ["c"]})


def test_that_a_parquet_file_without_pyarrow_says_what_to_install(parquet, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    said = refusal(parquet, {"a": [1], "c": [1]})
    assert "pyarrow, which is not installed. Install it with " in said
    assert '-m pip install "pyarrow>=20"' in said


def test_that_all_other_columns_are_inputs_if_none_is_named(read):
    found = read(",a,w,b,c\n0,1,2,3,4\n", weight="w").train
    assert found.x.tolist() == [[1, 3]]
    assert found.weights.tolist() == [2]


def test_that_columns_with_texts_are_each_an_input_of_their_own(read):
    x = read('a,b,c\n1,"said ""x"",\nand y",.5\n2,ä,1.5\n').train.x
    assert list(x) == ["a", "b"]
    assert (x["a"].dtype.kind, x["a"].tolist()) == ("i", [[1], [2]])
    assert [each.decode() for each in x["b"][:, 0]] == ['said "x",\nand y', "ä"]


def test_that_texts_to_learn_are_classes_in_the_order_of_their_names(read):
    found = read("a,c\n1,dog\n2,cat\n3,dog\n4,Emu\n")
    assert found.class_names == ("Emu", "cat", "dog")
    assert found.train.y.tolist() == [2, 1, 2, 0]


def test_that_several_targets_are_a_dictionary(read):
    y = read("a,c,d\n1,-1,no\n2,2,yes\n", targets=["c", "d"]).train.y
    assert (y["c"].dtype, y["c"].tolist()) == (np.float32, [-1, 2])
    assert y["d"].tolist() == [0, 1]


def test_that_numbers_named_as_texts_stay_as_they_are_written(read):
    assert read("a,c\n007,1\n7,0\n", texts=["a"]).train.x["a"][:, 0].tolist() == [b"007", b"7"]


WHOLE = {"a": [3, 4], "b": [5, 6], "c": [250_000, 7]}


@pytest.mark.parametrize("name", ["mine.csv", "mine.jsonl", "mine.parquet"])
def test_that_columns_of_values_are_read_as_floats(read, tmp_path, name):
    rows = [dict(zip(WHOLE, row, strict=True)) for row in zip(*WHOLE.values(), strict=True)]
    pq.write_table(pa.table(WHOLE), tmp_path / "whole")
    content = {
        "mine.csv": "a,b,c\n3,5,250000\n4,6,7\n",
        "mine.jsonl": "\n".join(map(json.dumps, rows)),
        "mine.parquet": (tmp_path / "whole").read_bytes(),
    }[name]
    kept, found = (
        read(content, name=name, form="columns", values=values).train for values in ([], ["c", "a"])
    )
    assert (kept.y.dtype, kept.x["a"].dtype) == (np.int32, np.int32)
    assert (found.y.dtype, found.y.tolist()) == (np.float32, [250_000, 7])
    assert (found.x["a"].dtype, found.x["a"].tolist()) == (np.float32, [[3], [4]])
    assert found.x["b"].dtype == np.int32


def test_that_texts_are_no_values(read, parquet):
    said = "the column c holds texts, and no values. Leave it out of data.options.values"
    assert said in refusal(read, "a,c\n1,x\n", values=["c"])
    assert said in refusal(parquet, {"a": [1], "c": ["x"]}, values=["c"])


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (b"\xef\xbb\xbfa;b;c\r\n1,5;2;3\r\n\r\n4;5;6\r\n", {"decimal": "comma"}),
        (b"a\tb\tc\n1.5\t2\t3\n4\t5\t6", {}),
        (b"a|b|c\n1.5|2|3\n4|5|6\n\n", {"separator": "bar"}),
        (b'"a","b","c"\n\n"1.5",2, 3\n4,5,6\n', {}),
    ],
)
def test_that_tables_of_spreadsheets_are_read(read, content, options):
    found = read(content, **options).train
    assert found.x.tolist() == [[1.5, 2], [4, 5]]
    assert found.y.tolist() == [3, 6]


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        ("", {}, "mine.csv: it is empty"),
        ("a,b,c\n", {}, "has a header, but no rows"),
        ("a,b,C\n1,2,3\n", {}, "there is no column c. Did you mean C? There are a, b and C."),
        ("a,b,c\n1,2,3\n", {"inputs": ["c"]}, "c is an input, and a target"),
        ("a,a,c\n1,2,3\n", {}, "2 columns are called a"),
        ("c\n1\n", {}, "no column is left as an input"),
        ("a,b,c\n1,2,3\n4,5\n", {}, "line 3 has 2 cells, but the header has 3"),
        ('a,b,c\n1,2,3\n4,"5,6\n', {}, "line 3: the row is damaged"),
        ('a,b,c\n"1",2,3\n"2\n",x,3\n4,5,6\n7,8,9', {}, "line 3: b is x, which is no number"),
        ('a,c\n1,2\n"2,2\n' + "3,2\n" * 40_000, {}, "line 3: a cell has more than 131,072"),
        ("a,b,c\n1,2,3\n1,,3\n", {}, "line 3: b is empty. Fill it in, or leave the row out."),
        ("a,b,c\n1,2,3\n1,nan,3\n1,2,3\n", {}, "line 3: b is nan, no finite number"),
        (
            "a;b;c\n1;2,5;3\n",
            {},
            'b is 2,5, which is no number. Set data.options.decimal to "comma"',
        ),
        ("a,b,c\n1,1_0,3\n1,2,3\n1,2,3\n", {}, "line 2: b is 1_0, which is no number"),
        ("a,c\n1,x\n2, \n", {}, "line 3: the target c is empty"),
        (b"a,b,c\n1,2,3\n\xe4,2,3\n", {}, "not written in UTF-8, line 3 shows"),
        ("a,b,c\n".encode("utf-16"), {}, "but in UTF-16"),
        ("a,c\nx,1\n", {"form": "matrix"}, "a hold texts, of which no matrix can be made"),
    ],
)
def test_that_what_is_wrong_is_told_with_its_place_and_what_to_do(read, content, options, said):
    assert said in refusal(read, content, **options)


def test_that_a_missing_table_is_told_with_what_may_be_meant(tmp_path):
    (tmp_path / "homes.csv").write_text("a,c\n1,2\n")
    with pytest.raises(
        DataError, match=r"There is no table .*home\.csv; did you mean .*homes\.csv"
    ):
        read_table(tmp_path / "home.csv", {"targets": ["c"]})


def test_that_a_cell_after_many_rows_is_told_with_its_line(read):
    content = "a,c\n" + "1,2\n" * 40_000 + "x,2\n"
    assert "line 40002: a is x" in refusal(read, content)


FINITE = st.floats(-1e6, 1e6, allow_nan=False, width=32)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).map(str.strip).filter(bool)


@given(st.lists(st.tuples(FINITE, st.integers(-(2**31), 2**31 - 1), NAMES), min_size=1), st.data())
def test_that_whatever_is_written_is_read_again(tmp_path_factory, rows, data):
    mark = data.draw(st.sampled_from([",", ";", "\t", "|"]))
    names = data.draw(st.lists(NAMES, min_size=3, max_size=3, unique=True))
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=mark).writerows([names, *rows])
    path = tmp_path_factory.mktemp("table") / "any.csv"
    path.write_bytes(text.getvalue().encode())
    kinds = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
    options = {"targets": [names[2]], "texts": [names[2]], "separator": kinds[mark]}
    found = read_table(path, options)
    assert found.train.x.tolist() == [
        [float(np.float32(a)), float(np.float32(b))] for a, b, _ in rows
    ]
    assert [found.class_names[each] for each in found.train.y] == [name for *_, name in rows]


def test_that_a_table_gives_the_data_of_the_same_arrays(tmp_path):
    generator = np.random.default_rng(3)
    x = generator.normal(size=(50, 3)).astype(np.float32)
    y = generator.integers(0, 3, 50).astype(np.int32)
    np.savez(tmp_path / "same.npz", x=x, y=y)
    lines = [
        ",".join([*map(repr, map(float, each)), str(id_)]) for each, id_ in zip(x, y, strict=True)
    ]
    (tmp_path / "same.csv").write_text("\n".join(["a,b,c,kind", *lines]))
    table = Data(table="same.csv", options={"targets": ["kind"]}, split="stratified")
    one = load_data(table, 7, tmp_path)
    other = load_data(Data(file="same.npz", split="stratified"), 7, tmp_path)
    assert fingerprints(one) == fingerprints(other)
    assert one.target == other.target
