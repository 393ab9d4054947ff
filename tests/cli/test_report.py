"""`treerank report`: rows of the training, others and later ones."""

import pandas as pd
import pytest
from command_line import NEW, assert_one_line, in_python, run

import treerank


def test_a_report_is_written_of_the_training_rows_and_of_others(folder, tmp_path):
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    common = ["--target", "default", "--drop", "w", "--drop", "id"]
    page, other = tmp_path / "fit.html", tmp_path / "other.html"
    result = run("fit", folder / "train.csv", *common, "--cv", 2, "--report", page)
    assert result.exit_code == 0, result.output
    result = run("report", folder / "tree.model", folder / "train.csv", *common, "--out", other)
    assert result.exit_code == 0, result.output
    for path in (page, other):
        assert "</html>" in path.read_text()
    result = run("report", folder / "tree.model", folder / "train.csv", "--target", "missing")
    assert result.exit_code == 2
    assert "missing" in result.output


def judged(folder, *arguments):
    """Report of the tree on its training rows, whose other columns need not be named."""
    return run("report", folder / "tree.model", folder / "train.csv", "--target", "default",
               *arguments)  # fmt: skip


def test_a_report_names_the_target(folder, tmp_path):
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    fitted, other = tmp_path / "fit.html", tmp_path / "report.html"
    result = run("fit", folder / "train.csv", "--target", "default", "--drop", "w", "--drop", "id",
                 "--cv", 2, "--report", fitted)  # fmt: skip
    assert result.exit_code == 0, result.output
    assert judged(folder, "--out", other).exit_code == 0
    for page in (fitted, other):
        assert "have the outcome default = yes." in page.read_text()


def test_a_report_compares_with_training_rows_and_later_ones(folder, tmp_path):
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    out = tmp_path / "report.html"
    result = judged(folder, "--train", folder / "train.parquet", "--new", folder / "new.csv.gz",
                    "--out", out, "--title", "Loans & <more>")  # fmt: skip
    assert result.exit_code == 0, result.output
    text = out.read_text()
    assert "From the training rows to the evaluation rows" in text
    assert "From the evaluation rows to the new rows" in text
    assert "Loans &amp; &lt;more&gt;" in text
    model, _, scores = in_python(folder, "tree")
    train = pd.read_csv(folder / "train.csv", dtype={"member": str})
    before = model.score_samples(train[model.feature_names_in_])
    moved = treerank.metrics.population_stability_index(before, scores)
    section = text.split("From the evaluation rows to the new rows")[1]
    assert f"{moved:.3f}" in section or f"{moved:.2f}" in section


def test_a_report_reads_columns_and_labels_as_the_model_knows_them(folder, tmp_path):
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    model, out = tmp_path / "model", tmp_path / "report.html"
    train = folder / "train.csv"
    fitted = ["--target", "default", "--positive", "no", "--type", "age=category", "--drop", "id"]
    result = run("fit", train, *fitted, "--drop", "w", "--cv", 0, "--save", model)
    assert result.exit_code == 0, result.output
    asked = ["--target", "default", "--out", out]
    result = run("report", model, train, *asked, "--positive", "no", "--weight", "w")
    assert result.exit_code == 0, result.output
    out.unlink()
    result = run("report", model, train, *asked)
    assert result.exit_code == 0, result.output
    result = run("report", model, train, *asked, "--positive", "yes")
    assert result.exit_code == 2
    assert "the model ranks the label no first" in result.stderr


BAD_JUDGED = {
    "missing target": ("id,income,age,home,member\n1,1,2,owns,true\n", "no column 'default'"),
    "constant target": (
        NEW[:-1] + ",default\n" + "1,2,30,owns,true,no\n" * 9,
        "column 'default' has no row of 'yes'"),
    "an unknown label": (
        NEW[:-1] + ",default\n1,2,30,owns,true,yes\n1,2,30,owns,true,maybe\n",
        "column 'default' has the label 'maybe' in line 3; expected one of no, yes"),
    "a missing label": (
        NEW[:-1] + ",default\n1,2,30,owns,true,yes\n1,2,30,owns,true,\n", "no label in 1 of 2"),
    "a missing column": ("id,income,age,home,default\n1,1,2,owns,no\n", "no column 'member'"),
    "text among numbers": (
        NEW[:-1] + ",default\n1,much,30,owns,true,yes\n", "column 'income' has 'much' in line 2"),
    "duplicated names": (NEW.replace("age", "home"), "'home' occurs twice"),
    "empty": ("", "the file is empty"),
    "no rows": (NEW[:-1] + ",default\n", "there are column names but no rows"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD_JUDGED)
@pytest.mark.parametrize("place", ["data", "--train", "--new"])
def test_bad_rows_to_report_on_are_named_in_one_line(folder, tmp_path, kind, place):
    if place == "--new" and ("label" in kind or "target" in kind):
        pytest.skip("new rows need no labels")
    content, message = BAD_JUDGED[kind]
    path, out = tmp_path / "rows.csv", tmp_path / "report.html"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    if place == "data":
        result = run("report", folder / "tree.model", path, "--target", "default", "--out", out)
    else:
        result = judged(folder, place, path, "--out", out)
    assert_one_line(result, path, message)
    assert [p.name for p in tmp_path.iterdir()] == ["rows.csv"]
