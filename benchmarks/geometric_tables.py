"""The tables of the study: our figures beside the paper's."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import geometric_paper as paper
from benchmarks.common import Figure, markdown_table
from benchmarks.geometric_paper import Pair
from benchmarks.geometric_study import GRID, KINDS, SETS, SMOOTHINGS

Samples = list[dict[str, Any]]
Results = dict[str, Samples]
PRUNED = "cost-complexity"


def mean_and_error(values: Any) -> Pair:
    """Mean and its standard error over the samples."""
    values = np.asarray(values, dtype=float)
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def column(samples: Samples, kind: str, measure: str) -> NDArray[np.float64]:
    """One measure of one kind of tree over the samples."""
    return np.array([sample[kind][measure] for sample in samples])


def better_smoothing(samples: Samples, kind: str) -> str:
    """The smoothing with the higher mean AUC."""
    return max(SMOOTHINGS, key=lambda s: float(column(samples, kind, s).mean()))


def global_gain(samples: Samples, kind: str) -> Pair:
    """100 times the AUC of global ranking less that of the better smoothing."""
    rival = column(samples, kind, better_smoothing(samples, kind))
    return mean_and_error(100 * (column(samples, kind, "global") - rival))


def local_gain(samples: Samples, kind: str) -> Pair:
    """100 times the AUC of local ranking less that of the smoothing it starts from."""
    smoothing = better_smoothing(samples, kind)
    local = column(samples, kind, f"local {smoothing}")
    return mean_and_error(100 * (local - column(samples, kind, smoothing)))


def nbtree_gain(samples: Samples) -> Pair:
    """100 times the AUC of global ranking on reduced-error pruned trees less that of NBTree."""
    rival = np.array([sample["NBTree"] for sample in samples])
    return mean_and_error(100 * (column(samples, KINDS[0], "global") - rival))


def start_of_curve(samples: Samples) -> float:
    """Largest x with AUC_global(y) >= AUC_smoothing(y), at 95 % confidence, for all y <= x."""
    smoothing = better_smoothing(samples, PRUNED)
    gains = np.array([sample["start"][smoothing] for sample in samples])[:, 1:]
    spread = gains.std(axis=0, ddof=1) / np.sqrt(len(gains))
    holds = gains.mean(axis=0) - 1.645 * spread >= 0
    first_miss = len(holds) if holds.all() else int(np.argmin(holds))
    return float(GRID[first_miss])


def say(pair: Pair, digits: int = 2) -> str:
    return f"{pair[0]:.{digits}f} ± {pair[1]:.{digits}f}"


def format_gain(pair: Pair) -> str:
    """A difference; losses in bold, insignificant ones in italics."""
    text = say(pair)
    if not paper.is_significant(pair):
        return f"*{text}*"
    return f"**{text}**" if pair[0] < 0 else text


def sets_table(results: Results) -> str:
    """Table 1: the sets and the sizes of the trees."""
    header = ["set", "class of interest", "unpruned, paper", "here", "less pruned, paper", "here",
              "reduced error, here", "NBTree, here"]  # fmt: skip
    words = {found.name: found.words for found in SETS}
    rows = []
    for name, samples in results.items():
        fewer, leaves = paper.LEAVES[name]
        unpruned, pruned = (column(samples, kind, "leaves") for kind in ("unpruned", PRUNED))
        rows.append([
            name, words[name], say(leaves), say(mean_and_error(unpruned)), say(fewer),
            say(mean_and_error(unpruned - pruned)),
            say(mean_and_error(column(samples, "reduced error", "leaves"))),
            say(mean_and_error([sample["NBTree leaves"] for sample in samples])),
        ])  # fmt: skip
    return markdown_table(header, rows, "llrrrrrr")


def proximity_table(results: Results) -> str:
    """Table 2: distance of hits and errors."""
    header = ["set", "difference, paper", "here", "lambda, paper", "here",
              "% with lambda >= 2, paper", "here", "accuracy, here"]  # fmt: skip
    rows = []
    for name, samples in results.items():
        found = np.array([s["proximity"] for s in samples if s["proximity"] is not None])
        theirs = paper.PROXIMITY.get(name)
        shown = ["", "", ""] if theirs is None else [
            say(theirs[0], 3), say(theirs[1]), f"{theirs[2]:g}",
        ]  # fmt: skip
        mine = ["", "", ""] if len(found) < 2 else [
            say(mean_and_error(found[:, 0]), 3), say(mean_and_error(found[:, 1])),
            f"{100 * np.mean(found[:, 1] >= 2):.0f}",
        ]  # fmt: skip
        pairs = [cell for both in zip(shown, mine, strict=True) for cell in both]
        rows.append([name, *pairs, f"{column(samples, PRUNED, 'accuracy').mean():.3f}"])
    return markdown_table(header, rows, "lrrrrrrr")


def gain_tables(results: Results) -> tuple[str, str]:
    """Tables 3 and 4: global and local ranking less smoothing."""
    kinds = ["reduced error", "pruned", "unpruned"]
    header = ["set", *[f"{kind}, {who}" for kind in kinds for who in ("paper", "here")]]
    by_distance, local = [], []
    for name, samples in results.items():
        theirs, mine = paper.GLOBAL[name], [global_gain(samples, kind) for kind in KINDS]
        mine.append(nbtree_gain(samples))
        by_distance.append(
            [name, *[format_gain(p) for both in zip(theirs, mine, strict=True) for p in both]]
        )
        pairs = zip(paper.LOCAL[name], [local_gain(samples, k) for k in KINDS], strict=True)
        local.append([name, *[format_gain(p) for both in pairs for p in both]])
    with_rival = [*header, "NBTree, paper", "NBTree, here"]
    return (
        markdown_table(with_rival, by_distance, "l" + "r" * 8),
        markdown_table(header, local, "l" + "r" * 6),
    )


def start_table(results: Results) -> str:
    """Table 5: how far global ranking stays ahead from the start of the ROC curve."""
    rows = [[name, f"{start_of_curve(samples):.3f}"] for name, samples in results.items()]
    return markdown_table(["set", "ahead up to"], rows, "lr")


def metric_table(results: Results) -> str:
    """How much the choice of the metric matters."""
    rows = []
    for name, samples in results.items():
        gap = column(samples, PRUNED, "global") - column(samples, PRUNED, "minmax")
        rows.append([name, format_gain(mean_and_error(100 * gap))])
    return markdown_table(["set", "standard less min-max"], rows, "lr")


def signs_hold(name: str, samples: Samples) -> bool:
    """Whether all significant differences of the paper's Table 4 have the same sign here."""
    pairs = zip(paper.LOCAL[name], [local_gain(samples, k) for k in KINDS], strict=True)
    return all(theirs[0] * mine[0] > 0 for theirs, mine in pairs if paper.is_significant(theirs))


def judge(results: Results) -> list[Figure]:
    """Compare with the targets."""
    figures = []
    for kind in KINDS:
        lower = [n for n, samples in results.items() if local_gain(samples, kind)[0] < 0]
        said = [f"{name} ({say(local_gain(results[name], kind))})" for name in lower]
        figures.append(
            Figure(f"sets on which local ranking has a lower mean AUC than smoothing, {kind} trees",
                   len(lower), target=0, note="100 times the difference: " + ", ".join(said)
                   if lower else f"of {len(results)}")
        )  # fmt: skip
    held = [name for name, samples in results.items() if signs_hold(name, samples)]
    others = sorted(set(results) - set(held))
    figures.append(
        Figure("sets on which the signs of the paper's significant differences in Table 4 hold",
               len(held), target=14, bound="at least",
               note=f"of {len(results)}" + (f"; not on {', '.join(others)}" if others else ""))
    )  # fmt: skip
    return figures
