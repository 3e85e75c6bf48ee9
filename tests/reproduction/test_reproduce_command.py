"""`onkel reproduce` as people type it."""

import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from onkel.cli import main


def reproduce(*words):
    result = CliRunner().invoke(main, ["reproduce", *map(str, words)])
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def base(tmp_path):
    return ["--database", tmp_path / "r.sqlite", "--rows", 30, "--repeats", 2, "--jobs", 1]


def test_list():
    code, text, _ = reproduce("--list")
    assert code == 0
    assert "thesis-4.4 " in text
    assert len(text.splitlines()) == 24


def test_table(sets, base, tmp_path):
    files = ["--csv", tmp_path / "t.csv", "--html", tmp_path / "t.html", "--markdown", tmp_path / "t.md"]
    code, text, _ = reproduce("thesis-4.4", "--datasets", "German", "--algorithms", "RBP,forgetron", *base, *files)
    assert code == 0
    assert "37.5 ± 1.1" in text
    assert all(path.stat().st_size > 300 for path in files[1::2])
    again = reproduce("thesis-4.4", "--datasets", "german", "--algorithms", "RBP,Forgetron", *base, "--stored")
    assert (again[0], again[1]) == (0, text)


def test_several_tables(sets, base):
    code, text, _ = reproduce("thesis-4.4", "thesis-4.8", "--datasets", "german,housing", "--algorithms", "RBP", *base)
    assert code == 0
    assert "33.3" not in text  # spambase's
    assert text.index("thesis-4.4") < text.index("37.5 ± 1.1") < text.index("thesis-4.8") < text.index("0.05837")


def test_missing_data(tmp_path, base, monkeypatch):
    """A line says how to get them; this is no failure."""
    monkeypatch.setenv("ONKEL_DATA", str(tmp_path / "empty"))
    code, text, _ = reproduce("thesis-4.8", "--datasets", "cadata", *base)
    words = " ".join(text.split())
    assert code == 0
    assert "left out: cadata:" in words
    assert "libsvmtools/datasets/regression/cadata" in words
    assert "--download" in words


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((), 2, "--list"),
        (("thesis-4.5",), 2, "did you mean thesis-"),
        (("thesis-4.4", "--datasets", "germany"), 2, "german"),
        (("thesis-4.4", "--algorithms", "perceptor"), 2, "Perceptron"),
        (("thesis-4.4", "--datasets", ","), 2, "name one"),
        (("thesis-4.4", "--repeats", "0"), 2, "0"),
        (("thesis-4.4", "--stored", "--database", "none.sqlite"), 1, "no results database"),
    ],
)
def test_errors(words, code, said, tmp_path, monkeypatch):
    """One line that says what is wrong, no traceback, nothing written."""
    monkeypatch.chdir(tmp_path)
    found, _, error = reproduce(*words)
    assert found == code
    assert said in error
    assert "Traceback" not in error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_as_a_process(sets, tmp_path):
    command = [sys.executable, "-m", "onkel", "reproduce", "thesis-4.4", "--datasets", "german", "--algorithms", "RBP"]
    command += ["--rows", "30", "--repeats", "2", "--database", str(tmp_path / "r.sqlite")]
    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "RBP" in done.stdout
    assert done.stderr.strip() == ""


def test_page_is_written_by_the_command(sets, tmp_path):
    """docs/reproduction.md has the tables, words and form that the command writes today, whatever its figures."""
    from pages import ROOT

    made = tmp_path / "made.md"
    code, _, _ = reproduce("all", "--stored", "--database", empty(tmp_path), "--markdown", made)
    assert code == 0
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    said = made.read_text(encoding="utf-8")
    assert said[: said.index("\n| table |")] == page[: page.index("\n| table |")]
    assert headings(said) == headings(page)


def empty(folder):
    from onkel.evaluation.reproduction import Results

    with Results(folder / "empty.sqlite") as results:
        return results.path


def headings(text):
    return [line for line in text.splitlines() if line.startswith("#")]
