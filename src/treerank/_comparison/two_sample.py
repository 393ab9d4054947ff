"""Two-sample test by learning to rank: whether two samples have the same distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import mannwhitneyu
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.utils import check_array

from treerank._input.frames import open_frame, take_rows_of
from treerank._input.parameters import invalid_parameter
from treerank._input.seed import seed_of
from treerank._input.text_arrays import open_text_array
from treerank._input.types import RandomStateLike
from treerank._treerank import TreeRank
from treerank.metrics import AucInterval, auc_interval
from treerank.plots._scores import ranking_scores

LEAST_ROWS = 4  # two for training, two for the test


@dataclass(frozen=True)
class TwoSampleResult:
    """Result of :func:`two_sample_test`.

    Attributes
    ----------
    statistic : float
        Mann-Whitney's U of the scores of the second sample, on the test half.
    pvalue : float
        Probability of a U at least this large if both samples come from the same distribution.
    auc : float
        Probability that the learned score ranks a row of `y` above a row of `x`: how well the
        samples can be separated, 1/2 meaning not at all.
    interval : AucInterval
        Confidence interval of that AUC.
    model : estimator
        The fitted ranking model, which shows how the samples differ.
    """

    statistic: float
    pvalue: float
    auc: float
    interval: AucInterval
    model: Any


def two_sample_test(
    x: Any,
    y: ArrayLike,
    *,
    estimator: Any = None,
    test_size: float = 0.5,
    level: float = 0.95,
    random_state: RandomStateLike = None,
) -> TwoSampleResult:
    """Test whether two samples come from the same distribution, in any dimension.

    On one half of the rows, a score is learned that ranks rows of `y` above rows of `x`;
    on the other half, the ranks of the two samples are compared by the Wilcoxon
    (Mann-Whitney) test [1]_. Given its training rows, the score is a fixed function, so the
    test keeps its level however the score was learned; the better it ranks, the more power
    the test has.

    Parameters
    ----------
    x, y : array-like or data frame of shape (n_samples, n_features)
        The two samples, with the same columns; one-dimensional arrays have one feature.
    estimator : ranking model or classifier, optional
        By default ``TreeRank(pruning=None)``: if the difference is small, a pruned tree has
        only one stratum, and nothing to compare.
    test_size : float, default=0.5
        Share of the rows that are used for the test.
    level : float, default=0.95
        Confidence level of the interval of the AUC.
    random_state : int, RandomState or None, default=None
        Seed of the halves; None means 0.

    Returns
    -------
    TwoSampleResult
        `statistic`, `pvalue`, `auc`, `interval`, `model`.

    References
    ----------
    .. [1] S. Clémençon, M. Depecker, N. Vayatis, "AUC optimization and the two-sample
       problem", NIPS 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from treerank import two_sample_test
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(2, 500, 3))
    >>> y[:, 0] *= 2  # the same mean, another spread
    >>> result = two_sample_test(x, y)
    >>> result.pvalue < 0.001, bool(result.auc > 0.6)
    (True, True)
    """
    rows, labels = _join_samples(x, y)
    is_share = isinstance(test_size, float | np.floating) and 0 < test_size < 1
    if not is_share:
        raise invalid_parameter("test_size", test_size, "a share in (0, 1)")
    train, test = _split(labels, float(test_size), seed_of(random_state))
    model = TreeRank(pruning=None) if estimator is None else clone(estimator)
    model.fit(take_rows_of(rows, train), labels[train])
    scores = ranking_scores(model, take_rows_of(rows, test))
    interval = auc_interval(labels[test], scores, level=level)
    first, second = scores[labels[test] == 0], scores[labels[test] == 1]
    if np.ptp(scores) == 0:  # all scores are tied: no test is needed
        statistic, pvalue = len(first) * len(second) / 2, 1.0
    else:
        statistic, pvalue = mannwhitneyu(
            second, first, alternative="greater", method="auto" if _all_differ(scores)
            else "asymptotic",
        )  # fmt: skip
    return TwoSampleResult(float(statistic), float(pvalue), interval.auc, interval, model)


def _all_differ(scores: NDArray[np.float64]) -> bool:
    """Whether there are no ties, as the exact distribution of U requires."""
    return len(np.unique(scores)) == len(scores)


def _join_samples(x: Any, y: ArrayLike) -> tuple[Any, NDArray[np.intp]]:
    """Return all rows, and 0 for those of x, 1 for those of y."""
    frames = [frame for sample in (x, y) if (frame := open_frame(sample)) is not None]
    if len(frames) == 2:
        if frames[0].columns != frames[1].columns:
            raise ValueError(
                f"Got samples with columns {frames[0].columns[:6]} and {frames[1].columns[:6]}; "
                "expected the same columns in the same order."
            )
        sizes = [len(frame) for frame in frames]
        rows = nw.concat(frames, how="vertical").to_native()
    else:
        arrays = [_as_matrix(sample) for sample in (x, y)]
        if arrays[0].shape[1] != arrays[1].shape[1]:
            raise ValueError(
                f"Got samples with {arrays[0].shape[1]} and {arrays[1].shape[1]} features; "
                "expected as many in both."
            )
        sizes = [len(array) for array in arrays]
        rows = np.vstack(arrays)
    if min(sizes) < LEAST_ROWS:
        raise ValueError(
            f"Got samples of {sizes[0]} and {sizes[1]} rows; expected at least {LEAST_ROWS} each."
        )
    return rows, np.repeat([0, 1], sizes)


def _as_matrix(sample: Any) -> NDArray[Any]:
    if (text := open_text_array(sample)) is not None:
        array = text
    else:
        array = check_array(sample, dtype=float, ensure_2d=False, ensure_all_finite="allow-nan")
    return np.asarray(array[:, np.newaxis] if array.ndim == 1 else array)


def _split(
    labels: NDArray[np.intp], test_size: float, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return training rows and test rows, with at least two of each sample in both."""
    parts: list[list[NDArray[np.intp]]] = [[], []]
    for sample in (0, 1):
        rows = np.flatnonzero(labels == sample)
        n_test = int(np.clip(round(test_size * len(rows)), 2, len(rows) - 2))
        for part, chosen in zip(
            parts,
            train_test_split(rows, test_size=n_test, random_state=(seed + sample) % 2**32),
            strict=True,
        ):
            part.append(np.sort(chosen))
    return np.concatenate(parts[0]), np.concatenate(parts[1])
