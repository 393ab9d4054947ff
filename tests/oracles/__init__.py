"""Slow twins: reference implementations of the kernels, written to be read; a module per room."""

from .binning import (
    all_thresholds,
    encode,
    level_statistic,
    number_labels,
    odd_numbers,
    rows_up_to,
    thresholds,
)
from .boosting import (
    AmbiguousTieError,
    GradientRows,
    boosted_tree_values,
    fixed_point,
    logistic_derivatives,
    sigmoid,
)
from .draws import draw_counts, folds
from .geometric import distance_in_ranking_tree, distance_to_boundary, leaf_boxes
from .growth import audit, cell_means, most_frequent
from .metrics import auc, concordance, top_of_cells
from .pruning import (
    all_subtrees,
    best_penalised,
    held_out_worth,
    leaves_at,
    prune_leafrank,
    readable_test,
)
from .reading import baseline_game, path_game, shapley_interactions, shapley_values
from .scoring import best_grades, mixture_evidence
from .splits import all_cuts, cut_gain, histogram
from .trees import (
    baked_values,
    node_weights,
    path_values,
    shrunken_walk,
    sums_of_leaves,
    tested_cuts,
    walk,
)
