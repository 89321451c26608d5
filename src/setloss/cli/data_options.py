"""The data file of a command, and its number and names of features against those of a model."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from setloss.cli.errors import InputError
from setloss.files import not_a_file

if TYPE_CHECKING:
    from setloss.datasets import LabelSets, Tracks

SVMLIGHT = (".svm", ".svmlight", ".libsvm", ".txt")
TABLES = (".csv", ".parquet")
PANEL = "Reading DATA"


@dataclass(frozen=True)
class DataOptions:
    """A data file and how to read it, as given."""

    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Label sets or tracks: .svm (.svmlight, .libsvm, .txt), .arff, .npz, .csv or .parquet; with --dask, "
            "--workers or --memory also folders.",
        ),
    ]
    labels: Annotated[
        str | None,
        typer.Option(
            help="Label sets. csv, parquet: prefix of the label columns, or their names with commas between; "
            "arff: the XML file, or the number of labels; svm: the number of labels.",
            rich_help_panel=PANEL,
        ),
    ] = None
    group: Annotated[
        str | None,
        typer.Option(help="Tracks in csv, parquet: column of the bag.", show_default="group", rich_help_panel=PANEL),
    ] = None
    label: Annotated[
        str | None,
        typer.Option(
            help="Tracks in csv, parquet: column of the label.", show_default="label", rich_help_panel=PANEL
        ),
    ] = None
    features: Annotated[int | None, typer.Option(help="svm: the number of features.", rich_help_panel=PANEL)] = None
    first_label: Annotated[
        int | None, typer.Option(help="svm: label ids start with 0 or 1.", rich_help_panel=PANEL)
    ] = None
    first_feature: Annotated[
        int | None, typer.Option(help="svm: feature indices start with 0 or 1.", rich_help_panel=PANEL)
    ] = None

    def read(self) -> "LabelSets | Tracks":
        """What the file holds, or an `InputError`."""
        return self._load({})

    def read_for(self, model: Any, *, truth: bool) -> "LabelSets | Tracks":
        """The same for a model: the features must be its own, and with `truth` the labels too."""
        known: dict[str, Any] = {}
        if self.data.suffix.lower() in SVMLIGHT:
            known["features"] = model.n_features_in_
            if truth:
                known["labels"] = len(model.coef_)
            elif self.labels is None and self.first_label is None:
                # Labels are ignored: one more id from 0 has room for both ways to number them, and for none.
                known |= {"labels": len(model.coef_) + 1, "first_label": 0}
        return self._load(known)

    def _load(self, known: dict[str, Any]) -> "LabelSets | Tracks":
        from setloss.datasets import DatasetError, load

        if not_a_file(self.data) == "a folder":
            raise InputError(
                f"{self.data} is a folder; folders are read in partitions, with --memory, --workers or --dask"
            )
        given = {
            "labels": self._labels(),
            "group": self.group,
            "label": self.label,
            "features": self.features,
            "first_label": self.first_label,
            "first_feature": self.first_feature,
        }
        options = known | {name: value for name, value in given.items() if value is not None}
        try:
            return load(self.data, **options)
        except DatasetError as error:
            raise InputError(self.in_options(str(error))) from None

    def _labels(self) -> Any:
        """A number, a path, a prefix or names, as the kind of file takes it."""
        text, suffix = self.labels, self.data.suffix.lower()
        if text is None:
            return None
        if suffix in TABLES:
            return text.split(",") if "," in text else text
        if text.isdecimal():
            return int(text)
        if suffix in SVMLIGHT:
            raise InputError(f"--labels is the number of labels for a {suffix} file; got {text!r}")
        return text

    def in_options(self, sentence: str) -> str:
        """The readers speak of ``first_label=``, the command line of --first-label; paths stay as they are."""

        def option(match: re.Match[str]) -> str:
            return f"--{match[1].replace('_', '-')}{' ' if match[2] else ''}{match[2]}"

        path = str(self.data)
        pieces = sentence.split(path)
        pattern = r"\b(labels|group|label|features|first_label|first_feature)=(\w?)"
        return path.join(re.sub(pattern, option, piece) for piece in pieces)


def check_features(data: "LabelSets | Tracks", path: Path, model: Any, model_path: Path) -> None:
    """Refuse data whose features are not those the model was trained on, by number or, where known, by name."""
    names = vars(model).get("feature_names_in_")
    found = data.X.shape[1] if data.feature_names is None else len(data.feature_names)
    wanted = model.n_features_in_
    if found != wanted:
        raise InputError(f"{path} has {found} features and the model {model_path} was trained on {wanted}")
    if names is None or data.feature_names is None:
        return
    for place, (name, trained) in enumerate(zip(data.feature_names, names, strict=True), 1):
        if name != trained:
            raise InputError(
                f"feature {place} of {path} is {name!r} and the model {model_path} was trained with {trained!r} "
                "there; give the columns their names and order of the training data"
            )
