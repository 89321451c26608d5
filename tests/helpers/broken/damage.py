"""Hypothesis strategies that damage good files: cut, flip, splice, repeat, and put in what parsers stumble over."""

import io
import warnings
import zipfile
import zlib

from hypothesis import strategies as st

from helpers.broken import good

WORDS = (
    b"\x00", b"\r\n", b"\r", b"\n\n", b"\xef\xbb\xbf", b"\xff\xfe", "\u2028\u00a0\U0001f600".encode(), b"\x1a", b"'",
    b'"', b",,", b"{", b"}", b"%", b"#", b":", b"nan", b"-inf", b"1e999", b"1_0", b"-1", b"99999999999999999999",
    b"4294967296", b"2147483648", b"0x10", b"?", b"'shape': (9999999999, 9999999999)", b"'descr': '|O'", b"<U0",
    b"<!DOCTYPE x>", b"&x;", b"]]>", b"[" * 3000, b"__reduce__", b"\x80\x04cos\nsystem\n", b"NaN", b"null",
    b"1" * 400,
)  # fmt: skip
ARCHIVES = ("npz", "skops", "checkpoint.npz")


@st.composite
def bytes_of(draw, content):
    """Content with one to four wounds."""
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(content)))
        to = min(len(content), at + draw(st.sampled_from((0, 1, 2, 4, 8, 40, 4000))))
        kind = draw(st.sampled_from(("cut", "drop", "flip", "word", "copy", "noise")))
        if kind == "cut":
            content = content[:at]
        elif kind == "drop":
            content = content[:at] + content[to:]
        elif kind == "flip":
            flipped = bytes(b ^ draw(st.integers(1, 255)) for b in content[at : at + 1])
            content = content[:at] + flipped + content[at + 1 :]
        elif kind == "word":
            content = content[:at] + draw(st.sampled_from(WORDS)) + content[to:]
        elif kind == "copy":
            content = content[:to] + content[at:to] + content[to:]
        else:
            content = content[:at] + draw(st.binary(max_size=16)) + content[to:]
    return content


@st.composite
def damaged(draw, suffix):
    """A damaged file of this kind; an archive is damaged as it is, or in its members and packed anew."""
    files = good.FILES[suffix]()
    content = draw(st.sampled_from(files))
    if draw(st.integers(0, 9)) == 0:
        other = draw(st.sampled_from(files))
        content = content[: draw(st.integers(0, len(content)))] + other[draw(st.integers(0, len(other))) :]
    if suffix not in ARCHIVES or draw(st.integers(0, 3)) == 0:
        return draw(bytes_of(content))
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [(name, archive.read(name)) for name in archive.namelist()]
    except (zipfile.BadZipFile, zlib.error, ValueError, OSError, EOFError, NotImplementedError):
        return draw(bytes_of(content))
    return _packed([(name, draw(_member(text))) for name, text in members] + draw(_more(members)), draw)


@st.composite
def _member(draw, content):
    return draw(bytes_of(content)) if draw(st.booleans()) else content


@st.composite
def _more(draw, members):
    """Now and then a member twice, an archive inside the archive, or one of an odd name."""
    name, content = draw(st.sampled_from(members))
    odd = [("../x.npy", content), (name, content), ("nested.npz", good.npz()[0]), ("\u03bb.npy", b"")]
    return [draw(st.sampled_from(odd))] if draw(st.integers(0, 5)) == 0 else []


def _packed(members, draw):
    stream = io.BytesIO()
    method = draw(st.sampled_from((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)))
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w", method) as archive:
        warnings.simplefilter("ignore")
        for name, content in members:
            archive.writestr(name, content)
    return stream.getvalue()
