"""`onkel predict`."""

import contextlib
import sys
from collections.abc import Iterator
from typing import IO, Any

import click
import numpy as np

from ..io import read_model
from .options import Sections, Source, stream_options
from .reading import Reading


@click.command(cls=Sections)
@click.argument("model", type=click.Path())
@click.argument("source")
@click.option("-o", "--output", metavar="FILE", help="Where the predictions go. [default: standard output]")
@click.option(
    "--what",
    type=click.Choice(["labels", "scores", "probabilities"]),
    default="labels",
    show_default=True,
    help="Labels (or numbers); decision values; or the probability of every class, for the logistic loss.",
)
@stream_options
def predict(model: str, source: str, output: str | None, what: str, **options: Any) -> None:
    """Predict the rows of SOURCE with MODEL, a file of `onkel learn` or onkel.save; a line for every row.

    Rows may have features that the model has not seen, and lack the last ones. What stands in the place of labels is
    not looked at. The columns of a table are found by their names, and read as they were when the model learnt.

    \b
    onkel predict model.onkel new.svm
    cat new.csv | onkel predict model.onkel - --format csv --target none --what scores
    """
    learner, document = read_model(model)
    rows = Source(source, options).like(Reading.kept_with(learner, document["notes"])).with_labels("ignored")
    vars(learner).pop("feature_names_in_", None)  # by which the columns are found already
    if hasattr(learner, "grow_features"):
        learner.set_params(grow_features=True)
    ask = _question(learner, what)
    with rows.open() as stream, _opened(output) as out:
        for X, _, _ in stream:
            answers = np.asarray(ask(X))
            for row in answers.reshape(len(answers), -1).tolist():
                out.write(" ".join(map(str, row)) + "\n")
            out.flush()
    if stream.skipped:
        click.echo(
            f"onkel: {stream.skipped:,} faulty rows were passed over; the first: {stream.first_skipped}", err=True
        )


def _question(learner: Any, what: str) -> Any:
    if what == "labels" or (what == "scores" and not hasattr(learner, "classes_")):
        return learner.predict
    if what == "scores":
        return learner.decision_function
    if not hasattr(learner, "predict_proba"):
        raise click.UsageError("The model has no probabilities: they need a classifier with loss=logistic.")
    return learner.predict_proba


@contextlib.contextmanager
def _opened(output: str | None) -> Iterator[IO[str]]:
    if output in (None, "-"):
        yield sys.stdout
    else:
        with open(str(output), "w", encoding="utf-8") as file:
            yield file
