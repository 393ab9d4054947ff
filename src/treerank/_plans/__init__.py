"""Plan: what an estimator's parameters mean for the rows at hand, before anything is grown."""
