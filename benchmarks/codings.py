"""What several codings and second columns of categories gain, and how honest forests are then."""

from functools import partial
from statistics import mean, stdev
from typing import Any, NamedTuple
from unittest.mock import patch

from sklearn.metrics import roc_auc_score

from benchmarks.bags import divide, load, measure_all
from benchmarks.common import (
    Figure,
    describe,
    figure_table,
    fingerprint,
    machine,
    markdown_table,
    publish,
    remember,
)
from benchmarks.many_levels_sets import SETS
from treerank import BoostedTreeRank, RankingForest
from treerank._binning.category_statistics import N_FOLDS, N_FOLDS_OF_SEVERAL, CategoryPlan
from treerank._plans.boosting import plan_categories as plan_of_boosting
from treerank._plans.forest import N_CODINGS

SIZES = (2_000, 10_000, 20_000)
DRAWS = (41_201, 41_202, 41_203)


class Kind(NamedTuple):
    """How the forest takes categories with many levels."""

    n_codings: int
    n_folds: int
    has_sets: bool

    @property
    def name(self) -> str:
        """The kind in words."""
        codings = f"{self.n_codings} coding{'' if self.n_codings == 1 else 's'}"
        return f"{codings}, {self.n_folds} folds{', sets' if self.has_sets else ''}"

    @property
    def plan(self) -> CategoryPlan:
        """The plan that the forest follows, with its number of folds replaced."""
        of_folds = type("CategoryPlan", (CategoryPlan,), {"n_folds": self.n_folds})
        return of_folds(self.n_codings, self.has_sets)  # type: ignore[no-any-return]


FORMER = Kind(1, N_FOLDS, has_sets=False)  # of earlier versions
CODED = Kind(N_CODINGS, N_FOLDS_OF_SEVERAL, has_sets=False)
USUAL = Kind(N_CODINGS, N_FOLDS_OF_SEVERAL, has_sets=True)
FORESTS = (FORMER, CODED, USUAL, Kind(N_CODINGS, 2, has_sets=True), Kind(1, N_FOLDS, has_sets=True))
ORDER, WITH_SETS = "in order only", "in order, and sets"

Found = dict[str, dict[str, float]]  # kind -> measures


def evaluate_forest(kind: Kind, X: Any, y: Any, train: Any, test: Any) -> dict[str, float]:
    """AUC on other rows, and by how much the out-of-bag AUC is higher.

    The kind is no parameter of the forest, so it is put in place of the plan.
    """
    with patch("treerank._forest.plan_categories", lambda *_: kind.plan):
        model = RankingForest(oob_score=True).fit(X.iloc[train], y[train])
    auc = float(roc_auc_score(y[test], model.score_samples(X.iloc[test])))
    return {"auc": auc, "optimism": model.oob_auc_ - auc}


def evaluate_boosting(has_sets: bool, X: Any, y: Any, train: Any, test: Any) -> dict[str, float]:
    """AUC on other rows."""

    def plan(*args: Any) -> CategoryPlan:
        return plan_of_boosting(*args)._replace(has_sets=has_sets)

    with patch("treerank._boosting.plan_categories", plan):
        model = BoostedTreeRank().fit(X.iloc[train], y[train])
    return {"auc": float(roc_auc_score(y[test], model.score_samples(X.iloc[test])))}


EVALUATIONS = {kind.name: partial(evaluate_forest, kind) for kind in FORESTS} | {
    ORDER: partial(evaluate_boosting, False),
    WITH_SETS: partial(evaluate_boosting, True),
}


def measure(name: str, size: int) -> Found | None:
    """All kinds on one table, means over the draws; None if it has too few rows."""
    X, y = load(name)
    found = {}
    for kind, evaluate in EVALUATIONS.items():
        parts = []
        for seed in DRAWS:
            divided = divide(y, size, seed)
            if divided is None:
                return None
            key = f"codings-{name}-{size}-{seed}-{kind}-{fingerprint()}"
            parts.append(remember(key, partial(evaluate, X, y, *divided)))
        found[kind] = {what: mean(part[what] for part in parts) for what in parts[0]}
    return found


def gains(found: dict[str, Found], kind: str, former: str) -> list[float]:
    """AUC of a kind above that of a former one, table by table."""
    return [of[kind]["auc"] - of[former]["auc"] for of in found.values()]


