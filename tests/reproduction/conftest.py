import pytest
from small_sets import write_sets


@pytest.fixture(scope="session")
def small_sets(tmp_path_factory):
    """A folder with a small made-up set for every name that a table asks for."""
    return write_sets(tmp_path_factory.mktemp("sets"))


@pytest.fixture
def sets(small_sets, monkeypatch):
    """The same, as the folder in use."""
    from onkel.evaluation.reproduction import streams

    monkeypatch.setenv("ONKEL_DATA", str(small_sets))
    streams._loaded.cache_clear()
    yield small_sets
    streams._loaded.cache_clear()
