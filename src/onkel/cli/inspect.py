"""`onkel inspect`."""

import json
import os
from collections.abc import Iterator
from typing import Any

import click

from ..io import read_model
from ..state import arrays
from .learners import support_of
from .reading import Reading


@click.command()
@click.argument("model", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Everything but the arrays, as one JSON object.")
def inspect(model: str, as_json: bool) -> None:
    """Show what is in MODEL, a file of `onkel learn` or onkel.save. It is checked as a whole first."""
    learner, document = read_model(model)
    held = {name: [array.dtype.name, list(array.shape)] for name, array in arrays(learner._learner).items()}
    if as_json:
        metrics = (document["notes"] or {}).get("metrics")
        if isinstance(metrics, dict):
            metrics.pop("latest", None)  # the window, three numbers for each of many rows
        click.echo(json.dumps({"file": model, "bytes": os.path.getsize(model), **document, "arrays": held}))
        return
    for name, text in _lines(learner, document, os.path.getsize(model)):
        click.echo(f"{name:<11} {text}")
    click.echo("arrays")
    for name, (dtype, shape) in held.items():
        click.echo(f"  {name:<16} {dtype:<8} {' x '.join(map(str, shape))}")


def _lines(learner: Any, document: dict[str, Any], size: int) -> Iterator[tuple[str, str]]:
    yield "estimator", f"{document['class']}, {document['dtype']}"
    yield "file", f"{size:,} bytes, format {document['format']}, written by onkel {document['onkel']}"
    if document["classes"]:
        yield "classes", ", ".join(map(str, document["classes"]["values"]))
    yield "seen", f"{document['n_seen']:,} rows, {document['n_features']:,} features"
    if (support := support_of(learner)) is not None:
        yield "support", f"{support:,} vectors"
    notes = document["notes"] or {}
    if "position" in notes:
        place = {name: value for name, value in notes["position"].items() if name in ("rows", "line", "byte")}
        yield "source", "goes on behind " + ", ".join(f"{name} {value:,}" for name, value in place.items())
    reading = Reading.kept_with(learner, document["notes"])
    if reading and reading.columns:
        yield "columns", str(reading)
    default = type(learner)().get_params()
    if getattr(learner, "map", None) is not None:
        default |= {f"map__{name}": value for name, value in type(learner.map)().get_params().items()}
    for name, value in learner.get_params().items():
        other = " *" * (repr(value) != repr(default[name]))
        yield ("parameters" if name == min(default) else ""), f"{name} = {value!r}{other}"
    yield "", "(* not the default)"
