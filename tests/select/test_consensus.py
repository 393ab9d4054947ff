"""Median rankings, against enumeration."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples
from scipy.stats import rankdata

from treerank import consensus
from treerank.metrics import ranking_distance
from treerank.metrics._discordance import discordance, insertion_places


def rankings(n_rankings, n_points, seed, levels=None):
    rng = np.random.default_rng(seed)
    return rng.integers(0, levels or n_points, size=(n_rankings, n_points)).astype(float)


def all_bucket_orders(n):
    """Every ranking with ties of n points, as dense ranks."""
    for places in product(range(n), repeat=n):
        if set(places) == set(range(max(places) + 1)):
            yield np.array(places, dtype=float)


def total_distance(place, given_rankings):
    n = len(place)
    pairs = n * (n - 1) / 2
    return sum(ranking_distance(place, row) for row in given_rankings) * pairs


@examples(60)
@given(st.integers(1, 7), st.integers(2, 5), st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_kendall_is_the_best_of_all_rankings_with_ties(n_rankings, n_points, seed, levels):
    given_rankings = rankings(n_rankings, n_points, seed, levels)
    found = consensus.kendall_cost(consensus.kendall(given_rankings), given_rankings)
    best = min(
        consensus.kendall_cost(place, given_rankings) for place in all_bucket_orders(n_points)
    )
    assert found == pytest.approx(best)


def test_kendall_is_exact_on_eight_cells_of_many_points():
    eight = rankings(6, 8, 0)
    size = np.array([1, 3, 2, 1, 4, 1, 2, 1])
    points = np.repeat(eight, size, axis=1)
    found = consensus.kendall(points)
    for start in np.cumsum(size) - size:  # points that no ranking tells apart are tied
        cell = found[start : start + size[list(np.cumsum(size) - size).index(start)]]
        assert len(set(cell)) == 1
    cost = consensus.kendall_cost(found, points)
    rng = np.random.default_rng(1)
    for _ in range(300):
        other = rng.integers(0, 8, size=8)
        assert cost <= consensus.kendall_cost(np.repeat(other, size), points) + 1e-9


@examples(40)
@given(st.integers(1, 12), st.integers(9, 30), st.integers(0, 2**32 - 1), st.integers(2, 30))
def test_kendall_is_never_worse_than_the_mean_rank(n_rankings, n_points, seed, levels):
    given_rankings = rankings(n_rankings, n_points, seed, levels)
    cost = {
        rule: consensus.kendall_cost(getattr(consensus, rule)(given_rankings), given_rankings)
        for rule in ("kendall", "mean_rank")
    }
    assert cost["kendall"] <= cost["mean_rank"] + 1e-9


def test_no_single_move_improves_a_large_kendall_median():
    given_rankings = rankings(9, 14, 3)
    place = rankdata(consensus.kendall(given_rankings), method="dense")
    cost = consensus.kendall_cost(place, given_rankings)
    for point in range(14):
        for position in np.arange(0.5, place.max() + 1, 0.5):
            moved = place.astype(float)
            moved[point] = position
            assert cost <= consensus.kendall_cost(moved, given_rankings) + 1e-9


@examples(30)
@given(st.integers(1, 8), st.integers(2, 20), st.integers(0, 2**32 - 1))
def test_kendall_cost_counts_the_distances_of_the_metric(n_rankings, n_points, seed):
    given_rankings = rankings(n_rankings, n_points, seed, 4)
    place = rankings(1, n_points, seed + 1, 4)[0]
    cost = consensus.kendall_cost(place, given_rankings)
    assert cost == pytest.approx(total_distance(place, given_rankings))


def test_unanimous_rankings_are_their_own_consensus():
    one = np.array([3.0, 1.0, 2.0, 2.0, 5.0])
    for rule in (consensus.mean_rank, consensus.median_rank, consensus.kendall):
        assert rule([one] * 4).tolist() == rankdata(one).tolist()


def test_mean_and_median_rank_minimise_their_distances_over_points():
    given_rankings = rankings(7, 10, 5)
    ranks = rankdata(given_rankings, axis=1)
    mean, median = ranks.mean(axis=0), np.median(ranks, axis=0)
    assert consensus.mean_rank(given_rankings).tolist() == rankdata(mean.round(9)).tolist()
    assert consensus.median_rank(given_rankings).tolist() == rankdata(median).tolist()


def test_a_point_is_inserted_where_it_costs_least():
    given_rankings = rankings(7, 12, 2, levels=1000)
    order = np.argsort(consensus.kendall(given_rankings), kind="stable")
    ranked = given_rankings[:, order]
    below = (ranked[:, :, None] > ranked[:, None, :]).mean(axis=0)
    preferred = below + 0.5 * (ranked[:, :, None] == ranked[:, None, :]).mean(axis=0)
    places = insertion_places(preferred)
    own = np.arange(12.0)
    cost = consensus.kendall_cost(own, ranked)
    for point in range(12):
        moved = own.copy()
        moved[point] = places[point] - 0.5
        assert consensus.kendall_cost(moved, ranked) <= cost + 1e-9


@pytest.mark.parametrize(
    ("bad", "message"),
    [([1, 2, 3], "shape"), ([[1, np.nan]], "NaN"), (np.empty((0, 3)), "shape")],
)
def test_bad_rankings_are_refused(bad, message):
    for rule in (consensus.mean_rank, consensus.median_rank, consensus.kendall):
        with pytest.raises(ValueError, match=message):
            rule(bad)
    with pytest.raises(ValueError, match="2 points; expected 3"):
        consensus.kendall_cost([1, 2], [[1, 2, 3]])


@examples(30)
@given(st.integers(1, 90), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_discordance_counts_pair_by_pair(n_points, n_levels, seed):
    rng = np.random.default_rng(seed)
    one, other = rng.integers(0, n_levels, size=(2, n_points))
    pairs = [(i, j) for i in range(n_points) for j in range(i)]
    expected = sum(
        abs(np.sign(one[i] - one[j]) - np.sign(other[i] - other[j])) / 2 for i, j in pairs
    )
    assert discordance(one, other) == pytest.approx(expected)
