"""Damaged model files: each is refused with ModelFileError, or is a model that can score.

``TREERANK_FUZZ=100000`` sets the number of files.
"""

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import saved_models
from mutations import KINDS, mutate

import treerank
from treerank import ModelFileError

FILES = sorted(
    p
    for p in (Path(__file__).parents[1] / "fixtures" / "model_files").glob("*/*")
    if not p.name.endswith(".scores.json")
)
N_FILES = int(os.environ.get("TREERANK_FUZZ", "800"))
LIMIT = 2**24  # bytes: far more than any of the files needs


def rows_for(model, path):
    """Rows that fit the model: its names may have been damaged too."""
    if path.name in saved_models.ON_NUMBERS:
        rows = pd.DataFrame(saved_models.numbers(20, seed=1)[0])
    else:
        rows = saved_models.new_rows(30)
    if rows.shape[1] != model.n_features_in_:
        return None
    names = getattr(model, "feature_names_in_", None)
    return rows.to_numpy() if names is None else rows.set_axis(names, axis=1)


def try_to_score(model, path):
    """Score with a model that was loaded; the rows may not fit it, the model must not break."""
    rows = rows_for(model, path)
    if rows is None:
        return
    try:
        scores = model.score_samples(rows)
    except ValueError as error:  # a damaged level may want numbers where the rows have text
        if "damaged" in str(error):  # the core has found what loading should have
            raise AssertionError(error) from error
        return
    assert scores.shape == (len(rows),)


@pytest.mark.core
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_damaged_files_are_refused_or_sound(tmp_path):
    rng = np.random.default_rng(int(os.environ.get("TREERANK_FUZZ_SEED", "0")))
    raws = [path.read_bytes() for path in FILES]
    seen = Counter()
    out = tmp_path / "damaged"
    for _ in range(N_FILES):
        which = int(rng.integers(len(FILES)))
        raw, kind = mutate(raws[which], rng)
        out.write_bytes(raw)
        try:
            model = treerank.load(out, max_bytes=LIMIT)
        except ModelFileError:
            seen[kind, "refused"] += 1
            continue
        except BaseException as error:
            error.add_note(f"The file that did it is {out}.")
            raise
        seen[kind, "sound"] += 1
        try:
            try_to_score(model, FILES[which])
        except BaseException as error:
            error.add_note(f"The file that did it is {out}.")
            raise
    print(f"{N_FILES:,} files; {sorted(seen.items())}")
    assert {kind for kind, _ in seen} == {kind.__name__ for kind in KINDS}
    assert {what for _, what in seen} == {"refused", "sound"}
