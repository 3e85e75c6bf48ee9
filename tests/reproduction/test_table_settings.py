"""The settings of the tables: sound, complete, and what they say of the papers is what the papers print."""

import dataclasses

import pytest

import onkel
from onkel.estimators._parameters import validate
from onkel.evaluation.reproduction import formulas, settings
from onkel.evaluation.reproduction.comparison import OF_OUTCOMES, WORDS
from onkel.evaluation.reproduction.jobs import class_of
from onkel.evaluation.reproduction.published import _rows, published
from onkel.evaluation.reproduction.runner import candidates
from onkel.evaluation.reproduction.streams import Facts

NUMBERS = {
    "skegd": ["2", "3", "4"],
    "skegd-figure": ["2", "3"],
    "pros-n-kons": ["1", "2"],
    "thesis": ["3.2", "3.3", "4.2", "4.4", "4.6", "4.8", "5.2", "5.3", "5.4", "5.5", "5.6"],
    "thesis-figure": ["3.2", "4.3", "4.4", "4.7", "5.1", "5.2"],
}
WANTED = [f"{paper}-{number}" for paper, numbers in NUMBERS.items() for number in numbers]
TABLES = [settings.table(name) for name in settings.names()]
each_table = pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)


def test_all_tables_are_there():
    assert sorted(settings.names()) == sorted(WANTED)


@each_table
def test_all_printed_figures_have_a_cell(table):
    """Every row and column of published.csv is one of the table's, and a point of its sweep."""
    printed = {key[2:4] for key in _rows() if key[:2] == (table.source, table.number)}
    cells = [cell for dataset in table.datasets for cell in table.cells(dataset)]
    assert printed <= {(cell.dataset.name, cell.algorithm) for cell in cells}
    found = [figure for cell in cells for m in OF_OUTCOMES if (figure := published(table, cell, m))]
    assert len(found) == sum(len(rows) for key, rows in _rows().items() if key[:2] == (table.source, table.number))
    assert bool(table.source) == bool(found)


@each_table
def test_every_cell_is_a_sound_learner(table):
    """At the corners of all grids: the class is there, has these parameters, and would accept most of the values."""
    for dataset in table.datasets:
        for cell in table.cells(dataset):
            if cell.quoted:
                continue
            kind = class_of(cell.learner)
            assert kind is not None, cell.learner
            offered = candidates(cell, Facts(1000, 20, (-1, 1), "", 8.0))
            made = [kind(**parameters) for parameters in (offered[0], offered[-1])]
            if dataclasses.is_dataclass(kind):
                for one in made:
                    validate(one, getattr(kind, "_choices", {}))


@each_table
def test_words(table):
    assert table.stated
    assert table.chosen
    assert table.metric in OF_OUTCOMES
    assert {table.metric, *table.also} <= set(WORDS)
    assert table.repeats > 1


def test_exact_rows():
    """The anchors that must come out to the last digit."""
    table = settings.table("thesis-4.8")
    exact = {(name, cell.algorithm) for name in table.datasets for cell in table.cells(name) if cell.exact}
    assert exact == {(name, row) for name in ("housing", "mg") for row in ("Perceptron", "NORMA", "OGD", "NOGD")}


def test_formulas():
    values = {"B": 100, "T": 1000}
    assert formulas.evaluated("= 3 * B // 4", values) == 75
    assert formulas.evaluated({"a": ["= floor(0.3 * (T - B))", 2], "b": "hinge"}, values) == {
        "a": [270, 2],
        "b": "hinge",
    }
    assert formulas.mentions({"sigma": ["= 2 * aligned"]}, "aligned")
    assert not formulas.mentions({"sigma": "aligned"}, "aligned")


@pytest.mark.parametrize(
    "text", ["= B.real", "= __import__('os')", "= B +", "= D", "= (lambda: 1)()", "= B if B else 1"]
)
def test_formulas_are_no_programs(text):
    with pytest.raises(formulas.FormulaError):
        formulas.evaluated(text, {"B": 100})


SMALL = {
    "title": "t", "paper": "p", "protocol": "progressive", "metric": "mistake_rate_pct", "repeats": 2,
    "datasets": {"german": {"data": "load:german"}},
    "algorithms": {"RBP": {"learner": "RBPClassifier", "grid": {"budget": [1, 2], "pool": [{"sigma": 1.0}]}}},
}  # fmt: skip


def test_grid():
    cell = settings.parsed("t", SMALL).cell("german", "RBP", None)
    assert cell.candidates() == [{"budget": 1, "sigma": 1.0}, {"budget": 2, "sigma": 1.0}]


@pytest.mark.parametrize(
    "wrong",
    [
        {"tittle": "t"},
        {"protocol": "guesses"},
        {"datasets": {"german": {"file": "german"}}},
        {"exceptions": [{"datasets": ["w7a"]}]},
    ],
)
def test_wrong_settings_are_named(wrong):
    with pytest.raises(ValueError, match=r"tittle|guesses|file|w7a"):
        settings.parsed("t", {**SMALL, **wrong})


def test_class_of():
    assert class_of("RBPClassifier") is onkel.RBPClassifier
    assert class_of("LLSVM").__name__ == "LLSVM"
    assert class_of("Nobody") is None
