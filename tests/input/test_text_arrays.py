"""Text in NumPy arrays and in lists of rows is a category, as in a data frame."""

import numpy as np
import pandas as pd
import pytest

from treerank import BoostedTreeRank, LeafRank, RankingForest, TreeRank, compare, two_sample_test

N = 300
rng = np.random.default_rng(0)
SIGNAL = rng.normal(size=N)
Y = np.where(SIGNAL + rng.normal(size=N) > 0, "yes", "no")
PURPOSE = np.where(SIGNAL + rng.normal(size=N) > 0, "car", "house")
FRAME = pd.DataFrame(
    {
        "x0": np.where(rng.random(N) < 0.1, np.nan, SIGNAL),
        "x1": np.where(rng.random(N) < 0.1, None, PURPOSE),
        "x2": rng.integers(0, 9, N),
        "x3": rng.random(N) < 0.5,
    }
)
ARRAY = FRAME.to_numpy(dtype=object)

MODELS = [
    TreeRank(), LeafRank(), RankingForest(n_estimators=5), BoostedTreeRank(n_estimators=5),
]  # fmt: skip


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("rows", [ARRAY, ARRAY.tolist()], ids=["objects", "lists"])
def test_text_in_arrays_gives_the_model_of_the_frame(model, rows):
    expected = model.fit(FRAME, Y).score_samples(FRAME)
    fitted = model.fit(rows, Y)
    assert np.array_equal(fitted.score_samples(rows), expected)
    assert np.array_equal(fitted.score_samples(rows[:1]), expected[:1])
    assert fitted.classes_.tolist() == ["no", "yes"]


def test_an_array_of_nothing_but_text_has_a_category_in_every_column():
    text = np.column_stack([PURPOSE, np.where(SIGNAL > 0.3, "high", "low")])
    frame = pd.DataFrame(text, columns=["x0", "x1"])
    expected = TreeRank().fit(frame, Y).score_samples(frame)
    assert np.array_equal(TreeRank().fit(text, Y).score_samples(text), expected)


def test_numbers_that_numpy_has_made_text_are_refused_with_the_remedy():
    text = np.array([["car", 1.5], ["house", 2.0]] * 50)
    assert text.dtype.kind == "U"
    with pytest.raises(ValueError, match=r"'x1' has '1.5' as text.*dtype=object"):
        TreeRank().fit(text, Y[:100])
    model = TreeRank(categorical_features=[0, 1]).fit(text, Y[:100])
    assert len(model.score_samples(text)) == 100


def test_missing_values_that_numpy_has_made_text_are_refused_with_the_remedy():
    text = np.array(["car", "house", np.nan, "car"] * 25)[:, np.newaxis]
    with pytest.raises(ValueError, match=r"'x0' has 'nan' as text.*None or NaN"):
        TreeRank().fit(text, Y[:100])


def test_text_among_the_numbers_of_one_column_is_refused():
    rows = ARRAY.copy()
    rows[7, 0] = "n/a"
    with pytest.raises(ValueError, match=r"'x0' has text in 1 of 300 rows \(first: row 7, 'n/a'"):
        TreeRank().fit(rows, Y)


def test_a_number_column_that_comes_as_text_is_refused():
    model = TreeRank().fit(ARRAY, Y)
    with pytest.raises(ValueError, match="'x0' has text values; expected numbers"):
        model.score_samples(ARRAY.astype(str))


def test_bytes_are_refused_with_the_remedy():
    with pytest.raises(ValueError, match=r"array of bytes.*X.astype\(str\)"):
        TreeRank().fit(PURPOSE.astype("S")[:, np.newaxis], Y)


def test_lists_with_text_can_be_compared_and_tested():
    found = compare({"tree": TreeRank(), "leaf": LeafRank()}, ARRAY.tolist(), Y, cv=2)
    expected = compare({"tree": TreeRank(), "leaf": LeafRank()}, FRAME, Y, cv=2)
    np.testing.assert_array_equal(found.fold_scores, expected.fold_scores)
    halves = ARRAY[:150], ARRAY[150:].tolist()
    frames = FRAME[:150], FRAME[150:]
    assert two_sample_test(*halves).pvalue == two_sample_test(*frames).pvalue
