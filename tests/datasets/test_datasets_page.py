"""The page about data sets: its examples run, without the network."""

import pathlib
import re

from onkel import datasets

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "datasets.md"


def test_examples_run(home, monkeypatch, capsys):
    monkeypatch.setenv("ONKEL_DATA_URL", "http://127.0.0.1:9/none")
    names = {}
    for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S):
        exec(compile(block, PAGE, "exec"), names)
    printed = capsys.readouterr().out
    assert "(2, 24) [ 1 -1]" in printed
    shares = [float(share) for share in re.findall(r"([\d.]+)% mistakes", printed)]
    assert len(shares) == 2
    assert max(shares) < 20


def test_every_public_name_is_on_the_page():
    text = PAGE.read_text(encoding="utf-8")
    assert [
        name for name in datasets.__all__ if name not in text and name not in ("Description", "Task", "fetch")
    ] == []
