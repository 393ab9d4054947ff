"""Bin: values become small codes; thresholds and categories are kept."""
