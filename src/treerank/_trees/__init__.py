"""Trees as fixed-width arrays: ranking trees, trees of other splitters, forests."""
