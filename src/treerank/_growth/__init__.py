"""Growth of trees: options and plans, and the rows that trees are grown on, wherever they are."""
