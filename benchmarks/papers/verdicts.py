"""Whether rivals and forests are as good as in "An empirical comparison", set by set."""

from collections.abc import Iterable
from statistics import mean

from benchmarks.common import Figure, markdown_table
from benchmarks.papers.printed import table
from benchmarks.papers.studies import Measures, Results

RIVALS = ("AdaBoost", "RankBoost", "RankSVM", "RankLS", "PNormPush", "KLR")
ROUNDED = 0.0005  # the paper prints three digits


def rivals_reached(results: Results) -> list[Figure]:
    """Count sets on which each rival comes within the ± that the paper prints of its AUC."""
    return [figure for model in RIVALS for figure in _within(results, model, 10, target=8)]


def variants_reached(results: Results) -> list[Figure]:
    """Count the same for the variants of TreeRank, of which no more is asked."""
    models = dict.fromkeys(model for model, _, _ in table(5))
    return [figure for model in models for figure in _within(results, model, 5, target=None)]


def _within(results: Results, model: str, number: int, target: int | None) -> list[Figure]:
    """One figure, none if the model was not measured."""
    known = [name for name, found in results.items() if model in found]
    if not known:
        return []
    ours = [mean(results[name][model]["auc"]) for name in known]
    theirs = [table(number)[model, name, "auc"] for name in known]
    pairs = list(zip(ours, theirs, strict=True))
    within = sum(own >= paper.value - paper.error for own, paper in pairs)
    above = sum(own >= paper.value - ROUNDED for own, paper in pairs)
    what = f"sets on which {model} comes within the ± of its AUC in Table {number}"
    note = f"of {len(known)}; on {above} it reaches the AUC itself"
    goal = None if target is None else min(target, len(known))
    return [Figure(what, within, "", goal, "at least", note)]


def is_forest(model: str) -> bool:
    """Whether a model of ours is a forest."""
    return model.startswith(("RankingForest", "RF", "Bagg"))


def best_of(found: dict[str, Measures], models: Iterable[str]) -> tuple[float, str]:
    """Best mean AUC and whose it is."""
    return max((mean(found[model]["auc"]), model) for model in models if model in found)


def best_printed(name: str) -> tuple[float, str]:
    """Best AUC of Table 5 on a set, and whose it is."""
    return max((p.value, model) for (model, s, m), p in table(5).items() if (s, m) == (name, "auc"))


def best_reached(results: Results) -> list[Figure]:
    """Count sets on which our best forest, and the default one, reach the best of Table 5."""
    best = alone = 0
    for name, found in results.items():
        goal = best_printed(name)[0] - ROUNDED
        best += best_of(found, filter(is_forest, found))[0] >= goal
        alone += mean(found["RankingForest()"]["auc"]) >= goal
    n_sets = len(results)
    note = f"of {n_sets}; the best of each set is known only afterwards, here as in the paper"
    return [
        Figure("sets on which our best forest reaches the best variant of Table 5", best, "",
               min(8, n_sets), "at least", note),
        Figure("sets on which `RankingForest()` alone reaches it", alone, "", None, "at least",
               f"of {n_sets}"),
    ]  # fmt: skip


def best_table(results: Results) -> str:
    """Set by set: our best forest, the default one, the paper's best variant, our best rival."""
    rows = []
    for name, found in results.items():
        ours, paper = best_of(found, filter(is_forest, found)), best_printed(name)
        rival, default = best_of(found, RIVALS), mean(found["RankingForest()"]["auc"])
        losses = []
        if ours[0] < paper[0] - ROUNDED:
            losses.append("**best forest below the paper's**")
        if ours[0] < rival[0]:
            losses.append("best forest below a rival")
        elif default < rival[0]:
            losses.append("default below a rival")
        shown = [f"{value:.3f} {model}" for value, model in (ours, paper, rival)]
        rows.append([name, shown[0], f"{default:.3f}", *shown[1:], ", ".join(losses)])
    header = ["set", "our best forest", "`RankingForest()`", "best of Table 5", "best rival, ours",
              "what we lose"]  # fmt: skip
    return markdown_table(header, rows, "lrrrrl")
