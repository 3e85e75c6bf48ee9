"""The written pages: their code runs, their tables are complete, their links lead somewhere."""

import os
import re
import subprocess
import sys

import pytest
from pages import PAGES, ROOT, anchors, blocks, commands, links, programs

import onkel

README = ROOT / "README.md"
WITH_CODE = [page for page in PAGES if blocks(page, "python")]
ESTIMATORS = [name for name in onkel.__all__ if name.endswith(("Classifier", "Regressor"))]
NAME = re.compile(r"`(\w+(?:Classifier|Regressor))`")
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
each_table = pytest.mark.parametrize("page", ["README.md", "docs/algorithms.md"])


def run(program, folder):
    """What a program prints; its warnings are errors."""
    command = [sys.executable, "-W", "error", str(program)]
    result = subprocess.run(command, cwd=folder, env=os.environ, capture_output=True, text=True, timeout=900)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.name)
def test_code_runs(page, tmp_path):
    for name, text in programs(page).items():
        (tmp_path / name).write_text(text)
    assert run(tmp_path / "main.py", tmp_path)


def test_pages_with_code():
    assert {page.name for page in WITH_CODE} >= {"README.md", "own_kernel.md"}


@pytest.mark.slow
def test_quick_start(tmp_path):
    """The README shows the end of what the race prints, but for the numbers, and the picture's program runs."""

    command = [sys.executable, "-W", "error", "-m", "onkel", "race"]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900)
    assert printed.returncode == 0, printed.stderr
    assert shape(printed.stdout).endswith(shape(blocks(README, "text")[0]))
    assert (tmp_path / "onkel-race.html").stat().st_size > 50_000


@pytest.mark.slow
def test_picture(tmp_path):
    pytest.importorskip("matplotlib")
    assert "FOGD" in run(ROOT / "examples" / "moons.py", tmp_path)
    assert (tmp_path / "moons.png").read_bytes()[:4] == b"\x89PNG"


def shape(text):
    """Text but for its numbers, spaces and lines."""
    return re.sub(r"[\d.,]+", "0", re.sub(r"─+", "─", re.sub(r"\s+", " ", text))).strip()


@pytest.mark.slow
def test_commands_run(tmp_path):
    """The commands of the page, in turn, print what it shows."""
    (tmp_path / "onkel").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m onkel "$@"\n')
    (tmp_path / "onkel").chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "ONKEL_DATA": str(tmp_path)}
    page = commands(ROOT / "docs" / "command_line.md")
    assert len(page) > 10
    for command, output in page:
        result = subprocess.run(["sh", "-c", command], cwd=tmp_path, env=env, capture_output=True, text=True)
        assert result.returncode == 0, (command, result.stderr)
        assert not output or shape(result.stdout) == shape(output), command


def test_first_screen():
    """Two commands, there to be run, and CI runs the one for the tests."""
    shown, ci = blocks(README, "sh")[0], (ROOT / ".ci" / "run").read_text()
    commands = [line.split("#")[0].strip() for line in shown.splitlines()]
    assert commands == ["scripts/demo", "scripts/test"]
    assert all(os.access(ROOT / command, os.X_OK) for command in commands)
    assert README.read_text()[: README.read_text().index(shown)].count("\n") < 20
    assert f"./{commands[1]}\n" in ci
    assert '/onkel" race' in (ROOT / commands[0]).read_text()


def tasks(names):
    """As the tables have it: 2 two classes, n many, r regression."""
    kinds = [getattr(onkel, name) for name in names]
    classifiers = [kind for kind in kinds if kind.__name__.endswith("Classifier")]
    many = any(kind._multiclass for kind in classifiers)
    return " ".join(["2"] * bool(classifiers) + ["n"] * many + ["r"] * (len(kinds) > len(classifiers)))


@each_table
def test_tables_are_complete(page):
    rows = [line.split("|")[1:-1] for line in (ROOT / page).read_text().splitlines() if line.startswith("|")]
    named = {tuple(NAME.findall(first)): second.strip() for first, second, *_ in rows if NAME.search(first)}
    assert sorted(name for names in named for name in names) == ESTIMATORS
    assert named == {names: tasks(names) for names in named}


@each_page
def test_links(page):
    for target in links(page):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


def test_version():
    assert f"\nversion: {onkel.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert onkel.__version__ in (ROOT / "CHANGELOG.md").read_text()
