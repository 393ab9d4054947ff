"""Models keep their bits when code is moved or made faster."""

import json
import os
import subprocess
import sys

import pytest
from model_hashes import HASHES, cases, model_hash

CASES = dict(cases())
EXPECTED = json.loads(HASHES.read_text())


def test_every_case_has_its_hash():
    assert set(CASES) == set(EXPECTED)


@pytest.mark.parametrize("name", CASES)
def test_the_model_is_as_before(name):
    assert model_hash(*CASES[name]) == EXPECTED[name]


@pytest.mark.parametrize("kernels", ["Prescott", "Haswell", "SkylakeX"])
def test_trees_and_forests_do_not_depend_on_the_processor_that_blas_is_written_for(kernels):
    """OpenBLAS reads the kernels to use from the environment when NumPy is imported."""
    names = [name for name in CASES if name.startswith(("forest, 4", "exact forest, 4", "soft"))]
    program = (
        "import json, sys; from model_hashes import cases, model_hash; found = dict(cases());"
        "print(json.dumps({name: model_hash(*found[name]) for name in sys.argv[1:]}))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program, *names],
        env={**os.environ, "OPENBLAS_CORETYPE": kernels, "PYTHONPATH": str(HASHES.parents[1])},
        capture_output=True, check=True, text=True,
    )  # fmt: skip
    assert json.loads(printed.stdout) == {name: EXPECTED[name] for name in names}
