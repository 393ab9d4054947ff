"""Distances between rankings of the same points."""

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import kendalltau, rankdata

from treerank._input.types import Floats

from ._input import check_scores

_KINDS = ("kendall", "footrule", "spearman")


def ranking_distance(a: ArrayLike, b: ArrayLike, kind: str = "kendall") -> float:
    """Distance between two rankings, from 0 (the same) to 1 (one reverses the other).

    Rankings are given by scores, of which only the order counts. All three distances are divided by
    their maximum over rankings of n points, which two opposite rankings without ties attain.

    - `"kendall"`: share of the `n (n - 1) / 2` pairs that are in opposite order, where a pair tied
      in only one ranking counts 1/2. Takes O(n log n).
    - `"footrule"`: sum of the absolute differences of mid-ranks over `floor(n^2 / 2)`.
    - `"spearman"`: sum of the squared differences of mid-ranks over `n (n^2 - 1) / 3`; without ties
      this is `(1 - rho) / 2`. (Its square root is a metric; the distance itself is not.)

    Parameters
    ----------
    a, b : array-like of shape (n,)
        Scores or ranks of the same n >= 2 points, in the same direction.
    kind : {"kendall", "footrule", "spearman"}, default="kendall"
        The distance.

    Returns
    -------
    float

    References
    ----------
    Fagin, Kumar, Mahdian, Sivakumar and Vee (2006), "Comparing partial rankings", SIAM Journal on
    Discrete Mathematics 20.

    Examples
    --------
    >>> from treerank.metrics import ranking_distance
    >>> ranking_distance([1, 2, 3], [3, 2, 1])
    1.0
    >>> ranking_distance([1, 2], [5, 5])
    0.5
    """
    _check_kind(kind)
    first = check_scores(a, name="a")
    second = check_scores(b, name="b")
    if first.size != second.size:
        raise ValueError(
            f"Got {first.size} and {second.size} scores; expected both rankings of the same points."
        )
    _check_points(first.size)
    if kind == "kendall":
        return _kendall(first, second)
    gap = np.abs(rankdata(first) - rankdata(second))
    n = first.size
    return float(gap.sum() / (n * n // 2) if kind == "footrule" else gap @ gap / _spearman_max(n))


def instability(scores: ArrayLike, kind: str = "spearman") -> float:
    """Mean distance between the rankings that several models give to the same points.

    Train a method on several bootstrap samples and score one set of points with each model: a
    stable method ranks the points alike. This is the mean of `ranking_distance` over all pairs of
    models [1]_.

    Parameters
    ----------
    scores : array-like of shape (n_models, n_points)
        One row of scores per model.
    kind : {"kendall", "footrule", "spearman"}, default="spearman"
        The distance. Spearman's, which the paper uses, and the footrule take one sort per model
        or point; Kendall's is computed for each pair of models.

    Returns
    -------
    float
        Between 0 and 1.

    References
    ----------
    .. [1] Clémençon, Depecker and Vayatis (2011), "An empirical comparison of learning algorithms
       for nonparametric scoring".

    Examples
    --------
    >>> from treerank.metrics import instability
    >>> instability([[1, 2, 3], [1, 2, 3], [3, 2, 1]], kind="kendall")
    0.6666666666666666
    """
    _check_kind(kind)
    rows = np.asarray(scores)
    if rows.ndim != 2 or rows.shape[0] < 2:
        raise ValueError(
            f"Got scores of shape {rows.shape}; expected (n_models, n_points), n_models >= 2."
        )
    rows = np.stack([check_scores(row, name="scores") for row in rows])
    n_models, n_points = rows.shape
    _check_points(n_points)
    if kind == "kendall":
        pairs = combinations(rows, 2)
        return float(np.mean([_kendall(a, b) for a, b in pairs]))
    ranks = rankdata(rows, axis=1)
    n_pairs = n_models * (n_models - 1) / 2
    if kind == "footrule":
        return float(_sum_of_gaps(ranks) / (n_points * n_points // 2) / n_pairs)
    # Sum over pairs of squared differences: n_models times the sum of squares about the mean.
    centred = ranks - ranks.mean(axis=0)
    return float(n_models * np.sum(centred * centred) / _spearman_max(n_points) / n_pairs)


def _kendall(a: Any, b: Any) -> float:
    """Return the share of discordant pairs, plus half the share of pairs tied in one ranking only.

    Of `all` pairs, let c be concordant, d discordant, t tied in both rankings and the others tied
    in one. The result is `(all - t - (c - d)) / 2`, divided by `all`. scipy counts c - d in
    O(n log n), but divides it by the geometric mean of the numbers of pairs that each ranking does
    not tie.
    """
    pairs = a.size * (a.size - 1) / 2
    codes_a, codes_b = rankdata(a, "dense"), rankdata(b, "dense")
    tied_a, tied_b = _tied_pairs(codes_a), _tied_pairs(codes_b)
    tied_both = _tied_pairs(codes_a * (codes_b.max() + 1) + codes_b)
    balance = 0.0
    if tied_a < pairs and tied_b < pairs:
        tau = kendalltau(codes_a, codes_b).statistic
        balance = np.rint(tau * np.sqrt(pairs - tied_a) * np.sqrt(pairs - tied_b))
    return float((pairs - tied_both - balance) / 2 / pairs)


def _tied_pairs(codes: Any) -> float:
    _, counts = np.unique(codes, return_counts=True)
    return float(np.sum(counts * (counts - 1) / 2))


def _sum_of_gaps(ranks: Floats) -> float:
    """Return the sum of |r - r'| over points and pairs of models, by sorting each point's ranks."""
    n_models = ranks.shape[0]
    factor = 2 * np.arange(n_models) - n_models + 1
    return float(np.sum(factor @ np.sort(ranks, axis=0)))


def _spearman_max(n: int) -> float:
    return n * (n * n - 1) / 3


def _check_kind(kind: str) -> None:
    if kind not in _KINDS:
        raise ValueError(f"Got kind={kind!r}; expected one of {list(_KINDS)}.")


def _check_points(n_points: int) -> None:
    if n_points < 2:
        raise ValueError(f"Got {n_points} point; expected at least 2 to rank.")
