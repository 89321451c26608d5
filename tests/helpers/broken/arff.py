"""Broken ARFF files, and broken XML files that name their labels."""

from helpers.broken.case import Case, cases

ARFF = "@relation r\n@attribute a real\n@attribute 'b c' {x,y}\n@attribute p {0,1}\n@data\n"
XML = '<labels xmlns="http://mulan.sourceforge.net/labels"><label name="p"/></labels>'

ROWS = [
    ("b.arff", ARFF, {}, "there is no b.xml beside it; give labels="),
    ("b-train.arff", ARFF, {}, "there is no b-train.xml or b.xml beside it"),
    ("a.arff", ARFF + "1,x,0\n", {"labels": "other.xml"}, "there is no file other.xml"),
    ("a.arff", ARFF + "1,x,0\n", {"labels": 3}, "has 3 attributes, so labels=3 is impossible"),
    ("a.arff", "1,2,3\n", {}, "line 1 of", "this is not the header of an ARFF file"),
    ("a.arff", "@relation r\n@attribute a real\n", {}, "has no line @data"),
    ("a.arff", "@relation r\n@data\n1\n", {}, "declares no attributes"),
    ("a.arff", "@relation r\n@attribute a\n@data\n", {}, "line 2 of", "declares 'a' as ''"),
    ("a.arff", "@relation r\n@attribute 'a real\n@data\n", {}, "line 2 of", "a name with blanks in quotes"),
    ("a.arff", "@relation r\n@attribute a string\n@data\n", {}, "line 2 of", "declares 'a' as 'string'", "remove"),
    ("a.arff", "@relation r\n@attribute a {x,x}\n@data\n", {}, "line 2 of", "empty or repeated value"),
    ("a.arff", "@relation r\n@attribute a {'x,y}\n@data\n", {}, "line 2 of", "a quote that is not closed"),
    ("a.arff", "@relation r\n@attribute p real\n@attribute p real\n@data\n1,1\n", {}, "two attributes named 'p'"),
    ("a.arff", "@relation r\n@attribute p {no,yes}\n@attribute a real\n@data\n", {}, "the label 'p'", "'no', 'yes'"),
    ("a.arff", "@relation r\n@attribute b real\n@data\n1\n", {}, "no attributes of", "'p'", "belong together"),
    ("a.arff", "@relation r\n@attribute p {0,1}\n@data\n1\n", {}, "every attribute", "features are missing"),
    ("a.arff", ARFF, {}, "has no rows after @data"),
    ("a.arff", ARFF + "1,x,0\n2,x\n", {}, "line 7 of", "has 2 cells and there are 3 attributes"),
    ("a.arff", ARFF + "1,x,0\n2,x,1,1\n", {}, "line 7 of", "has 4 cells"),
    ("a.arff", ARFF + "1,x,0\n%\n\none,x,1\n", {}, "line 9, column 'a' of", "is 'one', not a number"),
    ("a.arff", ARFF + "1_0,x,1\n", {}, "line 6, column 'a' of", "is '1_0', not a number"),
    ("a.arff", ARFF + ",x,1\n", {}, "line 6, column 'a' of", "is empty"),
    ("a.arff", ARFF + "nan,x,1\n", {}, "line 6, column 'a' of", "is nan; features are finite numbers"),
    ("a.arff", ARFF + "1,x,1\n-inf,x,1\n", {}, "line 7, column 'a' of", "is -inf"),
    ("a.arff", ARFF + "?,x,1\n", {}, "line 6, column 'a' of", "is missing (?); only labels may be"),
    ("a.arff", ARFF + "1,?,1\n", {}, "line 6, column 'b c' of", "is missing (?)"),
    ("a.arff", ARFF + "1,z,1\n", {}, "line 6, column 'b c' of", "is 'z', not one of the declared values 'x', 'y'"),
    ("a.arff", ARFF + "1,x,2\n", {}, "line 6, column 'p' of", "is '2', not one of the declared values '0', '1'"),
    ("a.arff", ARFF + "1,'x,1\n", {}, "line 6 of", "a quote that is not closed"),
    ("a.arff", ARFF + "1,x,1,{5}\n", {}, "line 6 of", "ends with a weight"),
    ("a.arff", ARFF + "{0 1}\n{3 1}\n", {}, "line 7 of", "column 3, out of range for 3 attributes"),
    ("a.arff", ARFF + f"{{{'9' * 5000} 1}}\n", {}, "line 6 of", "a column number and a value are expected"),
    ("a.arff", ARFF + "{-1 1}\n", {}, "line 6 of", "out of range"),
    ("a.arff", ARFF + "{0 1, 2 1, 0 2}\n", {}, "line 6 of", "column 0 ('a') twice"),
    ("a.arff", ARFF + "{0 1, 2\n", {}, "line 6 of", "does not end with }; the file may be truncated"),
    ("a.arff", ARFF + "{0 1, 2}\n", {}, "line 6 of", "has '2' where"),
    ("a.arff", ARFF + "{0 1,, 2 1}\n", {}, "line 6 of", "has '' where"),
    ("a.arff", ARFF + "{0 x}\n", {}, "line 6, column 'a' of", "not a number"),
    ("a.arff", ARFF + "{0 nan}\n", {}, "line 6, column 'a' of", "is nan"),
    ("a.arff", ARFF + "{0 1}, {3}\n", {}, "line 6 of", "ends with a weight"),
    ("a.arff", ARFF + "{0 1}\n1,x,1\n", {}, "line 7 of", "is dense and the rows before are sparse"),
    (
        "a.arff",
        "@relation r\n@attribute a real\n@attribute p real\n@data\n1,1\n1,3\n",
        {},
        "line 6, column 'p'",
        "is 3",
    ),
    ("a.arff", "@relation r\n@attribute a real\n@attribute p real\n@data\n1,-1\n1,0\n", {}, "not in both"),
    ("a.arff", ARFF.encode() + b"1,\xff,1\n", {}, "line 6 of", "not text in UTF-8"),
    ("a.arff", ARFF + "1,x,0\r\n2,x\r\n", {}, "line 7 of", "has 2 cells"),
    ("a.arff", "\ufeff" + ARFF + "1,x,0\n1,x,9\n", {}, "line 7, column 'p' of", "is '9'"),
    ("a.arff", ARFF + "1,x,0\n\x001,x,0\n", {}, "line 7, column 'a' of", "not a number"),
    ("a.arff", ARFF + "1e999,x,0\n", {}, "line 6, column 'a' of", "is inf"),
    ("a.arff", ARFF + "1,X,0\n", {}, "line 6, column 'b c' of", "is 'X', not one of the declared values"),
    ("a.arff", f"@attribute a {{{','.join(map(str, range(9000)))}}}\n@attribute p {{0,1}}\n@data\n" + "1,0\n" * 15000,
     {}, "nominal features with 9000 values in all, too many", "remove 'a'"),
]  # fmt: skip

