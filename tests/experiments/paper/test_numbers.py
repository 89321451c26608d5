"""The data file of the paper's numbers against its LaTeX tables, copied here by hand."""

import pytest

from experiments.paper.artefact import paper_table, printed

TABLE_1 = r"""
  $\mathbf{B}_{\mathbf{D}}$ &	$\mathbf{0.1121 \pm 0.0040}$  &  $0.6027\pm 0.0125$  \\
  0-1                       &	$0.1497\pm 0.0046$             & $0.5370\pm 0.0114$  \\
  $\mathbf{S}$              &	$0.3183\pm 0.0148$             & $0.7313\pm 0.0209$  \\
"""
TABLE_2 = r"""
$\mathbf{B}_\mathbf{D}$& $\mathbf{0.194 \pm 0.006}$& $\mathbf{0.238 \pm 0.008}$ & $0.148\pm 0.005$&$0.108\pm 0.004$
  0-1          &	$0.228 \pm 0.007$  &	$0.284 \pm 0.004$  &	$0.144 \pm 0.004$   &	$0.107 \pm 0.003$ \\
  $\mathbf{S}$ &	$0.398 \pm 0.015$  & $0.243 \pm 0.005$    &	$0.143 \pm 0.006$   &	$0.106 \pm 0.003$ \\
"""
TABLE_3 = r"""
 $\mathbf{B}_\mathbf{D}$		& $0.002\pm 0.000$ & $0.018\pm 0.003$ & $0.060\pm 0.008$ \\
$\mathbf{S}$					& $0.002\pm 0.000$ & $0.016\pm 0.002$ & $0.057\pm 0.002$\\
"""
CASES = {
    "table1": (TABLE_1, ("bd", "hinge", "slack-greedy"), ("dice", "wrong")),
    "table2": (TABLE_2, ("bd", "hinge", "slack-greedy"), ("curve1", "curve2", "curve3", "curve4")),
    "table3": (TABLE_3, ("bd", "slack-greedy"), ("p10", "p50", "p100")),
}


def read_latex(text):
    """Rows of (mean, error) as printed."""
    plain = text.replace(r"\mathbf", "").replace("$", "").replace("{", "").replace("}", "").replace("\t", " ")
    for line in plain.strip().splitlines():
        yield [tuple(cell.replace("\\\\", "").split(r"\pm")) for cell in line.split("&")[1:]]


@pytest.mark.parametrize("name", CASES)
def test_every_cell_is_the_printed_one(name):
    text, rows, columns = CASES[name]
    table = paper_table(name)
    assert tuple(table) == rows
    for row, cells in zip(rows, read_latex(text), strict=True):
        assert tuple(table[row]) == columns
        for column, (mean, error) in zip(columns, cells, strict=True):
            assert table[row][column] == (float(mean), float(error))
            assert printed(name, row, column) == f"{mean.strip()} ± {error.strip()}"
