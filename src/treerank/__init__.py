"""Ranking trees: order cases so that the positive ones come first."""
