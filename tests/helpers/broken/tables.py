"""Broken tables with named columns, CSV and Parquet."""

import io

from helpers.broken.case import Case, Made, cases


def parquet(columns):
    """The maker of a Parquet file of these columns."""

    def make():
        import pandas

        stream = io.BytesIO()
        pandas.DataFrame(columns).to_parquet(stream)
        return Made(stream.getvalue(), ", ".join(f"{name} {values!r}" for name, values in columns.items()))

    return make


def parquet_bomb():
    """Twelve million equal rows in a file of a few kilobytes."""
    import pyarrow
    from pyarrow import parquet as files

    stream = io.BytesIO()
    column = pyarrow.DictionaryArray.from_arrays(pyarrow.nulls(2**20, pyarrow.int8()).fill_null(0), [1.0])
    table = pyarrow.table(dict.fromkeys(("group", "label", "x"), column))
    with files.ParquetWriter(stream, table.schema) as writer:
        for _ in range(12):
            writer.write_table(table)
    return Made(stream.getvalue(), "12582912 equal rows in a few kilobytes")


def parquet_of_no_text():
    import pandas

    stream = io.BytesIO()
    frame = pandas.DataFrame({"group": ["bags", "bags"], "label": [0, 1], "x": [1, 2]})
    frame.to_parquet(stream, compression=None)
    return Made(stream.getvalue().replace(b"bags", b"\xff\xfe\xfd\xfc"), "bag ids that are not UTF-8")


def parquet_cut_short():
    return Made(parquet({"group": [1, 1], "label": [0, 1], "x": [1, 2]})()[:-20], "a file without its last 20 bytes")


CSV = [
    ("a.csv", "\n\n", {}, "has no rows"),
    ("a.csv", "group,label,x\n", {}, "names columns and has no rows"),
    ("a.csv", "1,0,2\n1,0,3\n", {}, "the first row of", "the number '1' in it; it must name the columns"),
    ("a.csv", "group,,label,x\n0,1,0,2\n", {}, "column 2 of", "has no name", "leave it out"),
    ("a.csv", "group:label:x\n1:0:2\n", {}, "has one column", "separated by commas"),
    ("a.csv", "group,label,x,x\n1,0,2,3\n", {}, "two columns named 'x'"),
    ("a.csv", "track,label,x\n1,0,2\n", {}, "no column 'group'", "group=", "'track', 'label', 'x'"),
    ("a.csv", "group,y,x\n1,0,2\n", {"label": "face"}, "no column 'face'", "with label="),
    ("a.csv", "group,label,x\n1,0,2\n", {"group": "x", "label": "x"}, "group and label are both 'x'"),
    ("a.csv", "group,label\n1,0\n", {}, "has no columns of features"),
    ("a.csv", "group,label,x\n1,0,2\n1,0\n", {}, "line 3 of", "has 2 cells and the first row names 3 columns"),
    ("a.csv", "group,label,x\n1,0,2\n1,0,2,9\n", {}, "line 3 of", "has 4 cells"),
    ("a.csv", "group,label,x\n1,0,2,9\n1,0,2,9\n", {}, "line 2 of", "has 4 cells"),
    ("a.csv", "group,label,x\n1,0,2,\n1,0,2,\n", {}, "line 2 of", "has 4 cells"),
    ("a.csv", "group,label,x\n1,0,2\n\n1,0,red\n", {}, "line 4, column 'x' of", "is 'red', not a finite number"),
    ("a.csv", "group,label,x\n1,0,2\n1,0,\n", {}, "line 3, column 'x' of", "is empty"),
    ("a.csv", "group,label,x\n1,0,nan\n", {}, "line 2, column 'x' of", "is 'nan', not a finite number"),
    ("a.csv", "group,label,x\n1,0,1\n1,0,inf\n", {}, "line 3, column 'x' of", "is inf"),
    ("a.csv", "group,label,x\n1,0,1\n,0,1\n", {}, "line 3, column 'group' of", "is missing; every frame needs a bag"),
    ("a.csv", "group,label,x\n1,0,1\n1,,1\n", {}, "line 3, column 'label' of", "is missing; every frame needs a"),
    ("a.csv", "group,label,x\n1,0,1\n1,yes,1\n", {}, "line 3, column 'label' of", "is 'yes'; labels are in {0, 1}"),
    ("a.csv", "group,label,x\n1,0,1\n1,2,1\n", {}, "line 3, column 'label' of", "is 2; labels are in"),
    ("a.csv", 'group,label,x\n"a\nb",0,1\n1,0,z\n', {}, "line 4, column 'x' of", "is 'z'"),
    ("a.csv", 'group,label,x\n"a,0,1\n1,0,2\n', {}, "a.csv"),
    ("a.csv", b"group,label,x\n1,0,\xff\n", {}, "line 2 of", "not text in UTF-8"),
    ("a.csv", "x,l1\n1,0\n", {"labels": "m"}, "no column of", "starts with 'm'", "'x', 'l1'"),
    ("a.csv", "x,l1\n1,0\n", {"labels": ["l1", "l2"]}, "has no columns 'l2' for labels"),
    ("a.csv", "x,l1\n1,0\n", {"labels": 1}, "labels=1 does not name columns"),
    ("a.csv", "x,l1\n1,0\n", {"labels": "l", "group": "x"}, "give one or the other"),
    ("a.csv", "x,l1,l2\n1,0,7\n", {"labels": "l"}, "line 2, column 'l2' of", "is 7"),
    ("a.csv", "x,l1,l2\n1,1,0\n2,1\n", {"labels": "l"}, "line 3 of", "has 2 cells"),
    ("a.csv", "x,l1,l2\n1,,0\nz,0,1\n", {"labels": "l"}, "line 3, column 'x' of", "is 'z'"),
    ("a.csv", "group,label,x\r\n1,0,2\r\n1,0\r\n", {}, "line 3 of", "has 2 cells"),
    ("a.csv", "\ufeffgroup,label,x\n1,0,2\n1,0,z\n", {}, "line 3, column 'x' of", "is 'z'"),
    ("a.csv", "group,label,x\n1,0,2\n1,0,\x00\n", {}, "line 3, column 'x' of", "not a finite number"),
    (
        "a.csv",
        f"group,label,x\n1,0,1\n{'b' * 3000},0,1\n",
        {},
        "line 3, column 'group' of",
        "more than 200 characters",
    ),
    ("a.csv", f"group,label,x\n1,0,{'9' * 200_000}\n", {}, "a.csv"),
    ("a.csv", "group label x\n1 0 2\n", {}, "has one column", "separated by commas"),
]

