"""Forests: speed, quality on real sets, and the variants of the papers, in one page."""

import os
import warnings

from benchmarks import forest_paper, forest_quality, forest_speed
from benchmarks.common import Figure, describe, figure_table, fingerprint, machine, publish
from benchmarks.real_sets import MAX_ROWS

PAGE = """# Forests

{machine}

Times need a calm machine; where the load above is over 1, compare the ratios of processor time.

## Speed

`make_classification(…, 20, n_informative=10, n_redundant=4, n_clusters_per_class=6, class_sep=0.7,
flip_y=0.1, random_state=0)`: {n_train:,} rows are fitted, {n_test:,} others scored; 50 trees, two
threads each, reading the table into bins included. RankingForest, LightGBM's 100 rounds and
HistGradientBoosting take turns, four times, and the least time of each counts; the slow ones are
timed once. The random-forest modes of LightGBM and XGBoost try a fifth of the features a node and
draw 63.2 % of the rows; XGBoost's is shown deep, near the AUC of the others, and less deep.

{speed}

{times}

## Quality on real sets

{n_sets} binary sets, at most {rows:,} rows of each, five-fold cross-validation, 200 trees or
rounds. RankingForest has its default parameters. Rows and folds are drawn with a seed that was not
used when the defaults were chosen (those trials are on [a page of their own](forest_choices.md)).
RandomForest's leaf size is the best of {leaves} by out-of-bag AUC;
LightGBM's configuration the best of five by three inner folds. scikit-learn's forests see one
column a category level, LightGBM the categories themselves.

{quality}

{summary}

AUC set by set:

{sets}

## The variants of the paper

Three pairs of Gaussians in 20 dimensions, 1,000 rows to learn from and 1,000 to test, 50 ranking
trees of depth 8 split by LeafRank trees of depth 6, no pruning, mean rank; AUC is the mean over
{repeats} training sets, instability the mean Spearman distance over {bootstraps} bootstrap samples.
The paper does not print the parameters of its Gaussians; ours are set so that simple rivals reach
its AUC. Its figures stand in brackets; its instability has a scale of its own.

{paper}

{variants}
"""


def waiting() -> str:
    """Say how OpenMP's threads wait, where that was set: rivals spin on a busy machine."""
    policy = os.environ.get("OMP_WAIT_POLICY")
    return f"OMP_WAIT_POLICY={policy} " if policy else ""


def run(quick: bool) -> None:
    """Measure all three parts, print, and unless `quick` write the page."""
    facts = machine()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        speed = forest_speed.measure(quick)
        paper = forest_paper.measure(quick)
        quality = forest_quality.measure(quick)
    parts: dict[str, list[Figure]] = {
        "speed": forest_speed.judge(speed),
        "paper": forest_paper.judge(paper),
        "quality": forest_quality.judge(quality) if quality else [],
    }
    page = PAGE.format(
        machine=describe(facts, f"{waiting()}python -m benchmarks forest"),
        n_train=speed["n_train"], n_test=speed["n_test"], times=forest_speed.table(speed),
        n_sets=len(quality), rows=MAX_ROWS,
        leaves=", ".join(map(str, forest_quality.LEAF_SIZES)),
        summary=forest_quality.summary_table(quality) if quality else "No set could be had.",
        sets=forest_quality.set_table(quality),
        repeats=forest_paper.QUICK_REPEATS if quick else forest_paper.REPEATS,
        bootstraps=forest_paper.QUICK_BOOTSTRAPS if quick else forest_paper.BOOTSTRAPS,
        variants=forest_paper.table(paper),
        **{name: figure_table(figures) for name, figures in parts.items()},
    )  # fmt: skip
    print(page)
    if not quick:
        times = {part: {n: t._asdict() for n, t in speed[part].items()}
                 for part in ("fit", "scoring")}  # fmt: skip
        publish("forest", page, [figure for part in parts.values() for figure in part], {
            "machine": facts, "code": fingerprint(), "speed": speed | times, "paper": paper,
            "sets": quality,
        })  # fmt: skip
