"""Models that the tests of model files share, and a folder for Parquet files."""

import tempfile

import pytest
from saved_models import fitted

import treerank


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    """Models by name, with rows and the path they were saved to."""
    folder = tmp_path_factory.mktemp("models")
    made = {}

    def get(name):
        if name not in made:
            model, rows = fitted(name)
            treerank.save(model, folder / name)
            made[name] = model, rows, folder / name
        return made[name]

    return get


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder for the files; and one for what is temporary, which must end up empty."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    data = tmp_path / "data"
    data.mkdir()
    yield data
    assert list(temporary.iterdir()) == []
