"""The runner of the papers' tables: what it measures, keeps, leaves out and prints."""

from dataclasses import replace
from functools import partial
from statistics import mean

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.dummy import DummyClassifier

from benchmarks import common
from benchmarks.papers import ordered, page, studies, tables
from benchmarks.papers.models import rivals, svm_forest, svm_tree, variants
from benchmarks.papers.printed import table
from benchmarks.papers.ranks import average_ranks, cliques, critical_difference
from benchmarks.papers.studies import GAUSSIANS, SLOW, UCI, Study, on_gaussians, run_all
from benchmarks.papers.verdicts import best_reached, rivals_reached, variants_reached
from treerank.datasets import BenchmarkUnavailableError


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(common, "CACHE", tmp_path / "cache")
    return tmp_path / "cache"


def counting_study(calls, stop_at=None, strategy="prior"):
    """Two sets, two models; every measurement is written down."""

    def evaluate(name, make, repeats):
        calls.append((name, repeats))
        if len(calls) == stop_at:
            raise KeyboardInterrupt
        return {"auc": [0.5] * repeats}

    models = {"one": partial(DummyClassifier, strategy=strategy), "two ()": DummyClassifier}
    sets = {name: partial(evaluate, name) for name in ("first", "second")}
    return Study("count", sets, models, (2,), {"two ()": (1,)})


def measured(study, show=print):
    """Results of one study, measured in this process."""
    with parallel_config(backend="sequential"):
        return run_all({"count": study}, show)["count"]


def test_a_run_that_is_broken_off_goes_on_where_it_stopped(cache):
    calls = []
    with pytest.raises(KeyboardInterrupt):
        measured(counting_study(calls, stop_at=3))
    found = measured(counting_study(calls))
    assert calls == [("first", 2), ("first", 1), ("second", 2), ("second", 2), ("second", 1)]
    assert found["second"] == {"one": {"auc": [0.5, 0.5]}, "two ()": {"auc": [0.5]}}
    assert measured(counting_study(calls)) == found
    assert len(calls) == 5
    assert {path.suffix for path in cache.iterdir()} == {".json"}


def test_another_parameter_of_a_model_is_measured_anew(cache):
    calls = []
    measured(counting_study(calls))
    measured(counting_study(calls, strategy="stratified"))
    assert len(calls) == 4 + 2


def test_a_model_made_again_keeps_its_key():
    first, second = ([study(quick=False) for study in (studies.uci, studies.gaussians,
                      studies.figure_14, ordered.real)] for _ in range(2))  # fmt: skip
    for one, two in zip(first, second, strict=True):
        assert [one._key("a", m, (1,)) for m in one.models] == [
            two._key("a", m, (1,)) for m in two.models
        ]


def test_a_set_that_cannot_be_had_is_left_out_with_a_line_that_says_so(cache):
    study = counting_study([])

    def evaluate(make, repeats):
        raise BenchmarkUnavailableError("No file, no network.")

    lines = []
    found = measured(replace(study, sets={"lost": evaluate, **study.sets}), lines.append)
    assert list(found) == ["first", "second"]
    assert "lost: left out. No file, no network.\n" in lines


def test_skipped_models_are_not_measured(cache):
    found = measured(replace(counting_study([]), skipped={("first", "one")}))
    assert [list(models) for models in found.values()] == [["two ()"], ["one", "two ()"]]


def test_every_model_of_a_study_has_its_printed_value():
    for name in UCI:
        for measure, numbers in {"auc": (5, 10), "hit_rate_10": (6, 11)}.items():
            assert all((m, name, measure) in table(numbers[0]) for m in variants(real=True))
            assert all((m, name, measure) in table(numbers[1]) for m in rivals(real=True))
    for name in GAUSSIANS:
        for measure, numbers in {
            "auc": (2, 7),
            "hit_rate_20": (3, 8),
            "instability": (4, 9),
        }.items():
            assert all((m, name, measure) in table(numbers[0]) for m in variants(real=False))
            assert all((m, name, measure) in table(numbers[1]) for m in rivals(real=False))
    real = ordered.real(quick=False)
    for number, study in zip((2, 3, 5), [*ordered.simulated(quick=False), real], strict=True):
        for name in study.sets:
            for model in [ordered.TOURNAMENT, *ordered.rivals()]:
                skipped = (name, model) in study.skipped
                assert ((model, name, "vus") in table(number, "004")) != skipped


def made_up(study, value=0.9):
    """Results of the right form without any work; the models take turns in being best."""
    names = ["vus"] if study.name == "ordered" else [*tables.MEASURES]
    if study.name != "gaussians" and "instability" in names:
        names.remove("instability")

    def measures(place):
        return {name: [value - place * 1e-6, value + 0.02] for name in names}

    return {
        name: {m: measures((j + i) % 7) for j, m in enumerate(study.models)}
        for i, name in enumerate(study.sets)
    }


def made_up_all(parts, show, is_there=lambda name: True):
    """The same for all studies; those that are not there have no set."""
    return {key: made_up(study) if is_there(study.name) else {} for key, study in parts.items()}


