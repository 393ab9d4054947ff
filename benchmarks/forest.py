"""Forests: speed, quality on real sets, and the variants of the papers, in one page."""

import os
import warnings

from benchmarks import forest_paper, forest_quality, forest_speed
from benchmarks.common import Figure, describe, figure_table, fingerprint, machine, publish
from benchmarks.real_sets import MAX_ROWS

PAGE = """# Forests

{machine}

How fast is a forest, and how well does it rank beside other forests and boosting? Speed comes
first, then quality on real data sets, then the variants of the paper. Elapsed times are only
reliable on an idle machine; otherwise compare processor times.

## Speed

`make_classification(…, 20, n_informative=10, n_redundant=4, n_clusters_per_class=6, class_sep=0.7,
flip_y=0.1, random_state=0)`: {n_train:,} rows for fitting, {n_test:,} others for scoring; 50 trees,
two threads, binning included. RankingForest, LightGBM with 100 rounds and HistGradientBoosting take
turns four times, and the fastest run of each counts; slow models are timed once. The random-forest
modes of LightGBM and XGBoost try a fifth of the features at each node and draw 63.2 % of the rows;
XGBoost is shown with deep trees, near the AUC of the others, and with shallower ones.

{speed}

{times}

## Quality on real sets

{n_sets} data sets with two classes, at most {rows:,} rows of each, five-fold cross-validation, 200
trees or rounds. RankingForest has its default parameters. Rows and folds are drawn with a seed that
was not used when the defaults were chosen ([how they were chosen](forest_choices.md)). The leaf
size of RandomForest is the best of {leaves} by out-of-bag AUC; LightGBM's configuration is the best
of five by three inner folds. scikit-learn's forests get one column per category level, LightGBM the
categories themselves.

{quality}

{summary}

AUC set by set:

{sets}

## The variants of the paper

Three pairs of Gaussians in 20 dimensions with 1,000 training and 1,000 test rows; 50 ranking trees
of depth 8 split by LeafRank trees of depth 6, without pruning, aggregated by mean rank. AUC is the
mean over {repeats} training sets, instability the mean Spearman distance over {bootstraps}
bootstrap samples. The paper does not print the parameters of its Gaussians; ours are set so that
simple models reach its AUC. The paper's figures are in brackets; its instability is on a different
scale.

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
        summary=forest_quality.summary_table(quality) if quality else "No data set is available.",
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
