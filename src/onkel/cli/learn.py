"""`onkel learn`."""

import os
from typing import Any

import click
import numpy as np

from ..estimators._parameters import GAMMAS, KERNELS, PARAMETERS
from ..io.model_files import tidy
from .learners import Task
from .options import Sections, Source, stream_options
from .progress import reporter
from .run import Plan, Run

COMMON = {  # parameters that are options, too; those without words have their own
    "kernel": f"One of {', '.join(KERNELS)}.",
    "gamma": f"Kernel coefficient: a number, or {', '.join(GAMMAS)}.",
    "sigma": "Kernel width, in place of gamma. [default: half the median distance between the first 500 rows]",
    "budget": "",
    "n_components": "",
    "loss": "Such as hinge, logistic, squared; a wrong name is answered with those that the learner has.",
    "eta": "",
    "C": "",
    "reg": "",
}


def common_options(command: Any) -> Any:
    for name in reversed(list(COMMON)):
        words, option = COMMON[name] or PARAMETERS[name][0], f"--{name.replace('_', '-')}"
        command = click.option(option, name, metavar="VALUE", help=words)(command)
    return command


@click.command(cls=Sections)
@click.argument("source")
@click.option("-a", "--algorithm", metavar="NAME", help="A learner from `onkel list`. [default: bpa]")
@click.option("-o", "--output", metavar="FILE", help="Where the model is kept; - for standard output.")
@click.option("--test", metavar="SOURCE", help="Rows kept apart: the error of the final model on them is told.")
@click.option(
    "--task",
    type=click.Choice(["classification", "regression"]),
    help="By default the target says: few whole numbers, or words, are classes.",
)
@click.option(
    "--classes",
    metavar="LABELS",
    help="All labels that may come, such as -1,1. [default: a first look at the "
    "source finds them; of standard input, its first 500 rows]",
)
@click.option(
    "-p", "--param", metavar="NAME=VALUE", multiple=True, help="Any parameter of the learner. May be repeated."
)
@common_options
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of everything random.")
@click.option("--rows", type=click.IntRange(1), metavar="N", help="Stop after so many rows.")
@click.option(
    "--checkpoint",
    type=click.IntRange(1),
    metavar="ROWS",
    help="Keep the model, with the position in the source, every so many rows.",
)
@click.option("--resume", is_flag=True, help="Go on from the model in FILE, where it stopped; if there is none, begin.")
@stream_options
@click.option("--json", "as_json", is_flag=True, help="Progress and result as JSON, an object per line.")
@click.option("-q", "--quiet", is_flag=True, help="No progress; with --json, the result alone.")
def learn(
    source: str, algorithm: str | None, output: str | None, test: str | None, task: Task | None, classes: str | None,
    param: tuple[str, ...], seed: int, rows: int | None, checkpoint: int | None, resume: bool, as_json: bool,
    quiet: bool, **options: Any,
) -> None:  # fmt: skip
    """Learn from SOURCE, row by row, in one pass.

    SOURCE is a file, - for standard input, or the name of a data set (`onkel data`). Every row is predicted before
    it is learnt; the running error comes from these predictions.

    \b
    onkel learn rows.svm -a projectron --budget 200 -o model.onkel
    onkel learn train.csv --target price --task regression --test test.csv
    zcat rows.svm.gz | onkel learn - --classes -1,1 -o model.onkel
    """
    if (checkpoint or resume) and output in (None, "-"):
        raise click.UsageError("--checkpoint and --resume need a file to keep the model in: -o FILE.")
    given = _parameters(param, {name: options.pop(name) for name in COMMON})
    origin, show = Source(source, options), reporter(quiet, as_json)
    origin.batch_rows = min(origin.batch_rows, rows or origin.batch_rows, checkpoint or origin.batch_rows)
    plan = Plan(output, checkpoint, rows, Source(test, options) if test else None)
    if output not in (None, "-"):
        _check_writable(str(output))
        tidy(str(output))
    named = None if classes is None else _classes(classes)
    if resume and os.path.exists(str(output)):
        run = Run.resumed(origin, plan, show)
        run.compare(algorithm, task, named, given)
    else:
        run = Run.new(origin, plan, show, algorithm or "bpa", task, named, given | {"random_state": seed})
    run.learn()
    run.finish(as_json, quiet and not as_json)


def _parameters(pairs: tuple[str, ...], common: dict[str, str | None]) -> dict[str, Any]:
    given = {name: _value(text) for name, text in common.items() if text is not None}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not (name and equals and text):
            raise click.BadParameter(f"{pair!r} is not NAME=VALUE.", param_hint="--param")
        if name in ("n_passes", "shuffle"):
            raise click.BadParameter(
                f"a stream is learnt in one pass, in its order: {name} has no meaning.", param_hint="--param"
            )
        given[name] = _value(text)
    return given


def _value(text: str) -> Any:
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _classes(text: str) -> Any:
    """Labels as integers, if they all are."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    try:
        classes = np.unique([int(name) for name in names])
    except ValueError:
        classes = np.array(sorted(set(names)), dtype=object)
    if len(classes) < 2:
        raise click.BadParameter("name two labels or more, such as -1,1.", param_hint="--classes")
    return classes


def _check_writable(path: str) -> None:
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        raise OSError(f"{path} cannot be written: {folder} is no folder, or not yours to write in")
