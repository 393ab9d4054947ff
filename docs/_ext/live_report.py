"""Put the report and the monitoring page of the guide beside their pages, to try them out."""

import sys
from pathlib import Path

import numpy as np


def write_report(app, error) -> None:
    """Write the report once the site is there."""
    if error is not None or app.builder.format != "html":
        return
    from sklearn.model_selection import train_test_split  # noqa: PLC0415

    from treerank import TreeRank, report  # noqa: PLC0415

    sys.path.insert(0, str(Path(app.srcdir) / "guide"))
    from loans import make_loans  # noqa: PLC0415

    loans = make_loans()
    X, y = loans.drop(columns="default"), loans["default"]
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.4, stratify=y, random_state=0
    )
    report(
        TreeRank().fit(X_train, y_train), X_test, y_test, train=(X_train, y_train),
        ids=[f"loan {k}" for k in X_test.index], title="Loans that fail",
        out=Path(app.outdir) / "guide" / "loans_report.html",
    )  # fmt: skip
    _write_monitor(make_loans(12_000), Path(app.outdir) / "guide" / "loans_monitor.html")


def _write_monitor(loans, out: Path) -> None:
    """Write the page of docs/guide/monitoring.md."""
    from treerank import TreeRank  # noqa: PLC0415
    from treerank.scoring import monitor  # noqa: PLC0415

    X, y = loans.drop(columns="default"), loans["default"]
    model = TreeRank().fit(X[:4000], y[:4000])
    new, labels = X[8000:].copy(), y[8000:].astype(float).to_numpy(copy=True)
    new.loc[new.index[2000:], "purpose"] = "boat"
    new.loc[new.index[3000:], "income"] = np.nan
    labels[3000:] = np.nan
    months = np.repeat(["2026-01", "2026-02", "2026-03", "2026-04"], 1000)
    found = monitor(model, (X[4000:8000], y[4000:8000]), (new, labels), months)
    found.to_html(out, title="Loans that fail, watched")


def setup(app) -> dict[str, bool]:
    """Write the report when the build is finished."""
    app.connect("build-finished", write_report)
    return {"parallel_read_safe": True}