XML_ROWS = [
    ("", "is empty"),
    ("<labels>", "is not well-formed XML"),
    ("no xml", "is not well-formed XML"),
    ('<?xml version="1.0" encoding="klingon"?><labels/>', "is not well-formed XML"),
    ("<tags><label name='p'/></tags>", "starts with <tags>"),
    ("<labels/>", "names no labels"),
    ("<labels><label/></labels>", "a label without a name (number 1)"),
    ("<labels><label name='p'/><label name='p'/></labels>", "two labels named 'p'"),
    ("<!DOCTYPE labels><labels><label name='p'/></labels>", "<!DOCTYPE ...>; remove it"),
    ('<!DOCTYPE l SYSTEM "file:///etc/hostname"><labels><label name="p"/></labels>', "<!DOCTYPE ...>"),
    ('<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><labels><label name="&b;"/></labels>', "<!DOCTYPE ...>"),
    ("<labels><label name='&outer;'/></labels>", "is not well-formed XML"),
    ("<labels><label name='a\0b'/></labels>", "is not well-formed XML"),
    ("<labels><label name='a' name='p'/></labels>", "is not well-formed XML"),
    ("<labels>" + " " * 2**24 + "</labels>", "is larger than 16777216 bytes"),
    ("<l>" * 100_000, "is not well-formed XML"),
]

CASES = cases("ARFF", ROWS, beside={"a.xml": XML}) + [
    Case("XML", "a.xml", text, (says,), beside={"a.arff": ARFF + "1,x,0\n"}) for text, says in XML_ROWS
]
