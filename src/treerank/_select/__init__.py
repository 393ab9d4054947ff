"""Model selection on held-out rows: folds, pruning, shrinkage, monotone values, rank consensus."""
