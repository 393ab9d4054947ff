"""Files follow the published schema, and those of released versions still load."""

import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
import saved_models
from saved_models import NAMES, ON_NUMBERS, new_rows

import treerank
from treerank import baselines

FIXTURES = Path(__file__).parents[1] / "fixtures" / "model_files"


def test_files_follow_the_published_schema(saved):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(
        (Path(treerank.__file__).parent / "_io" / "model_file" / "model-1.schema.json").read_text()
    )
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    for name in NAMES:
        path = saved(name)[2]
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                document = json.loads(archive.read("model.json"))
        else:
            document = json.loads(path.read_bytes())
        errors = [f"{e.json_path}: {e.message[:100]}" for e in validator.iter_errors(document)]
        assert errors == [], name
        document["fitted"].pop("features")
        assert not validator.is_valid(document)


FILES = sorted(p for p in FIXTURES.glob("*/*") if not p.name.endswith(".scores.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_files_of_released_versions_give_the_scores_of_their_time(path):
    model = treerank.load(path)
    rows = saved_models.numbers(300, seed=1)[0] if path.name in ON_NUMBERS else new_rows()
    if path.name == "geometric_j48":
        rows = saved_models.known(rows)[0]
    recorded = json.loads(path.with_name(f"{path.name}.scores.json").read_text())
    scores = model.score_samples(rows)[:: recorded["every"]]
    if path.name in {"svm", "rls", "kernel_logistic", "ranknet", "linear_svm"}:
        # exp, tanh and matrix products round as the machine's libraries do.
        np.testing.assert_allclose(scores, recorded["scores"], rtol=1e-9, atol=1e-12)
    else:
        assert scores.tolist() == recorded["scores"]


def test_every_kind_of_model_has_a_fixture():
    assert {p.name for p in FILES} == set(NAMES)
    assert set(treerank._io.model_file._files.ESTIMATORS) == {
        "TreeRank", "LeafRank", "RankingForest", "BoostedTreeRank", "GeometricRanker",
        *baselines.__all__,
    }  # fmt: skip
    assert not re.search(r"pickle", "".join(p.name for p in FILES))
