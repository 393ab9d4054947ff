"""Fitted models, rows, and their scores in Python."""

import pytest
from exported_models import MODELS, to_score, training


@pytest.fixture(scope="session")
def models():
    X, y = training()
    return {name: model.fit(X, y) for name, model in MODELS.items()}


@pytest.fixture(scope="session")
def rows():
    return to_score()


@pytest.fixture(scope="session")
def expected(models, rows):
    return {name: model.score_samples(rows) for name, model in models.items()}
