"""Plan: what an estimator's parameters mean for the training rows, before anything is grown."""