def with_error(values: list[float]) -> str:
    """Mean, and its standard error over the tables."""
    return f"{mean(values):+.4f} ± {stdev(values) / len(values) ** 0.5:.4f}"


def compared(found: dict[str, Found], kind: str, former: str) -> list[str]:
    """Name of a kind, its mean AUC, and its gain over a former one."""
    gain = gains(found, kind, former)
    is_usual = kind in (USUAL.name, WITH_SETS)
    return [
        f"**{kind}**" if is_usual else kind,
        f"{mean(of[kind]['auc'] for of in found.values()):.4f}",
        "" if kind == former else with_error(gain),
        "" if kind == former else f"{sum(g > 0 for g in gain)} : {sum(g < 0 for g in gain)}",
        f"{min(gain):+.4f}",
    ]


def tables_of(found: dict[str, Found]) -> str:
    """Means over the tables, by kind: of the forest and of boosting."""
    forests = [
        [*compared(found, kind.name, FORMER.name),
         with_error([of[kind.name]["optimism"] for of in found.values()])]
        for kind in FORESTS
    ]  # fmt: skip
    boosting = [compared(found, kind, ORDER) for kind in (ORDER, WITH_SETS)]
    head = ["AUC", "over the first", "won : lost", "lowest"]
    of_forests = ["`RankingForest`", *head, "out-of-bag AUC above it by"]
    tables = [
        markdown_table(of_forests, forests, "lrrrrr"),
        markdown_table(["`BoostedTreeRank`", *head], boosting, "lrrrr"),
    ]
    return "\n\n".join(tables)


def judge(results: dict[str, dict[str, Found]]) -> list[Figure]:
    """Gains of the defaults."""
    figures = []
    for title, found in results.items():
        for what, kind, former in (
            (f"forest with {CODED.name} minus {FORMER.name}", CODED.name, FORMER.name),
            ("forest with sets minus without", USUAL.name, CODED.name),
            ("boosting with sets minus without", WITH_SETS, ORDER),
        ):
            value = mean(gains(found, kind, former))
            figures.append(
                Figure(f"{title}: mean AUC of {what}", value, target=0.0, bound="at least")
            )
    return figures


PAGE = """# Categories with many levels: codings and sets

Levels of a column with more than 255 of them are put in order by the labels of their rows, and a
row is encoded by the rows of the other folds
([how](../guide/categories_and_missing.md#many-levels)). Two things are added to that in forests
and boosting, and this page measures what they gain:

- **Several codings.** With one coding, all trees of a forest see the same folds; below 50,000 rows,
  each group of eight trees has a coding of its own. (So has each bag of boosting.)
- **Sets.** The most frequent levels have codes of their own, which can be put into sets. Boosting
  sees such a column twice, in order and as sets; in a forest, groups of eight trees see the one and
  the other in turn.

Defaults on the [tables with many levels](many_levels.md) that have such a column, means over
{draws} draws, up to 20,000 other rows for testing. ± is the standard error over the tables, and
"lowest" the smallest gain of a table. Three folds were chosen on
[other tables](categories.md#several-codings) and on other draws of these; that there are sets, and
for how many levels, on other draws of these, so that the gains of sets may be slightly too good.

{figures}

Out-of-bag rows are encoded in many ways, and new rows in one, so that the out-of-bag AUC can be too
high; the last column of the first tables shows by how much it differs from the AUC on other rows.

{parts}

{machine}
"""


def has_many_levels(found: Found) -> bool:
    """Whether a table is encoded differently by different kinds."""
    return found[ORDER]["auc"] != found[WITH_SETS]["auc"]


def run(quick: bool) -> None:
    """Measure, print, and unless `quick` write the page."""
    facts = machine()
    names = list(SETS)[: 2 if quick else None]
    results = {}
    for size in SIZES[: 1 if quick else None]:
        found = measure_all(measure, names, size)
        results[f"{size:,} rows"] = {name: of for name, of in found.items() if has_many_levels(of)}
    figures = judge(results)
    parts = "\n\n".join(
        f"## {title}\n\n{len(found)} tables: {', '.join(found)}.\n\n{tables_of(found)}"
        for title, found in results.items()
    )
    page = PAGE.format(
        draws=len(DRAWS), figures=figure_table(figures), parts=parts,
        machine=describe(facts, "python -m benchmarks codings"),
    )  # fmt: skip
    print(page)
    if not quick:
        publish("codings", page, figures, {"machine": facts, "results": results})
