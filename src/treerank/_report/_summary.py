"""The summary: five sentences, each generated from the numbers of the page."""

from __future__ import annotations

from typing import Any

from treerank._report._render import area, percent, weight


def summary_sentences(page: dict[str, Any]) -> list[str]:
    """Sentences on the rows, the ranking, its top, its reliability, and the features."""
    two_classes = page["two_classes"]
    return [
        _rows(page),
        _ranking(page) if two_classes else _ordered_ranking(page),
        _top(page) if two_classes else _ordered_top(page),
        _trust(page) if two_classes else _ordered_trust(page),
        _features(page),
    ]


def _rows(page: dict[str, Any]) -> str:
    facts = page["facts"]
    rows = f"{facts['rows']:,}"
    if page["is_held_out"]:
        source = f"{rows} training rows, each scored by a model that had not seen it"
    elif page["is_training"]:
        source = f"the {rows} rows that it was fitted to, so that every figure is too good"
    else:
        source = f"{rows} rows that were given as new ones"
    if page["two_classes"]:
        events = facts["totals"][1]
        share = percent(events / sum(facts["totals"]))
        what = f"{weight(events)} of them ({share}) have the outcome {page['event']}"
    else:
        mean, lower, upper = (area(v, 2) for v in page["summary"]["mean"])
        what = f"their mean grade is {mean} ({lower} to {upper}){grade_scale(page)}"
    return f"This {facts['model']} was evaluated on {source}; {what}."


def grade_scale(page: dict[str, Any]) -> str:
    """Describe the scale of the mean grade if the grades are not numbers."""
    if page["summary"]["is_number"]:
        return ""
    classes = page["facts"]["classes"]
    return f" on a scale from 0, {classes[0]}, to {len(classes) - 1}, {classes[-1]}"


def _ranking(page: dict[str, Any]) -> str:
    found = page["summary"]
    limits = (
        f"{percent(page['level'], 0)} limits {area(found['lower'], 3)} to {area(found['upper'], 3)}"
    )
    said = f"AUC {area(found['auc'], 3)}, {limits}"
    if found["lower"] <= 0.5:
        return f"Its ranking is not shown to be better than chance: {said}, where chance gives 0.5."
    text = (
        f"A random event is ranked above a random non-event {percent(found['auc'])} of the time "
        f"({said})"
    )
    return text + _against_training(page, found["auc"])


def _against_training(page: dict[str, Any], judged: float) -> str:
    training = page["training_auc"]
    if training is None or page["is_training"]:
        return "."
    gap = training - judged
    if gap < 0.005:
        return f", no worse than on the training rows ({area(training, 3)})."
    return f", {area(gap, 3)} less than on the training rows ({area(training, 3)})."


def _ordered_ranking(page: dict[str, Any]) -> str:
    found = page["summary"]
    lower, upper = (area(v, 3) for v in found["concordance_limits"])
    limits = f"{percent(page['level'], 0)} limits {lower} to {upper}"
    said = f"concordance {area(found['concordance'], 3)}, {limits}"
    if found["concordance_limits"][0] <= 0.5:
        return f"Its ranking is not shown to be better than chance: {said}, where chance gives 0.5."
    return (
        f"Of two random rows of different grades, the one of the higher grade is ranked higher "
        f"{percent(found['concordance'])} of the time ({said})."
    )


def _top(page: dict[str, Any]) -> str:
    top = page["gains"]["rows"][0]
    return (
        f"The top {percent(top['cumulative_rows'])} of the ranking holds "
        f"{percent(top['cumulative_events'])} of the events: {percent(top['event_rate'])} of its "
        f"rows are events, {area(top['lift'], 1)} times the rate of all rows."
    )


def _ordered_top(page: dict[str, Any]) -> str:
    best, worst = page["summary"]["ends"]
    return (
        f"The mean grade is {area(best[0], 2)} in the top tenth of the ranking and "
        f"{area(worst[0], 2)} in the bottom tenth."
    )


def _trust(page: dict[str, Any]) -> str:
    """Describe the calibration or, without probabilities, the order of the strata."""
    found = page["calibration"]
    if found is None:
        return _order(page)
    text = (
        f"It predicts {percent(found['predicted'])} events on average where "
        f"{percent(found['observed'])} occurred"
    )
    if found["slope"] is None:
        return f"{text}."
    lower, upper = found["slope_limits"]
    slope = f"calibration slope {area(found['slope'], 2)}, {area(lower, 2)} to {area(upper, 2)}"
    if lower > 1:
        return f"{text}, and its probabilities are too close to the mean ({slope})."
    if upper < 1:
        return f"{text}, and its probabilities are too extreme ({slope})."
    return f"{text}, and the spread of its probabilities is right within noise ({slope})."


def _order(page: dict[str, Any]) -> str:
    if page["view"] is None:
        return (
            "It gives scores and no probabilities, so that only the order of rows can be checked."
        )
    n, n_breaks = len(page["step"].leaves), page["n_breaks"]
    if n_breaks == 0:
        return f"None of its {n} strata breaks the order beyond noise."
    return f"Of its {n} strata {n_breaks} break the order beyond noise."


def _ordered_trust(page: dict[str, Any]) -> str:
    cuts = page["by_cut"]["rows"]
    best, worst = max(cuts, key=_auc), min(cuts, key=_auc)
    if len(cuts) == 1 or best["label"] == worst["label"]:
        return f"The AUC of each cut between grades is {area(best['auc'], 3)}."
    return (
        f"It separates grades best at {best['label']} against the rest "
        f"(AUC {area(best['auc'], 3)}) and least at {worst['label']} "
        f"(AUC {area(worst['auc'], 3)})."
    )


def _auc(cut: dict[str, Any]) -> float:
    return float(cut["auc"])


def _features(page: dict[str, Any]) -> str:
    found = page["importance"]
    clear = [row for row in found["rows"] if row["is_clear"]]
    if not found["rows"]:
        return "It uses none of the columns."
    if not clear:
        return (
            f"No single column matters beyond noise: shuffling any one of them lowers the "
            f"{found['measure']} by no more than chance may explain."
        )
    first, *others = clear
    lower, upper = area(first["lower"], 3), area(first["upper"], 3)
    text = (
        f"It depends most on {first['name']}: shuffling that column lowers the "
        f"{found['measure']} by {area(first['value'], 3)} ({lower} to {upper})"
    )
    if others:
        text += ", followed"
        if any(row["value"] > clear[:3][-1]["value"] for row in found["rows"] if row not in clear):
            text += ", among the columns whose effect is clearly above 0,"
        text += f" by {' and '.join(row['name'] for row in others[:2])}"
    return f"{text}."
