"""``setloss benchmark segmentation``: losses for segmentation networks, and decisions on top of them."""

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from setloss.cli.commands import names_in
from setloss.cli.errors import InputError
from setloss.cli.output_files import make_folder, show_document, write_document
from setloss.cli.progress import INTERRUPTED, Interrupted, WorkProgress, say

if TYPE_CHECKING:
    from setloss.reproduction.segmentation.data import ImageProblem
    from setloss.reproduction.segmentation.protocol import Outcome
    from setloss.reproduction.segmentation.training import TrainingSettings

SIZES = {"nuclei": 48, "chasedb1": 64, "camvid": 80}
"""The sides that docs/pytorch.md reports; others have 64."""


def segmentation(
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder of data sets, or one: images/*.png with masks/*.png, or an .npz of images and masks, or of "
            "train_images, train_labels, val_..., test_.... Without it, images are generated.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder to write to; it is made if it is not there.")] = Path("results"),
    datasets: Annotated[
        str | None,
        typer.Option(
            help="Which ones, as nuclei,camvid; blobs, ellipses, curves, discs, lesions and classes are generated.",
            metavar="NAME,...",
            show_default="all of the folder, or all generated",
        ),
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Which losses, by name.", metavar="NAME,...", show_default="all")
    ] = None,
    size: Annotated[
        int | None, typer.Option(help="Side of images or crops.", min=8, show_default="48, 64 or 80")
    ] = None,
    steps: Annotated[int, typer.Option(help="Training steps of 8 images.", min=1)] = 150,
    rates: Annotated[
        str, typer.Option(help="Learning rates to choose from.", metavar="RATE,...")
    ] = "0.003,0.01,0.03",
    seeds: Annotated[int, typer.Option(help="Networks per loss; the first chooses the rate.", min=1)] = 3,
    split: Annotated[
        int | None,
        typer.Option(
            help="To choose by: leave test images out and split the others anew with this seed; generate others.",
            min=0,
            show_default="none",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on standard output, nothing else.")] = False,
) -> None:
    """Train the same small U-Net with every loss at the same budget; compare losses, then decisions.

    Trained networks are kept in OUT/networks and not trained again, so an interrupted run goes on where it was.
    Writes segmentation.json and .md after each data set.
    """
    if importlib.util.find_spec("torch") is None:
        raise InputError('networks need PyTorch: pip install "setloss[torch]"')
    from setloss.reproduction.segmentation.report import report

    settings, chosen = _settings(steps, rates, seeds), None if methods is None else names_in(methods)
    found = _found(data, datasets, size)
    make_folder(out)
    outcomes: list[Outcome] = []
    try:
        problems = [partial(_problem, name, place, size, split) for name, place in found.items()]
        _run(problems, chosen, settings, out, outcomes)
    except Interrupted:
        done = ", ".join(outcome.problem.name for outcome in outcomes) or "none"
        say(f"interrupted; networks are kept in {out / 'networks'}; data sets done: {done}")
        raise typer.Exit(INTERRUPTED) from None
    show_document(report(outcomes), out, as_json)


def _settings(steps: int, rates: str, seeds: int) -> "TrainingSettings":
    from setloss.reproduction.segmentation.training import TrainingSettings

    try:
        grid = tuple(float(rate) for rate in rates.split(","))
    except ValueError:
        raise InputError(f"--rates are numbers separated by commas; got {rates!r}") from None
    if min(grid) <= 0:
        raise InputError(f"--rates are positive; got {rates!r}")
    return TrainingSettings(steps=steps, rates=grid, seeds=tuple(range(seeds)))


def _found(data: Path | None, datasets: str | None, size: int | None) -> dict[str, Path | None]:
    """The chosen data sets by name: the folder of each, or None for those that are generated."""
    from setloss.reproduction.segmentation.data import ImageError, check_size, find_problems
    from setloss.reproduction.segmentation.generated import KINDS

    side = 64 if size is None else size
    try:
        check_size(side)
        folders = {} if data is None else find_problems(data, side)
    except ImageError as error:
        raise InputError(f"--data: {error}") from None
    known: dict[str, Path | None] = {**dict.fromkeys(KINDS), **folders}
    usual = list(KINDS if data is None else folders)
    wanted = usual if datasets is None else names_in(datasets)
    for name in wanted:
        if name not in known:
            raise InputError(f"--datasets: there is no data set {name!r}; the names are {', '.join(known)}")
    return {name: known[name] for name in wanted}


def _problem(name: str, place: Path | None, size: int | None, split: int | None) -> "ImageProblem":
    from setloss.reproduction.segmentation.data import ImageError, read_problem
    from setloss.reproduction.segmentation.generated import generated

    try:
        if place is None:
            problem = generated(name, size or 48, seed=split or 0)
        else:
            problem = read_problem(name, place, SIZES.get(name, 64) if size is None else size, split)
    except ImageError as error:
        raise InputError(f"--data: {error}") from None
    return problem if split is None else replace(problem, name=f"{name} (split {split})")


def _run(
    problems: "Sequence[Callable[[], ImageProblem]]",
    chosen: list[str] | None,
    settings: "TrainingSettings",
    out: Path,
    outcomes: "list[Outcome]",
) -> None:
    from setloss.reproduction.segmentation.protocol import compare
    from setloss.reproduction.segmentation.report import report

    with WorkProgress() as progress:
        for number, make in enumerate(problems):
            progress.update(number / len(problems), "reading images")
            problem = make()
            methods = _methods(problem, chosen)
            runs = len(methods) * (len(settings.rates) + len(settings.seeds) - 1)
            done = count(1)

            def hear(what: str, before: int = number, runs: int = runs, done: Any = done) -> None:
                progress.update((before + next(done) / runs) / len(problems), what)

            outcomes.append(compare(problem, methods, settings, out / "networks", hear))
            write_document(report(outcomes), out)


def _methods(problem: "ImageProblem", chosen: list[str] | None) -> list[str]:
    from setloss.reproduction.segmentation.methods import METHODS, names

    known = names(problem.classes)
    for name in chosen or []:
        if name not in METHODS:
            raise InputError(f"--methods: there is no method {name!r}; the names are {', '.join(METHODS)}")
    return known if chosen is None else [name for name in chosen if name in known]
