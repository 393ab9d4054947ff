"""Training for the top of the list: local AUC and lift with and without a focus, beside rivals."""

import time
import warnings
from collections.abc import Callable
from functools import cache, partial
from importlib.metadata import version
from statistics import mean
from typing import Any

import lightgbm
import numpy as np
from interpret.glassbox import ExplainableBoostingClassifier
from sklearn.metrics import roc_auc_score

from benchmarks.common import (
    Figure,
    best_times,
    describe,
    figure_table,
    fingerprint,
    machine,
    markdown_table,
    publish,
    remember,
    targets_met,
)
from benchmarks.quality_tables import Results, means
from benchmarks.real_sets import load_rows, sets
from benchmarks.tuned_rivals import CATBOOST, TUNED, CatBoost, tuned_lightgbm
from treerank import BoostedTreeRank, RankingForest, TreeRank
from treerank.datasets import make_gaussians_20d, make_truncated_gaussians
from treerank.metrics import hit_rate_score, local_auc_score, partial_auc_score

MAX_ROWS, TRAIN_ROWS = 6_000, 2_000
# Neither rows nor draws are those on which the mechanisms were chosen.
SEED = 15_485_863
FOCUS = 0.1
RATES = (0.05, 0.1)
EBM, LAMBDARANK = "EBM, 4 bags", "LightGBM, lambdarank"
# Amounts of shrinkage among which the best is taken with hindsight.
HINDSIGHT = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
# A set has room where the plain forest has less than this share of the highest local AUC there is.
NO_ROOM = 0.98
TRUTH_ROWS, TRUTH_TEST, TRUTH_FPR = 20_000, 200_000, 0.1
SPEED_ROWS = 20_000


class LambdaRank:
    """LightGBM's lambdarank with all rows in one list."""

    def fit(self, X: Any, y: Any) -> Any:
        """Boost."""
        self.model = lightgbm.LGBMRanker(n_jobs=1, verbose=-1, random_state=SEED)
        self.model.fit(X, y, group=[len(y)])
        return self

    def decision_function(self, X: Any) -> Any:
        """Return the scores."""
        return self.model.predict(X)


OURS: dict[str, type[Any]] = {
    "TreeRank": TreeRank, "RankingForest": RankingForest, "BoostedTreeRank": BoostedTreeRank,
}  # fmt: skip
MODELS: dict[str, Callable[[], Any]] = {
    **OURS,
    **{f"{name}, focus": partial(make, focus=FOCUS) for name, make in OURS.items()},
    LAMBDARANK: LambdaRank,
    TUNED: partial(tuned_lightgbm, SEED),
    CATBOOST: partial(CatBoost, SEED),
}
# EBM takes longer than all the others together: on sets of at least so many rows only.
SLOW: dict[str, Callable[[], Any]] = {
    EBM: lambda: ExplainableBoostingClassifier(outer_bags=4, n_jobs=1, random_state=SEED),
}
LEAST_ROWS = 1_000
RIVALS = [LAMBDARANK, TUNED, CATBOOST, EBM]


