"""Read: partition, rules, explanation, dependence."""
