import pytest
from dataset_server import serving


@pytest.fixture
def site(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serving() as running:
        yield running


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty folder of data sets that is the default one."""
    monkeypatch.setenv("ONKEL_DATA", str(tmp_path / "sets"))
    monkeypatch.delenv("ONKEL_DATA_URL", raising=False)
    return tmp_path / "sets"