@pytest.mark.parametrize("quick", [True, False])
def test_the_page_has_every_table(quick, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(studies, "run_all", made_up_all)
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    monkeypatch.setattr(tables, "PAGES", tmp_path)
    published = []
    monkeypatch.setattr(page, "publish", lambda *parts: published.append(parts))
    page.run(quick)
    shown = capsys.readouterr().out
    for number in ("5 and 10", "6 and 11", "2 and 7", "3 and 8", "4 and 9"):
        assert f"(Tables {number})" in shown
    for number in (2, 3, 5):
        assert f"(Table {number})" in shown
    for name in ["Fig. 14", *variants(real=False), *rivals(real=True), *ordered.rivals()]:
        assert name in shown or (quick and name in SLOW)
    assert len(list(tmp_path.rglob("papers_*.png"))) == 2
    assert bool(published) != quick


def test_the_page_says_what_could_not_be_had(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        studies, "run_all", lambda parts, show: made_up_all(parts, show, lambda name: "ga" in name)
    )
    monkeypatch.setattr(ordered, "simulated", lambda quick: [studies.gaussians(quick)] * 2)
    monkeypatch.setattr(page, "ordered_table", lambda *_: "")
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    page.run(quick=True)
    shown = capsys.readouterr().out
    assert "because they were not available: hepatitis_complete, vote_complete, wdbc, SWD" in shown


def test_a_variant_on_gaussians_has_all_measures():
    found = on_gaussians("easy", variants(real=False)["RF3_CART"], 1, 2)
    assert list(found) == list(tables.MEASURES)
    assert all(0 < value < 1 for values in found.values() for value in values)
    assert found["auc"][0] > 0.7


def test_svm_splits_have_the_kernel_that_does_better():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    forest = svm_forest("bagging", real=True)
    forest.forest.set_params(n_estimators=2, max_depth=2)
    forest.search.estimator.set_params(max_depth=2)
    ring, half = (np.abs(np.hypot(*X.T) - 1) < 0.4), X.sum(axis=1) > rng.normal(size=200)
    assert forest.fit(X, ring.astype(int)).forest_.splitter.kernel == "rbf"
    assert forest.fit(X, half.astype(int)).forest_.splitter.kernel == "linear"


@pytest.mark.filterwarnings("ignore")  # of folds that could not be fitted
def test_a_penalty_that_cannot_be_fitted_is_not_chosen():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    y = (X[:, 0] + rng.normal(size=90) > 0).astype(int)
    search = svm_tree(real=True, pruned=False)
    search.set_params(param_grid={"splitter__C": [1e-9, 1.0]})
    assert search.fit(X, y).best_params_ == {"splitter__C": 1.0}
    scores = search.cv_results_["mean_test_score"]
    assert np.isnan(scores[0])
    assert scores[1] > 0.5


def results_with(auc):
    return made_up(studies.uci(quick=False), auc - 0.01)


def test_verdicts_count_the_sets_that_are_reached():
    for auc, reached in [(0.999, 10), (0.4, 0)]:
        best, alone = best_reached(results_with(auc))
        assert (best.value, alone.value) == (reached, reached)
        assert best.met == (reached >= 8)
        assert [figure.value for figure in rivals_reached(results_with(auc))] == [reached] * 6
        assert {figure.met for figure in variants_reached(results_with(auc))} == {None}
    # KLR prints 0.775 ± 0.022 on german and 0.826 ± 0.152 on hepatitis; all else is above 0.8.
    klr = rivals_reached(results_with(0.76))[-1]
    within = sum(v.value - v.error <= 0.76 for (m, _, a), v in table(10).items()
                 if (m, a) == ("KLR", "auc"))  # fmt: skip
    assert klr.value == within == 2


def test_best_reached_takes_forests_only():
    results = results_with(0.4)
    name = "heart_statlog"
    results[name] = results[name] | {"RankBoost": {"auc": [1.0]}, "TRK_CART": {"auc": [1.0]}}
    assert best_reached(results)[0].value == 0
    results[name] = results[name] | {"RF1_SVM": {"auc": [1.0]}}
    assert best_reached(results)[0].value == 1


def test_cells_show_our_mean_and_spread_and_the_printed_value():
    theirs = table(10)["KLR", "german", "auc"]
    assert tables.cell([0.7, 0.8], theirs) == "0.750 ± 0.071 (0.775 ± 0.022)"
    assert tables.cell([0.7], None) == f"{mean([0.7]):.3f}"


def test_average_ranks_share_ties():
    values = np.array([[0.9, 0.8, 0.8], [0.7, 0.9, 0.8]])
    assert average_ranks(values).tolist() == [2.0, 1.75, 2.25]


def test_critical_difference_is_that_of_demsar():
    """Demšar 2006, section 3.2.2: four classifiers, 14 sets."""
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)


def test_cliques_are_the_longest_runs_within_the_difference():
    ranks = np.array([3.0, 1.0, 1.5, 4.6])
    assert cliques(ranks, 1.7) == [(1, 2), (2, 3)] or cliques(ranks, 2.0) == [(0, 2), (2, 3)]
    assert cliques(ranks, 0.1) == []
