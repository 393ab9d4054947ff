"""A made-up table of loans, for the guide."""

import numpy as np
import pandas as pd


def make_loans(n=4000, seed=0):
    """Return one row a loan; `default` is 1 where it was not paid back."""
    rng = np.random.default_rng(seed)
    loans = pd.DataFrame(
        {
            "income": rng.lognormal(3.4, 0.45, n).round(1),  # thousands a year
            "amount": rng.lognormal(2.0, 0.7, n).round(1),  # thousands
            "months": rng.choice([12, 24, 36, 48, 60], n),
            "age": rng.integers(20, 71, n),
            "late_payments": rng.poisson(0.5, n),
            "purpose": rng.choice(["car", "furniture", "business", "holiday"], n),
            "home": rng.choice(["owns", "rents", "family"], n, p=[0.5, 0.4, 0.1]),
        }
    )
    risk = (
        -4.0
        + 1.3 * loans.late_payments.clip(upper=3)
        + 2.0 * (loans.amount / loans.income > 0.35)
        + 1.2 * loans.purpose.isin(["business", "holiday"])
        + 0.6 * (loans.home == "rents")
        + 0.02 * (loans.months - 36)
        - 0.02 * (loans.age - 45)
    )
    loans["default"] = (rng.random(n) < 1 / (1 + np.exp(-risk))).astype(int)
    # Those who are in trouble are less likely to state what they earn.
    loans.loc[rng.random(n) < 0.05 + 0.15 * loans.default, "income"] = np.nan
    return loans
