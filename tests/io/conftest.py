"""Models that the tests of model files share."""

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
