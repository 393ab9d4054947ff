"""Trees stored as fixed-width arrays: ranking trees, trees of other splitters, and forests."""
