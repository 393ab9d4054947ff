"""`classes_` is sorted, as scikit-learn expects; `label_order_` has the classes worst first."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from onnx_scores import run_onnx
from samples import graded
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import treerank
from treerank import BoostedTreeRank, GeometricRanker, LeafRank, RankingForest, TreeRank, report
from treerank._input.label_order import label_order_of
from treerank.baselines import LogitBoost
from treerank.metrics import vus_scorer
from treerank.plots._scores import positive_class
from treerank.scoring import Scorecard, evaluate
from treerank.scoring._held_out import held_out_scores

# Worst first; neither order is alphabetical.
NAMES = {2: ["good", "bad"], 3: ["poor", "fair", "good"]}
NUMBERS = {2: [1, 0], 3: [2, 0, 1]}

TREE = TreeRank(max_depth=3, soft_labels=False, shrinkage=1.0, pruning=None)
MODELS: dict[str, Any] = {
    "tree": TREE,
    "forest": RankingForest(n_estimators=10),
    "ranks": RankingForest(n_estimators=10, aggregation="mean_rank"),
    "boosting": BoostedTreeRank(n_estimators=10, n_bags=1, max_depth=2),
    "scorecard": Scorecard(TREE, grades=None, calibration=None),
    "geometric": GeometricRanker(TREE, ranking=None),
}
TWO_CLASSES: dict[str, Any] = {
    "leafrank": LeafRank(max_depth=2),
    "calibrated scorecard": Scorecard(TREE, grades=2, calibration="sigmoid"),
}
CASES = [(name, 2) for name in [*MODELS, *TWO_CLASSES]] + [(name, 3) for name in MODELS]
every_model = pytest.mark.parametrize(("name", "n"), CASES)
# They estimate probabilities that order the rows as the score does, up to rounding.
by_value = pytest.mark.parametrize("name", ["tree", "forest", "boosting"])


def ordered(name: str, order: list[Any]) -> Any:
    """Return the model with a declared order, which LeafRank takes from the labels only."""
    model = clone((MODELS | TWO_CLASSES)[name])
    for parameter in ("label_order", "tree__label_order", "estimator__label_order"):
        if parameter in model.get_params():
            model.set_params(**{parameter: order})
    return model


def labelled(name: str, codes: np.ndarray, order: list[Any]) -> Any:
    if name == "leafrank":
        return pd.Categorical.from_codes(codes, order, ordered=True)
    return np.array(order)[codes]


def fitted_pair(name: str, n: int) -> tuple[Any, Any, np.ndarray, np.ndarray]:
    """Return the model of declared names, that of the class numbers, the rows and the numbers."""
    x, y = graded(250, n)
    plain = clone((MODELS | TWO_CLASSES)[name]).fit(x, y)
    return ordered(name, NAMES[n]).fit(x, labelled(name, y, NAMES[n])), plain, x, y


def sorts(y: np.ndarray, shares: np.ndarray) -> bool:
    """Whether the columns, in sorted order, tend to be larger for the rows of their classes."""
    each = [roc_auc_score(y == label, shares[:, k]) for k, label in enumerate(np.unique(y))]
    return bool(np.mean(each) > 0.65)


@every_model
def test_classes_are_sorted_whatever_the_label_order(name: str, n: int) -> None:
    model, plain, x, _ = fitted_pair(name, n)
    assert model.classes_.tolist() == sorted(NAMES[n])
    assert model.label_order_.tolist() == NAMES[n]
    assert plain.classes_.tolist() == plain.label_order_.tolist() == list(range(n))
    assert np.array_equal(model.score_samples(x), plain.score_samples(x))
    assert np.array_equal(model.predict(x), np.array(NAMES[n])[plain.predict(x)])
    sorted_columns = plain.predict_proba(x)[:, np.argsort(NAMES[n])]
    assert np.array_equal(model.predict_proba(x), sorted_columns)


@every_model
def test_files_pickles_and_clones_keep_both_orders(name: str, n: int, tmp_path: Any) -> None:
    model, _, x, _ = fitted_pair(name, n)
    treerank.save(model, tmp_path / "model")
    for again in (treerank.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert again.classes_.tolist() == sorted(NAMES[n])
        assert again.label_order_.tolist() == NAMES[n]
        assert np.array_equal(again.predict_proba(x), model.predict_proba(x))
    assert not hasattr(clone(model), "classes_")
    assert not hasattr(clone(model), "label_order_")


@pytest.mark.parametrize("name", [name for name, n in CASES if n == 2 and name != "geometric"])
def test_decision_function_is_that_of_the_second_class_or_does_not_exist(name: str) -> None:
    model, plain, x, _ = fitted_pair(name, 2)
    assert np.array_equal(plain.decision_function(x), plain.score_samples(x))
    assert not hasattr(model, "decision_function")
    with pytest.raises(AttributeError) as error:
        model.decision_function(x)
    assert "ranks 'bad' on top; use score_samples" in str(error.value.__cause__)


@pytest.mark.parametrize("interest", [None, "good", "bad"])
def test_a_geometric_ranking_decides_for_the_second_class_whichever_is_of_interest(
    interest: str | None,
) -> None:
    x, y = graded(250, 2)
    tree = clone(TREE).set_params(label_order=NAMES[2])
    model = GeometricRanker(tree, class_of_interest=interest).fit(x, np.array(NAMES[2])[y])
    assert model.label_order_.tolist()[-1] == (interest or "bad")
    assert np.array_equal(model.decision_function(x) > 0, model.predict(x) == "good")
    found = evaluate(model, x, np.array(NAMES[2])[y]).value
    assert found == pytest.approx(model.score(x, np.array(NAMES[2])[y]))
    assert found > 0.7


@by_value
def test_scikit_learn_metrics_agree_with_score_for_two_classes(name: str) -> None:
    x, y = graded(250, 2)
    y = np.array(NAMES[2])[y]
    model = ordered(name, NAMES[2])
    expected = cross_val_score(model, x, y, cv=3)
    assert cross_val_score(model, x, y, cv=3, scoring="roc_auc") == pytest.approx(expected)
    model.fit(x, y)
    positive = model.predict_proba(x)[:, 0]
    assert get_scorer("neg_log_loss")(model, x, y) == pytest.approx(-log_loss(y == "bad", positive))


@by_value
def test_scikit_learn_metrics_agree_for_three_classes(name: str) -> None:
    model, plain, x, y = fitted_pair(name, 3)
    names = np.array(NAMES[3])[y]
    expected = roc_auc_score(y, plain.predict_proba(x), multi_class="ovr")
    assert get_scorer("roc_auc_ovr")(model, x, names) == pytest.approx(expected)
    assert expected > 0.7
    expected = log_loss(y, plain.predict_proba(x))
    assert get_scorer("neg_log_loss")(model, x, names) == pytest.approx(-expected)
    assert vus_scorer(model, x, names) == pytest.approx(model.score(x, names))


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("name", ["tree", "forest", "boosting", "geometric"])
def test_tools_of_scikit_learn_take_any_label_order(name: str, n: int) -> None:
    x, y = graded(250, n)
    y = np.array(NUMBERS[n])[y]
    model = ordered(name, NUMBERS[n])
    folds = cross_val_predict(model, x, y, cv=3, method="predict_proba")
    own = clone(model).fit(x, y)
    voted = VotingClassifier([("one", model), ("same", model)], voting="soft").fit(x, y)
    np.testing.assert_allclose(voted.predict_proba(x), own.predict_proba(x))
    assert sorts(y, folds)
    for tool in (
        CalibratedClassifierCV(model, cv=3),
        StackingClassifier([("one", model)], LogisticRegression(), cv=3),
    ):
        tool.fit(x, y)
        assert tool.classes_.tolist() == list(range(n))
        assert sorts(y, tool.predict_proba(x))


@pytest.mark.parametrize("n", [2, 3])
def test_models_around_a_model_rank_in_its_order(n: int) -> None:
    x, y = graded(250, n)
    y = np.array(NAMES[n])[y]
    model = ordered("forest", NAMES[n])
    search = GridSearchCV(model, {"n_estimators": [10]}, cv=2)
    for around in (make_pipeline(FunctionTransformer(), model), search):
        around.fit(x, y)
        assert around.classes_.tolist() == sorted(NAMES[n])
        assert label_order_of(around).tolist() == NAMES[n]
        assert evaluate(around, x, y).value == pytest.approx(around.score(x, y))
        assert vus_scorer(around, x, y) == pytest.approx(around.score(x, y))
    assert around.score(x, y) > 0.6


def test_models_around_a_model_are_fitted_again_in_its_order() -> None:
    x, y = graded(250, 2)
    named = pd.Series(pd.Categorical.from_codes(y, NAMES[2], ordered=True))
    model = make_pipeline(FunctionTransformer(), clone(TREE)).fit(x, named)
    found = held_out_scores(model, x, named.to_numpy(dtype=object), None)
    assert roc_auc_score(y, found.score) > 0.7
    assert found.probability is not None
    assert roc_auc_score(y, found.probability) > 0.7


def test_a_calibrated_model_ranks_and_predicts_in_the_order_of_the_model_inside() -> None:
    x, y = graded(250, 2)
    y = np.array(NAMES[2])[y]
    inside = ordered("forest", NAMES[2]).fit(x, y)
    model = CalibratedClassifierCV(FrozenEstimator(inside)).fit(x, y)
    found = evaluate(model, x, y)
    assert found.classes == NAMES[2]
    assert found.value == pytest.approx(inside.score(x, y), abs=0.01)
    assert found.brier is not None
    assert found.brier < 0.2
    assert positive_class(model, y) == "bad"
    card = Scorecard(model, grades=None, calibration=None, cv="prefit").fit(x, y)
    assert card.classes_.tolist() == ["bad", "good"]
    assert np.array_equal(card.predict_proba(x), model.predict_proba(x))


def test_encoded_labels_inside_a_model_do_not_change_its_order() -> None:
    x, y = graded(250, 2)
    voted = VotingClassifier([("one", ordered("tree", [1, 0]))], voting="soft")
    voted.fit(x, np.array(NAMES[2])[y])
    assert label_order_of(voted).tolist() == voted.classes_.tolist() == ["bad", "good"]
    baseline = LogitBoost(5).fit(x, np.array(NAMES[2])[y])
    assert label_order_of(baseline).tolist() == baseline.classes_.tolist() == ["bad", "good"]


def test_a_report_calls_the_best_class_the_event() -> None:
    x, y = graded(250, 2)
    model = make_pipeline(FunctionTransformer(), ordered("tree", NAMES[2]))
    y = np.array(NAMES[2])[y]
    page = report(model.fit(x, y), x, y, out=None)
    assert f"{model.score(x, y):.3f}" in page
    assert "bad" in page


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("name", ["tree", "forest", "boosting"])
def test_onnx_has_the_columns_of_predict_proba(name: str, n: int) -> None:
    model, _, x, _ = fitted_pair(name, n)
    [found] = run_onnx(model, x, ["probability"])
    np.testing.assert_allclose(found, model.predict_proba(x), rtol=0, atol=1e-12)


def test_what_belongs_to_the_partition_stays_worst_first() -> None:
    model, plain, _, _ = fitted_pair("tree", 3)
    partition = model.partition_
    assert partition.classes.tolist() == NAMES[3]
    assert np.array_equal(partition.counts, plain.partition_.counts)
    assert np.array_equal(partition.posterior(), plain.partition_.posterior())
    assert partition.vus() == plain.partition_.vus()


@pytest.mark.parametrize("kind", [StackingClassifier, VotingClassifier])
def test_labels_that_another_model_has_numbered_are_an_error_with_the_remedy(kind: Any) -> None:
    x, y = graded(60, 2)
    turned = np.array(NAMES[2])[y]
    model = clone(TREE).set_params(label_order=NAMES[2])
    with pytest.raises(ValueError, match="number the labels yourself, worst first") as caught:
        kind([("tree", model)]).fit(x, turned)
    assert "StackingClassifier" in str(caught.value)
    with pytest.raises(ValueError, match=r"expected every class once, worst first\.$"):
        model.fit(x, np.where(y, "bad", "fine"))
