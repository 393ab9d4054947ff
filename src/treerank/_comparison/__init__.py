"""Compare: models on the same folds, and two samples by how well a model tells them apart."""
