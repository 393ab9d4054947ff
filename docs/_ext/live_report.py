"""Put the report of the guide beside its page, so that it can be tried out."""

import sys
from pathlib import Path


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
        title="Loans that fail", out=Path(app.outdir) / "guide" / "loans_report.html",
    )  # fmt: skip


def setup(app) -> dict[str, bool]:
    """Write the report when the build is finished."""
    app.connect("build-finished", write_report)
    return {"parallel_read_safe": True}