PARQUET = [
    ("PAR1 and no more", ("is not a complete Parquet file",)),
    (b"PAR1" + bytes(40) + b"PAR1", ("is not a complete Parquet file",)),
    (parquet_of_no_text, ("is not a complete Parquet file",)),
    (parquet_cut_short, ("is not a complete Parquet file",)),
    (parquet_bomb, ("promises 12582912 rows of 3 columns", "the limit for a file of its size is 33554432")),
    (parquet({"group": [1, None], "label": [0, 1], "x": [1, 2]}), ("row 2, column 'group' of", "is missing")),
    (parquet({"group": ["a", ""], "label": [0, 1], "x": [1, 2]}), ("row 2, column 'group' of", "is missing")),
    (parquet({"group": [1, 1], "label": [0, 1], "x": ["1", "2"]}), ("column 'x' of", "it must hold numbers")),
    (parquet({"group": [1, 1], "label": ["0", "1"], "x": [1, 2]}), ("column 'label' of", "must hold numbers")),
    (parquet({"group": [1, 1], "label": [0, 1], "x": [1, None]}), ("row 2, column 'x' of", "is nan")),
    (parquet({"group": [1, 1], "label": [0, 4], "x": [1, 1]}), ("row 2, column 'label' of", "is 4")),
    (parquet({"group": [1, 1], "label": [0, 1], "x": [[1], [2]]}), ("column 'x' of", "it must hold numbers")),
    (parquet({"group": [1, 1], "label": [[1], [2]], "x": [1, 2]}), ("column 'label' of", "must hold numbers")),
    (parquet({"group": ["a" * 300, "b"], "label": [0, 1], "x": [1, 2]}), ("column 'group' of",
     "more than 200 characters")),
    (parquet({"group": [], "label": [], "x": []}), ("has no rows",)),
    (parquet({"g": [1], "label": [0], "x": [1]}), ("no column 'group'",)),
]  # fmt: skip

CASES = cases("CSV", CSV) + [Case("Parquet", "a.parquet", content, says) for content, says in PARQUET]
