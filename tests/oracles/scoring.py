"""Grades of scores, and evidence of a change."""

from itertools import combinations, pairwise

import numpy as np
import scipy.stats


def best_grades(counts, max_grades, min_share, max_share, z):
    """Try every way to cut ranges (class counts, lowest first) into grades.

    Return the largest mean AUC of all pairs of classes, and the cuts that attain it; -inf if none.
    """
    counts = np.asarray(counts, dtype=float)
    n, total = len(counts), counts.sum()
    best = -np.inf, None
    for n_cuts in range(min(max_grades, n)):
        for cuts in combinations(range(1, n), n_cuts):
            grades = [part.sum(axis=0) for part in np.split(counts, cuts)]
            shares = [grade.sum() / total for grade in grades]
            if min(shares) < min_share - 1e-9 or max(shares) > max_share + 1e-9:
                continue
            if any(grade.sum() == 0 for grade in grades):
                continue
            if all(_rises(low, high, z) for low, high in pairwise(grades)):
                found = _mean_auc(grades)
                if found > best[0] + 1e-12:
                    best = found, list(cuts)
    return best


def _rises(low, high, z):
    """Whether the mean class rises by at least `z` standard errors."""
    values = [np.repeat(np.arange(len(g)), g.astype(int)) for g in (low, high)]
    difference = values[1].mean() - values[0].mean()
    error = np.sqrt(np.concatenate(values).var() * sum(1 / len(v) for v in values))
    return difference > 1e-12 and difference >= z * error


def _mean_auc(grades):
    """Return the mean AUC of the grades over pairs of classes."""
    areas = []
    for a, b in combinations(range(len(grades[0])), 2):
        won = sum(
            grades[i][a] * grades[j][b] * ((j > i) + 0.5 * (i == j))
            for i in range(len(grades))
            for j in range(len(grades))
        )
        areas.append(won / sum(g[a] for g in grades) / sum(g[b] for g in grades))
    return np.mean(areas)


def mixture_evidence(estimates, variances, baseline_variance, rho, one_sided):
    """Return the likelihood ratio of "changed by d" to "unchanged", averaged over d numerically.

    The differences of the periods share the noise of the baseline; d is normal with variance
    1 / rho, or its positive half.
    """
    covariance = np.diag(variances) + baseline_variance
    density = scipy.stats.multivariate_normal(cov=covariance)
    scale = rho**-0.5
    d = np.linspace(0 if one_sided else -12 * scale, 12 * scale, 40_001)
    weight = scipy.stats.norm.pdf(d, scale=scale) * (2 if one_sided else 1)
    ratio = np.exp(density.logpdf(np.asarray(estimates) - d[:, None]) - density.logpdf(estimates))
    return float(np.trapezoid(weight * ratio, d))
