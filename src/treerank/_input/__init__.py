"""Validation of columns, categories, labels, weights and parameters, for tables and blocks."""
