"""Validate: columns, categories, labels, weights and parameters, of tables and of blocks."""
