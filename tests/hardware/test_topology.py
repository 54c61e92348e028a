"""The matrix of how cards are joined, as `nvidia-smi topo -m` shows it."""

from __future__ import annotations

from hypothesis import given
from made_topologies import topologies

from gpu_studio.hardware.topology import Joint, Topology, TopologyNode, as_text, matrix, table

PAIR = Topology(
    (
        TopologyNode("GPU0", numa=0, cpus="0-15"),
        TopologyNode("GPU1"),
        TopologyNode("GPU2", numa=1, cpus="16-31"),
    ),
    (Joint(0, 1, "PIX"), Joint(0, 2, "SYS"), Joint(1, 2, "SYS", nvlinks=4)),
)


def test_that_nvlink_comes_before_the_way_over_pcie():
    assert matrix(PAIR) == [["X", "PIX", "SYS"], ["PIX", "X", "NV4"], ["SYS", "NV4", "X"]]


def test_that_the_table_has_affinities_and_says_what_is_unknown():
    assert table(PAIR)[0] == ["", "GPU0", "GPU1", "GPU2", "CPU affinity", "NUMA node"]
    assert table(PAIR)[1] == ["GPU0", "X", "PIX", "SYS", "0-15", "0"]
    assert table(PAIR)[2][-2:] == ["?", "?"]


def test_that_the_text_explains_what_stands_in_it_and_nothing_else():
    text = as_text(PAIR)

    assert text.splitlines()[1].split() == ["GPU0", "X", "PIX", "SYS", "0-15", "0"]
    assert "PIX  through one PCIe bridge" in text
    assert "NV#  over # NVLinks" in text
    assert "PXB" not in text
    assert as_text(Topology()) == ""


def test_that_a_pair_that_nobody_told_of_is_unknown():
    assert matrix(Topology((TopologyNode("GPU0"), TopologyNode("GPU1")))) == [
        ["X", "?"],
        ["?", "X"],
    ]


@given(topologies())
def test_that_the_matrix_is_the_same_from_both_sides(topology):
    rows = matrix(topology)

    assert rows == [list(column) for column in zip(*rows, strict=True)]
    assert all(rows[place][place] == "X" for place in range(len(rows)))
    assert len({len(row) for row in table(topology)}) == 1
