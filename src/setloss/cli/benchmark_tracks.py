"""``setloss benchmark tracks``: operators against LinearSVC and logistic regression on real bags of frames."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from setloss.cli.commands import names_in
from setloss.cli.errors import InputError
from setloss.cli.output_files import make_folder, write_document, write_text
from setloss.cli.progress import INTERRUPTED, Interrupted, WorkProgress, say

if TYPE_CHECKING:
    from setloss.reproduction.document import Document
    from setloss.reproduction.tracks.protocol import Protocol


def tracks(
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder with japanese_vowels/ and spoken_arabic_digits/.",
            show_default="SETLOSS_DATA",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder to write to; it is made if it is not there.")] = Path("results"),
    full: Annotated[bool, typer.Option("--full", help="All speakers, digits and utterances, 10 folds.")] = False,
    datasets: Annotated[
        str | None, typer.Option(help="Names, separated by commas.", show_default="all that are there")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the folds.", min=0)] = 0,
    jobs: Annotated[int | None, typer.Option(help="Processes.", min=1, show_default="the cores, at most 4")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on standard output, nothing else.")] = False,
) -> None:
    """Compare every operator with LinearSVC and logistic regression on bags of frames, with and without a vote.

    Losses 1 to 4, Dice and Jaccard on Japanese Vowels and Spoken Arabic Digits. Writes tracks-NAME.json and .md as
    soon as a data set is done, then tracks.json and tracks.md about all.
    """
    from setloss.reproduction.tracks.benchmark import rank_table

    folder = _data_folder(data)
    names = _names(datasets, folder)
    make_folder(out)
    documents: dict[str, Document] = {}
    try:
        _run(folder, names, _protocol(full, seed, jobs), full, out, documents)
    except Interrupted:
        done = ", ".join(documents) or "none"
        say(f"interrupted; data sets that are done: {done}, their tables are in {out}")
        raise typer.Exit(INTERRUPTED) from None
    ranks = [rank_table(documents, vote=vote) for vote in (False, True)]
    everything = {
        "settings": {"seed": seed, "full": full},
        "ranks": [table.as_dict() for table in ranks],
        "data_sets": {name: document.as_dict() for name, document in documents.items()},
    }
    write_text(out / "tracks.json", json.dumps(everything, indent=1, allow_nan=False))
    pieces = [table.markdown() for table in ranks] + [document.markdown(level=2) for document in documents.values()]
    write_text(out / "tracks.md", "\n".join(["# Losses of bags of frames\n", *pieces]))
    if as_json:
        typer.echo(json.dumps(everything, allow_nan=False))
        return
    for piece in pieces:
        typer.echo(piece)
    typer.echo(f"tables written to {out / 'tracks.md'}")


# ---------------------------------------------------------------- before any work


def _data_folder(given: Path | None) -> Path:
    from setloss.reproduction.running import data_folder

    folder = data_folder(given)
    if folder is None:
        raise InputError(
            "no data: give --data DIR, a folder with japanese_vowels/ (JapaneseVowels_TRAIN.ts, _TEST.ts) or "
            "spoken_arabic_digits/ (Train_Arabic_Digit.txt, Test_Arabic_Digit.txt), or set SETLOSS_DATA"
        )
    if not folder.is_dir():
        raise InputError(f"--data: there is no folder {folder}")
    return folder


def _names(asked: str | None, folder: Path) -> list[str]:
    from setloss.reproduction.tracks.data import FOLDERS

    there = [name for name, part in FOLDERS.items() if (folder / part).is_dir()]
    names = there if asked is None else names_in(asked)
    for name in names:
        if name not in FOLDERS:
            raise InputError(f"--datasets: there is no data set {name!r}; the names are {', '.join(FOLDERS)}")
        if name not in there:
            raise InputError(f"--datasets: {name} needs the folder {folder / FOLDERS[name]}, which is not there")
    if not names:
        parts = " or ".join(sorted(set(FOLDERS.values())))
        raise InputError(f"--data: {folder} has no folder {parts}; nothing can be compared")
    return names


def _protocol(full: bool, seed: int, jobs: int | None) -> "Protocol":
    from dataclasses import replace

    from setloss.reproduction.running import usual_jobs
    from setloss.reproduction.tracks.benchmark import FULL, QUICK

    return replace(FULL if full else QUICK, seed=seed, n_jobs=jobs or usual_jobs())


# ---------------------------------------------------------------- the work


def _run(
    folder: Path, names: list[str], protocol: "Protocol", full: bool, out: Path, documents: "dict[str, Document]"
) -> None:
    """One data set after the other; what is done is on disk whatever happens to the next."""
    from functools import partial

    from setloss.datasets import DatasetError
    from setloss.reproduction.tracks.benchmark import benchmark, follow_each
    from setloss.reproduction.tracks.data import SOURCES

    loaders = [partial(SOURCES[name], folder, full) for name in names]
    with WorkProgress() as progress:
        try:
            for problem, followed in follow_each(loaders, protocol, progress.update):
                document = benchmark(problem, followed)
                write_document(document, out, level=2)
                documents[problem.name] = document
        except DatasetError as error:
            raise InputError(str(error)) from None
