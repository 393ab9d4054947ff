"""Comparisons: of models on the same folds, and of two samples by a model that separates them."""
