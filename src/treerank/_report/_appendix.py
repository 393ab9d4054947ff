"""The appendix: what guidelines require of a model's documentation, filled in as far as known.

It has the items of TRIPOD+AI (G. Collins and others, "TRIPOD+AI statement", BMJ 385, 2024,
e078378) and the topics of the guidance on model risk of the Federal Reserve, the OCC and the FDIC
(SR 26-2 and OCC Bulletin 2026-13 of 17 April 2026, which replace SR 11-7), in our own words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from treerank._input.columns import missing_mask
from treerank._input.types import FittedClassifier
from treerank._report._render import area, number, percent, weight
from treerank._report._sample import ScoredRows

MAX_COLUMNS = 40


@dataclass(frozen=True)
class Item:
    """One item to document.

    Attributes
    ----------
    number, topic : str
    known : str
        What is known from the model and its rows; may be empty.
    asks : str
        What a person has to write; may be empty.
    """

    number: str
    topic: str
    known: str = ""
    asks: str = ""


@dataclass(frozen=True)
class Part:
    """Items of one guideline."""

    title: str
    note: str
    items: list[Item]


def appendix(context: dict[str, Any], model: FittedClassifier, sample: ScoredRows) -> list[Part]:
    """Fill in the items from the content of the page."""
    known = _known(context, model, sample)
    return [
        Part(
            "TRIPOD+AI",
            "Items of the TRIPOD+AI statement (BMJ 385, 2024, e078378) for studies that develop "
            "or evaluate a prediction model.",
            _tripod(known),
        ),
        Part(
            "Model risk",
            "What the interagency guidance on model risk management speaks of (SR 26-2 and OCC "
            "Bulletin 2026-13 of 17 April 2026, which replace SR 11-7).",
            _model_risk(known),
        ),
    ]


def to_markdown(title: str, parts: list[Part], made: str) -> str:
    """Format the appendix as Markdown, with blanks for what a person has to write."""
    lines = [f"# {_escape(title)}: documentation", "", f"Made {made}."]
    for part in parts:
        lines += ["", f"## {part.title}", "", part.note, ""]
        for item in part.items:
            lines.append(
                f"- **{item.number} {_escape(item.topic)}.** {_escape(item.known)}".rstrip()
            )
            if item.asks:
                lines.append(f"  - {_escape(item.asks)}: ______________________________")
    lines += ["", "## Sign-off", ""]
    lines += [f"- {who}: ____________________  Date: ____________" for who in SIGNATURES]
    return "\n".join(lines) + "\n"


SIGNATURES = ("Prepared by", "Validated by", "Approved by")


def _escape(text: str) -> str:
    """Escape characters in names and values that have a meaning in Markdown or HTML."""
    return re.sub(r"([\\`*_{}\[\]<>|#&~])", r"\\\1", " ".join(text.split()))


def _known(context: dict[str, Any], model: FittedClassifier, sample: ScoredRows) -> dict[str, str]:
    """Sentences about the model and its rows."""
    facts = context["facts"]
    return {
        "title": context["title"],
        "model": f"{facts['model']} of treerank-ml {dict(facts['versions'])['treerank-ml']}"
        if type(model).__module__.startswith("treerank.")
        else facts["model"],
        "rows": _rows(context),
        "fingerprint": f"SHA-256 of the evaluation rows: {facts['fingerprint']}.",
        "columns": _columns(sample),
        "missing": _missing(sample),
        "judged": _judged(context),
        "development": _development(context),
        "parameters": _parameters(facts),
        "performance": _performance(context),
        "groups": _groups(context),
        "segments": _segments(context),
        "stability": _stability(context),
        "champion": _champion(context),
        "specification": _specification(context),
        "versions": ", ".join(f"{name} {value}" for name, value in facts["versions"]) + ".",
        "seed": f"Seed: {facts['seed']}.",
        "output": "A score that ranks the rows"
        + (", and a probability of each class." if sample.probability is not None else "."),
    }


def _rows(context: dict[str, Any]) -> str:
    facts = context["facts"]
    counts = ", ".join(
        f"{weight(n)} of class {label}"
        for n, label in zip(facts["totals"], facts["classes"], strict=True)
    )
    return f"{facts['rows']:,} rows of {facts['columns']} columns: {counts}."


def _development(context: dict[str, Any]) -> str:
    """Describe the training rows as far as they are known."""
    if context["view"] is not None:
        counts = context["view"].tree.counts[0]
        return (
            f"Fitted to rows of the weight {weight(counts.sum())}, {weight(counts[-1])} of them "
            f"of class {context['facts']['classes'][-1]}."
        )
    if context["is_held_out"]:
        return f"Fitted to these rows: {_rows(context)}"
    n = context["facts"]["training_rows"]
    return "" if n is None else f"Fitted to {n:,} rows."


def _columns(sample: ScoredRows) -> str:
    names = sample.table.names
    more = f" and {len(names) - MAX_COLUMNS} more" if len(names) > MAX_COLUMNS else ""
    return ", ".join(names[:MAX_COLUMNS]) + more + "."


def _missing(sample: ScoredRows) -> str:
    """Describe the shares of missing values in the columns that have any."""
    shares = []
    for j, name in enumerate(sample.table.names):
        missing = missing_mask(sample.table.column(j))
        if missing.any():
            shares.append(f"{name} {percent(float(np.mean(missing)))}")
    if not shares:
        return "No value is missing in the evaluation rows."
    more = f" and {len(shares) - MAX_COLUMNS} more columns" if len(shares) > MAX_COLUMNS else ""
    return f"Missing in the evaluation rows: {', '.join(shares[:MAX_COLUMNS])}{more}."


def _judged(context: dict[str, Any]) -> str:
    if context["is_held_out"]:
        return f"Evaluated on {context['judged_on']} of the training rows."
    if context["is_training"]:
        return "Evaluated on the training rows themselves: all figures are too good."
    return "Evaluated on rows that were given as new ones."


def _parameters(facts: dict[str, Any]) -> str:
    changed = ", ".join(f"{row['name']}={row['value']}" for row in facts["changed"])
    return f"Parameters other than the defaults: {changed or 'none'}. Seed: {facts['seed']}."


def _performance(context: dict[str, Any]) -> str:
    summary, level = context["summary"], percent(context["level"], 0)
    if context["two_classes"]:
        value, lower, upper = summary["auc"], summary["lower"], summary["upper"]
        said = f"AUC {area(value)} ({level} limits {area(lower)} to {area(upper)})"
    else:
        lower, upper = summary["concordance_limits"]
        said = (
            f"Concordance {area(summary['concordance'])} ({level} limits {area(lower)} to "
            f"{area(upper)}); VUS {area(summary['vus'])}"
        )
        if summary["vus_limits"] is not None:
            lower, upper = summary["vus_limits"]
            said += f" ({area(lower)} to {area(upper)})"
    if context["training_auc"] is not None:
        said += f"; {area(context['training_auc'])} on the training rows"
    if context["two_classes"]:
        said += f"; Gini {area(summary['gini'])}, KS {area(summary['ks'])}"
    found = context["calibration"]
    if found:
        slope = "not defined" if found["slope"] is None else number(found["slope"], 3)
        said += (
            f"; Brier score {area(found['brier'])}, calibration slope {slope}, in the large "
            f"{number(found['in_the_large'], 3)}"
        )
    return said + "."


def _groups(context: dict[str, Any]) -> str:
    if not context["groups"]:
        return ""
    groups = context["groups"]["found"].groups
    said = "; ".join(
        f"{g.name} {'no AUC' if g.auc is None else f'AUC {area(g.auc, 3)}'}, event rate "
        f"{percent(g.rate)}"
        for g in groups
    )
    return f"By group: {said}."


def _segments(context: dict[str, Any]) -> str:
    if not context["segments"] or context["segments"]["found"] is None:
        return ""
    weak = [s.rule for s in context["segments"]["found"].segments if s.is_weak]
    if not weak:
        return "No segment in which the model ranks badly was confirmed."
    return f"Segments in which the model ranks badly: {'; '.join(weak)}."


def _stability(context: dict[str, Any]) -> str:
    parts = []
    for part in context["stability"]:
        score = next(row for row in part["rows"] if row["is_score"])
        index = "unknown" if score["index"] is None else area(score["index"], 3)
        parts.append(f"{part['said']}: stability index of the score {index} ({score['said']}).")
    return " ".join(parts)


def _champion(context: dict[str, Any]) -> str:
    if not context["challenge"]:
        return ""
    auc = context["challenge"]["found"].auc
    return (
        f"Against the model in use: AUC {area(auc.auc1)} against {area(auc.auc2)}, difference "
        f"{area(auc.difference)} ({area(auc.lower)} to {area(auc.upper)})."
    )


def _specification(context: dict[str, Any]) -> str:
    if context["view"] is None:
        return "The model file holds every tree; the report has importance and partial dependence."
    n = len(context["step"].leaves)
    return f"A tree of {n} strata; their rules are in the section on strata."


def _tripod(k: dict[str, str]) -> list[Item]:
    return [
        Item("1", "Title", k["title"] + ".", "target population and outcome"),
        Item("2", "Abstract", "", "summary"),
        Item("3a", "Context", "", "setting, reason for the model, models that exist"),
        Item("3b", "Target population and use", "", "for whom, when, and by whom it is used"),
        Item("3c", "Known inequalities", "", "between which groups"),
        Item("4", "Objectives", "", "development, evaluation or both"),
        Item("5a", "Data", f"{k['rows']} {k['fingerprint']}", "source, and how representative"),
        Item("5b", "Dates", "", "first and last day, end of follow-up"),
        Item("6a", "Setting", "", "where, how many sites"),
        Item("6b", "Eligibility", "", "who was included"),
        Item("6c", "Treatments", "", "received, and how they were handled"),
        Item("7", "Data preparation", "", "cleaning and quality checks, alike in all groups"),
        Item("8a", "Outcome", "", "definition, and how and when it is assessed"),
        Item("8b", "Outcome assessors", "", "who they were"),
        Item("8c", "Blinding of the outcome", "", "if any"),
        Item("9a", "Choice of predictors", "", "why these"),
        Item("9b", "Predictors", k["columns"], "definitions, how and when measured"),
        Item("9c", "Predictor assessors", "", "who they were"),
        Item("10", "Sample size", k["rows"], "how it was arrived at"),
        Item("11", "Missing data", k["missing"], "reasons, and rows left out"),
        Item("12a", "Use of the data", k["judged"], "how rows were divided"),
        Item("12b", "Handling of predictors", "", "transformations before the model"),
        Item("12c", "Model building", f"{k['model']}. {k['parameters']}", "why, what was tried"),
        Item("12d", "Heterogeneity", "", "between sites or periods"),
        Item("12e", "Measures", "Discrimination, calibration and gains, with intervals."),
        Item("12f", "Updating", "", "of the model in the evaluation"),
        Item("12g", "Predictions", k["output"], "how they were calculated in the evaluation"),
        Item("13", "Class imbalance", "", "methods used, and recalibration after them"),
        Item("14", "Fairness", k["groups"], "approaches, and why"),
        Item("15", "Model output", k["output"], "cut-offs, and why"),
        Item("16", "Training and evaluation", k["stability"], "differences between the data"),
        Item("17", "Ethical approval", "", "committee, consent"),
        Item("18", "Open science", "", "funding, interests, protocol, registration, data, code"),
        Item("19", "Public involvement", "", "of those concerned"),
        Item("20", "Participants", k["rows"], "flow, and characteristics"),
        Item("21", "Model development", k["development"], "rows and events in each analysis"),
        Item("22", "Model specification", k["specification"], "where it is available"),
        Item("23a", "Performance", k["performance"]),
        Item("23b", "Heterogeneity in performance", f"{k['groups']} {k['segments']}".strip(),
             "between sites or periods"),
        Item("24", "Updating", "", "results"),
        Item("25", "Interpretation", "", "against objectives and other studies, fairness"),
        Item("26", "Limitations", "", "such as a sample that is not representative"),
        Item("27", "Use in practice", "", "poor or missing input, users' part, further research"),
    ]  # fmt: skip


def _model_risk(k: dict[str, str]) -> list[Item]:
    return [
        Item("1", "Purpose and use", "", "decisions that rest on the model, and their materiality"),
        Item("2", "Method", f"{k['model']}. {k['parameters']}", "why it suits the purpose"),
        Item("3", "Data", f"{k['rows']} {k['fingerprint']}", "sources, fitness, proxies"),
        Item("4", "Testing", f"{k['judged']} {k['performance']}", "stress, extreme values"),
        Item("5", "Limits and assumptions", k["segments"], "and what is done about them"),
        Item("6", "Reproducibility", f"{k['versions']} {k['seed']}"),
        Item("7", "Conceptual soundness", k["specification"], "view of the validator"),
        Item("8", "Outcomes analysis", k["performance"], "back-testing"),
        Item("9", "Benchmarks", k["champion"], "models it was compared with"),
        Item("10", "Ongoing monitoring", k["stability"], "how often, thresholds, who acts"),
        Item("11", "Governance", "", "owner, place in the inventory, risk rating, next review"),
        Item("12", "Changes and overrides", "", "who may make them, how they are recorded"),
        Item("13", "Third-party products", k["versions"], "due diligence"),
    ]