@cache
def divided(name: str, seed: int = SEED) -> tuple[Any, Any, Any, Any]:
    """Rows of a set to learn from, a half of them at most, and to judge by."""
    X, y = load_rows(name, seed, MAX_ROWS)
    mixed = np.random.RandomState([seed, len(y)]).permutation(len(y))
    n_train = min(TRAIN_ROWS, len(y) // 2)
    train, test = mixed[:n_train], mixed[n_train:]
    y = np.asarray(y)
    return X.iloc[train], y[train], X.iloc[test], y[test]


def evaluate(model: str, name: str) -> dict[str, float]:
    """Measures on new rows, and the processor's seconds of the fit."""
    return judged((MODELS | SLOW)[model](), name)


def hindsight(name: str) -> dict[str, float]:
    """Measures of the forest whose shrinkage is best on the very rows that judge it."""
    found = [judged(RankingForest(shrinkage=amount), name) for amount in HINDSIGHT]
    return max(found, key=lambda measures: measures["local 0.05"])


def judged(model: Any, name: str, seed: int = SEED) -> dict[str, float]:
    """Fit a model and measure it."""
    X, y, X_test, y_test = divided(name, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        fitted = model.fit(X, y)
        seconds = time.process_time() - start
        if hasattr(fitted, "score_samples") or hasattr(fitted, "decision_function"):
            method = "score_samples" if hasattr(fitted, "score_samples") else "decision_function"
            score = getattr(fitted, method)(X_test)
        else:
            score = fitted.predict_proba(X_test)[:, 1]
    found = {"auc": float(roc_auc_score(y_test, score)), "fit": seconds}
    for rate in RATES:
        found[f"local {rate:g}"] = local_auc_score(y_test, score, rate=rate)
        found[f"lift {rate:g}"] = hit_rate_score(y_test, score, rate=rate) / float(y_test.mean())
        found[f"most {rate:g}"] = min(1.0, rate / float(y_test.mean()))
    return found


@cache
def own_code() -> str:
    """Key of the library that is measured."""
    return fingerprint()


def remembered(model: str, name: str) -> dict[str, float]:
    """Measures of a model on a set, from the cache if an earlier run got as far."""
    key = f"focus-{SEED}-{TRAIN_ROWS}-{name}-{model.replace(' ', '_')}"
    key += f"-{own_code()}" if model not in RIVALS else ""
    found: dict[str, float] = remember(key, partial(evaluate, model, name))
    return found


def measure(quick: bool) -> tuple[Results, Results]:
    """All models but the slow one on every set; and all of them on sets of many rows."""
    names = [name for name, *_ in sets("binary", lambda name: divided(name)[:2], quick)]
    results: Results = {name: {} for name in names}
    for model in MODELS:
        for name, found in results.items():
            found[model] = remembered(model, name)
        print(f"{model:25s} {means(results, 'local 0.05')[model]:.4f}", flush=True)
    some: Results = {}
    for name, found in results.items():
        X, _, X_test, _ = divided(name)
        if len(X) + len(X_test) >= LEAST_ROWS:
            some[name] = found | {model: remembered(model, name) for model in SLOW}
    return results, some


def with_room(results: Results) -> Results:
    """Sets on which the plain forest leaves something to be gained at the first rate."""
    return {
        name: found
        for name, found in results.items()
        if found["RankingForest"]["local 0.05"] < NO_ROOM * found["RankingForest"]["most 0.05"]
    }


def attainable(room: Results) -> dict[str, float]:
    """Gains in % of the forest with hindsight over the default one."""
    best = {
        name: remember(f"focus-hindsight-{SEED}-{name}-{own_code()}", partial(hindsight, name))
        for name in room
    }
    plain = {what: means(room, what)["RankingForest"] for what in ("local 0.05", "lift 0.05")}
    return {w: 100 * (mean(m[w] for m in best.values()) / of - 1) for w, of in plain.items()}


def gain(results: Results, name: str, what: str) -> tuple[float, float]:
    """Gain of the focus in % of the plain model's mean, and its standard error by the jackknife."""

    def of(names: list[str]) -> float:
        some = means({n: results[n] for n in names}, what)
        return 100 * (some[f"{name}, focus"] / some[name] - 1)

    every = list(results)
    if len(every) == 1:
        return of(every), np.nan
    left_out = np.array([of([n for n in every if n != without]) for without in every])
    spread = np.sum((left_out - left_out.mean()) ** 2) * (len(every) - 1) / len(every)
    return of(every), float(np.sqrt(spread))


def measure_truth(quick: bool) -> dict[str, float]:
    """Partial AUC of focused models where the best is known."""
    n = TRUTH_ROWS // 10 if quick else TRUTH_ROWS
    data = make_truncated_gaussians(n, random_state=SEED % 2**31)
    new = data.truth.sample(TRUTH_TEST, random_state=1)
    judge = partial(partial_auc_score, new.y, max_fpr=TRUTH_FPR)
    found = {"the best there is": judge(new.eta)}
    for name, make in OURS.items():
        for words, focus in (("", None), (", focus", (0.0, TRUTH_FPR))):
            found[name + words] = judge(make(focus=focus).fit(data.X, data.y).score_samples(new.X))
    return found


def measure_speed(quick: bool) -> dict[str, float]:
    """Seconds of the processor for a tree on one thread, with and without a focus."""
    data = make_gaussians_20d(SPEED_ROWS // (10 if quick else 1), "hard", random_state=0)
    calls = {
        words: partial(TreeRank(focus=focus).fit, data.X, data.y)
        for words, focus in (("all", None), ("0.1", 0.1), ("0.05", 0.05))
    }
    return {name: found.cpu for name, found in best_times(calls, 1 if quick else 3).items()}


def judge(
    results: Results, some: Results, truth: dict[str, float], speed: dict[str, float]
) -> list[Figure]:
    """What was asked for, and what came out."""
    figures = []
    room = with_room(results)
    for name in OURS:
        for what in ("local 0.05", "lift 0.05"):
            of = means(room, what)
            gained, error = gain(room, name, what)
            words = f"{name}: {what.split()[0]}{' AUC' if 'local' in what else ''} at 5 %"
            note = (
                f"{of[f'{name}, focus']:.4f} against {of[name]:.4f}, {len(room)} sets with room; "
            )
            note += f"standard error {error:.1f} %"
            figures.append(Figure(f"{words}, gain of the focus", gained, "%", 3.0,
                                  "at least", note))  # fmt: skip
        lost = means(results, "auc")
        figures.append(
            Figure(
                f"{name}: AUC that the focus costs",
                lost[name] - lost[f"{name}, focus"],
                target=0.01,
            )
        )
    own = "RankingForest, focus"
    for found, words in ((results, "all sets"), (some, f"{len(some)} sets, EBM too")):
        for rate in RATES:
            of = means(found, f"local {rate:g}")
            best = max((rival for rival in RIVALS if rival in of), key=lambda rival: of[rival])
            note = f"{of[own]:.4f} against {of[best]:.4f}, the best rival; {words}"
            figures.append(
                Figure(f"{own}: local AUC at {rate:.0%} minus {best}", of[own] - of[best],
                       target=0.0, bound="at least", note=note)
            )  # fmt: skip
    best_of_ours = max((name for name in truth if "focus" in name), key=lambda name: truth[name])
    figures.append(
        Figure(
            f"known pair: best partial AUC minus {best_of_ours}",
            truth["the best there is"] - truth[best_of_ours],
            target=0.005,
        )
    )
    for words in ("0.1", "0.05"):
        figures.append(Figure(f"seconds of a tree with focus={words} over a plain one",
                              speed[words] / speed["all"], target=1.0))  # fmt: skip
    return figures


def summary(results: Results) -> str:
    """One row a model, by falling local AUC at the first rate."""
    columns = ["local 0.05", "local 0.1", "lift 0.05", "lift 0.1", "auc", "fit"]
    of = {what: means(results, what) for what in columns}
    rows = [
        [model, *[f"{of[what][model]:.{2 if what == 'fit' or 'lift' in what else 4}f}"
                  for what in columns]]
        for model in sorted(of["auc"], key=lambda name: -of["local 0.05"][name])
    ]  # fmt: skip
    header = ["model", "local AUC, 5 %", "10 %", "lift, 5 %", "10 %", "AUC", "fit, seconds"]
    return markdown_table(header, rows, "lrrrrrr")


def by_set(results: Results) -> str:
    """Local AUC of the forests and the rivals, set by set."""
    models = ["RankingForest", "RankingForest, focus", "BoostedTreeRank, focus", TUNED, CATBOOST]
    rows = [
        [name, *[f"{found[model]['local 0.05']:.4f}" for model in models],
         f"{found[models[0]]['most 0.05']:.4f}"]
        for name, found in results.items()
    ]  # fmt: skip
    return markdown_table(["set", *models, "the most"], rows, "l" + "r" * (len(models) + 1))


PAGE = """# The top of the list

What does `focus={focus}` gain at the top of the ranking, and what does it cost below?
{targets}

{figures}

{n_sets} data sets with two classes. A model is trained on at most {train:,} rows (at most half of
the data set) and tested on up to {test:,} others, in one draw that was not used for any choice.
What a focus does was chosen on other draws of these data sets: a forest chooses its shrinkage by
local AUC; boosting uses a loss over pairs near the top, unless the plain loss does better on
held-out rows, and chooses its number of trees; and a tree does not split cells below the top.

Lift is the share of positives in the top divided by that of all rows. A data set has room for
improvement if the plain forest is below {no_room:.0%} of the highest local AUC that its share of
positives allows; this is the case for {n_room} of {n_sets}.

## How much there is to gain

The score that is best for the whole list is also best for its top, so a focus can only choose
between models that are about equally good. If the forest could pick the shrinkage that is best on
the test rows themselves, it would gain {hindsight_local:.1f} % in local AUC and
{hindsight_lift:.1f} % in lift at 5 %; the training rows reveal only a part of that. Picking with
hindsight among eight plans and five amounts of shrinkage gained 6 % on other draws, and picking
among all losses, sizes and numbers of boosting's trees gained 7 %, but the best of so many is
mostly luck. The top 5 % of 2,000 rows are a hundred rows: the standard errors in the table above
are as large as the gains. The page on [several draws](focus_draws.md) of the same data sets says
more about our own models: there a focus gains or loses about a percent at most, within the
error.

The following was tried on the other draws and did not help beyond chance (between -2 and +2 %). For
the forest: choosing its plan as well, among eight (other leaf sizes, more features, fully grown
trees, only exact or only random cuts, half of the rows, balanced classes); averaging a plain and a
focused forest, or all plans; 800 trees; choosing by the mean of the local AUC at half, one and two
times the focus; P-norm push weights; a logistic loss weighted towards the top; other criteria and
class weights. For boosting: choosing the size of its trees by local AUC (worse than by log-loss, as
the trees become too small); trees no larger than those of the plain fit; choosing the number of
trees of the plain loss by local AUC; adding the scores of both losses or of several tree sizes; and
bags of 4 and 10. For a tree: splitting three, four or six levels below the top instead of five; the
best subtree by local AUC instead of the best by AUC among those within a standard error; and
choosing LeafRank's depth by AUC. The gain of 2 % that the tree had there is not found again here.

## All sets

{summary}

## Data sets with room for improvement

{room}

{verdict}

## Beside EBM

EBM takes longer than all other models together, so that it is measured on the {n_some} data sets of
at least {least:,} rows only.

{some}

## Local AUC at 5 %, set by set

{sets}

## Where the best is known

`make_truncated_gaussians` with {truth_rows:,} training rows: partial AUC up to a false positive
rate of {fpr:.0%}, divided by that rate, on {truth_test:,} new rows, with `focus=(0, {fpr:g})`:

{truth}

{machine}
"""


def verdict(results: Results) -> str:
    """Say in words what a focus did."""
    parts = []
    for name in OURS:
        changes = [found[f"{name}, focus"]["local 0.05"] - found[name]["local 0.05"]
                   for found in results.values()]  # fmt: skip
        better, worse = sum(c > 0 for c in changes), sum(c < 0 for c in changes)
        parts.append(f"`{name}` gains on {better} and loses on {worse} (mean {mean(changes):+.4f})")
    return "By local AUC at 5 %, over all data sets, " + "; ".join(parts) + "."


def run(quick: bool) -> None:
    """Measure, print, and unless `quick` write the page."""
    facts = machine()
    rivals = ["catboost", "lightgbm", "interpret-core"]
    facts["versions"] |= {name: version(name) for name in rivals}
    results, some = measure(quick)
    if not results:
        print("No data set is available: nothing to compare.")
        return
    truth, speed = (
        remember(f"focus-{SEED}-{compute.__name__}-{quick}-{own_code()}", partial(compute, quick))
        for compute in (measure_truth, measure_speed)
    )
    figures, room = judge(results, some, truth, speed), with_room(results)
    best = attainable(room)
    table = markdown_table(["score", "partial AUC"], [[k, f"{v:.4f}"] for k, v in truth.items()],
                           "lr")  # fmt: skip
    page = PAGE.format(
        focus=FOCUS, figures=figure_table(figures), n_sets=len(results), train=TRAIN_ROWS,
        test=MAX_ROWS - TRAIN_ROWS, no_room=NO_ROOM, n_room=len(room), summary=summary(results),
        room=summary(room), verdict=verdict(results), sets=by_set(results), truth=table,
        truth_rows=TRUTH_ROWS, truth_test=TRUTH_TEST, fpr=TRUTH_FPR,
        targets=targets_met(figures),
        hindsight_local=best["local 0.05"], hindsight_lift=best["lift 0.05"],
        some=summary(some), n_some=len(some), least=LEAST_ROWS,
        machine=describe(facts, "python -m benchmarks focus"),
    )  # fmt: skip
    print(page)
    if not quick:
        details = {"machine": facts, "results": results, "some": some, "hindsight": best}
        publish("focus", page, figures, details | {"truth": truth, "speed": speed})
