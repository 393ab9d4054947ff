"""How fast treerank is and how well it ranks; ``python -m benchmarks`` writes the tables."""
