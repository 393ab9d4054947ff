"""Splits by a dyadic grid."""

from itertools import product

import numpy as np
import pytest
from sklearn.base import clone

from treerank import TreeRank
from treerank.splitters import DyadicGrid


def delta(y, better, weight):
    """Gain of a split as in the definition: alpha(C) beta(L) - beta(C) alpha(L), at the root."""
    positive, negative = weight * (y == 1), weight * (y == 0)
    return positive[better].sum() / positive.sum() - negative[better].sum() / negative.sum()


@pytest.mark.parametrize("seed", range(6))
def test_a_grid_split_is_the_best_of_all_unions_of_cubes(seed):
    rng = np.random.default_rng(seed)
    n_features, resolution = [(1, 3), (2, 1), (3, 1), (1, 2), (2, 1), (1, 3)][seed]
    x = rng.random((60, n_features))
    x[:2] = [[0.0] * n_features, [1.0] * n_features]  # so that the cubes are known
    y, weight = rng.integers(0, 2, 60), rng.integers(1, 4, 60).astype(float)
    grid = DyadicGrid(resolution).fit(x, y, weight)
    side = 2**resolution
    cube = np.minimum((x * side).astype(int), side - 1) @ side ** np.arange(n_features)
    unions = product([False, True], repeat=side**n_features)
    best = max(delta(y, np.array(union)[cube], weight) for union in unions)
    assert delta(y, grid.better_side(x), weight) == pytest.approx(best, abs=1e-12)


def test_a_cube_that_changes_nothing_goes_to_the_larger_better_side():
    x = np.array([[0.0], [0.3], [0.3], [0.6], [0.6], [1.0]])
    y = np.array([1, 0, 1, 0, 1, 0])
    grid = DyadicGrid(2).fit(x, y)
    assert grid.better_side(x).tolist() == [True, True, True, True, True, False]


def test_rows_in_unseen_cubes_go_with_the_most_weight_and_rows_outside_to_the_nearest_cube():
    x, y = np.array([[0.0], [0.1], [1.0]]), np.array([1, 0, 0])
    for weight, elsewhere in (([1, 1, 9], False), ([9, 9, 1], True)):
        grid = DyadicGrid(3).fit(x, y, np.array(weight, dtype=float))
        assert grid.better_side(np.array([[0.5]])).tolist() == [elsewhere]
        assert grid.better_side(np.array([[-7.0], [7.0]])).tolist() == [True, False]


def test_a_fine_grid_stores_occupied_cubes_only():
    rng = np.random.default_rng(0)
    x, y = rng.random((500, 4)), rng.integers(0, 2, 500)
    grid = DyadicGrid(15).fit(x, y)
    assert len(grid.cubes_) <= 500
    assert grid.better_side(x).tolist() == (y == 1).tolist()  # a cube for every row


def test_a_grid_too_fine_to_number_its_cubes_is_refused():
    rng = np.random.default_rng(0)
    x, y = rng.random((50, 9)), rng.integers(0, 2, 50)
    with pytest.raises(ValueError, match=r"Got resolution=8 .* 72 bits.* at most 7"):
        TreeRank(splitter=DyadicGrid(8)).fit(x, y)
    with pytest.raises(ValueError, match="Got resolution=0; expected an integer >= 1"):
        DyadicGrid(0).fit(x, y)
    with pytest.raises(ValueError, match="Got resolution=53; expected an integer from 1 to 52"):
        DyadicGrid(53).fit(x[:, :1], y)
    flags = np.column_stack([x[:, :6], (x[:, 6:] > 0.5)])
    DyadicGrid(10).fit(flags, y)  # a feature of two values takes one bit: 63 in all


@pytest.mark.parametrize("ends", [(-1.7e308, 1.7e308), (0.0, 1e-322), (1e16, 1e16 + 64)])
@pytest.mark.parametrize("resolution", [2, 52])
def test_a_grid_fits_the_widest_and_the_narrowest_box(ends, resolution):
    low, high = ends
    middle = low / 2 + high / 2
    x, y = np.array([[low], [middle], [high], [high]]), np.array([1, 1, 0, 1])
    grid = DyadicGrid(resolution).fit(x, y)
    assert len(grid.cubes_) == 3
    assert grid.better_side(x).tolist() == [True, True, False, False]
    assert grid.better_side(np.array([[-1.7e308], [1.7e308]])).tolist() == [True, False]


def test_a_grid_divides_the_box_of_all_training_rows(ring):
    x, y = ring
    model = TreeRank(splitter=DyadicGrid(2), pruning=None, shrinkage=None).fit(x, y)
    boxes = [split.splitter._box for split in model.tree_.splits]
    assert len(boxes) > 1
    for box in boxes:
        assert np.array_equal(box.low, x.min(axis=0))
        assert np.array_equal(box.high, x.max(axis=0))


def test_whole_weights_equal_repeated_rows_with_a_grid(ring):
    x, y = ring
    weight = np.random.default_rng(5).integers(0, 4, len(y))
    model = TreeRank(splitter=DyadicGrid(3), pruning=None, shrinkage=2.0)
    weighted = clone(model).fit(x, y, weight)
    repeated = clone(model).fit(np.repeat(x, weight, 0), np.repeat(y, weight))
    assert np.array_equal(weighted.tree_.cells, repeated.tree_.cells)
    assert np.array_equal(weighted.tree_.counts, repeated.tree_.counts)
    assert np.array_equal(weighted.score_samples(x), repeated.score_samples(x))
