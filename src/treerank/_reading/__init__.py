"""Interpret fitted models: partitions, rules, explanations, attributions, dependence."""
