"""Choose on held-out rows: folds, pruning, shrinkage, monotone values, consensus of ranks."""
