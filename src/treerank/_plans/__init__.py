"""Plans: the parameters of an estimator, checked and resolved for the training rows."""
