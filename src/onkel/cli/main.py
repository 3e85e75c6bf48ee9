"""The group of commands, each of which is imported when it is called, and the one place where errors become exits."""

import importlib
import sys
from typing import Any, NamedTuple, NoReturn

import click


class Command(NamedTuple):
    about: str  # as in its own help, here so that `onkel --help` imports none of them
    attribute: str = ""  # of the module onkel.cli.NAME, if not NAME


COMMANDS = {
    "race": Command("Let learners race side by side, and write a report."),
    "learn": Command("Learn from SOURCE, row by row, in one pass."),
    "predict": Command("Predict the rows of SOURCE with MODEL."),
    "inspect": Command("Show what is in MODEL."),
    "list": Command("List the learners: names, tasks, papers.", "listing"),
    "data": Command("List, describe and fetch data sets."),
    "reproduce": Command("Run tables of the papers again: our figures beside the published ones."),
}
EXPECTED = (ValueError, OSError, ImportError, MemoryError)  # of data, models and machines; all else is a flaw of onkel


class Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f".{cmd_name}", __package__)
        command: click.Command = getattr(module, COMMANDS[cmd_name].attribute or cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.about) for name, command in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            click.echo("onkel: stopped", err=True)
            sys.exit(130)
        except BrokenPipeError:  # the reader of our output has seen enough: `onkel list | head`
            _give_up_output()
            ctx.exit(0)
        except Exception as error:
            if ctx.params["debug"]:
                raise
            _fail(error)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="onkel")
@click.option("--debug", is_flag=True, help="Show the whole traceback of an error.")
def main(debug: bool) -> None:
    """Online kernel learning: non-linear models from streams, in bounded memory.

    Exit codes: 0 good, 1 an error of data or model, 2 of usage, 130 stopped by Ctrl-C.
    """


def _fail(error: Exception) -> NoReturn:
    text = " ".join(str(error).split()) or type(error).__name__
    if not isinstance(error, EXPECTED):
        text = f"{type(error).__name__}: {text} (a flaw of onkel's: please report what `onkel --debug ...` shows)"
    click.echo(f"onkel: {text}", err=True)
    sys.exit(1)


def _give_up_output() -> None:
    """Let nothing be written to a closed pipe when Python ends."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
