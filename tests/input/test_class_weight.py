"""Class weights multiply the weights of the rows, as in scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.class_weight import compute_sample_weight

import treerank
from treerank import BoostedTreeRank, LeafRank, RankingForest, TreeRank

MODELS = [
    TreeRank(random_state=0),
    LeafRank(max_depth=2),
    RankingForest(n_estimators=5, random_state=0),
    BoostedTreeRank(n_estimators=5, random_state=0),
]


def sample(n=300, text=False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)).round(2)
    y = (X[:, 0] + rng.normal(size=n) > 1).astype(int)
    return X, np.where(y == 1, "yes", "no") if text else y


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("class_weight", ["balanced", {0: 1, 1: 5}, {1: 3}])
@pytest.mark.parametrize("weighted", [False, True])
def test_they_are_weights_of_the_rows(model, class_weight, weighted):
    X, y = sample()
    own = np.random.default_rng(1).integers(1, 4, len(y)).astype(float) if weighted else None
    factor = compute_sample_weight(
        class_weight if class_weight == "balanced" else {0: 1, 1: 1} | class_weight, y)  # fmt: skip
    given = model.set_params(class_weight=class_weight).fit(X, y, own)
    found = given.score_samples(X), given.predict_proba(X)
    plain = model.set_params(class_weight=None).fit(X, y, factor * (1 if own is None else own))
    np.testing.assert_array_equal(found[0], plain.score_samples(X))
    np.testing.assert_array_equal(found[1], plain.predict_proba(X))
    unweighted = model.fit(X, y, own)
    assert not np.array_equal(found[1], unweighted.predict_proba(X))


def test_labels_may_be_text_and_a_model_file_keeps_them(tmp_path):
    X, y = sample(text=True)
    model = TreeRank(class_weight={"yes": 4}).fit(X, y)
    treerank.save(model, tmp_path / "model")
    loaded = treerank.load(tmp_path / "model")
    assert loaded.class_weight == {"yes": 4}
    assert model.partition_.counts[:, 1].sum() == 4 * np.sum(y == "yes")


def test_a_class_of_weight_zero_has_no_rows():
    X, y = sample()
    with pytest.raises(ValueError, match="no row of positive weight with class"):
        TreeRank(class_weight={0: 0}).fit(X, y)


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ("even", "Got class_weight='even'; expected None, 'balanced' or a dict"),
        ({2: 1}, "Got class_weight of the label 2; expected labels of y: 0, 1"),
        ({0: -1}, "expected finite weights that are not negative"),
        ({0: np.nan}, "expected finite weights"),
        (3, "Got class_weight=3"),
    ],
)
def test_others_are_refused(class_weight, message):
    X, y = sample()
    with pytest.raises(ValueError, match=message):
        TreeRank(class_weight=class_weight).fit(X, y)


def test_rows_that_are_read_in_blocks_have_a_column_instead(tmp_path):
    X, y = sample()
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pd.DataFrame(X, columns=list("abc")).assign(y=y).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="Got class_weight='balanced' with Parquet files"):
        TreeRank(class_weight="balanced").fit_parquet(tmp_path / "t.parquet", "y")
