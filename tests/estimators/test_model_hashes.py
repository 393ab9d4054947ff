"""Models keep their bits when code is moved or made faster."""

import json

import pytest
from model_hashes import HASHES, cases, model_hash

CASES = dict(cases())
EXPECTED = json.loads(HASHES.read_text())


def test_every_case_has_its_hash():
    assert set(CASES) == set(EXPECTED)


@pytest.mark.parametrize("name", CASES)
def test_the_model_is_as_before(name):
    assert model_hash(*CASES[name]) == EXPECTED[name]
