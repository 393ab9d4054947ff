"""`treerank evaluate`: the figures of Python's `evaluate`, as text or JSON."""

import json

import numpy as np
import pytest
from command_line import assert_one_line, run
from saved_models import loans

import treerank
from treerank import TreeRank
from treerank.scoring import evaluate, evaluate_groups


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluate")
    X, y = loans(600)
    X["member"] = X["member"].map({True: "true", False: "false"})
    model = TreeRank(max_depth=4).fit(X[:300], np.where(y == 1, "yes", "no")[:300])
    treerank.save(model, folder / "model.json")
    new = X[300:].assign(default=np.where(y == 1, "yes", "no")[300:], w=1 + np.arange(300) % 2)
    new.to_csv(folder / "new.csv", index=False)
    new[new.default == "no"].to_csv(folder / "quiet.csv", index=False)
    return folder, model, new


def test_the_command_prints_what_python_finds(judged):
    folder, model, new = judged
    found = evaluate(model, new[model.feature_names_in_], new["default"])
    result = run("evaluate", folder / "model.json", folder / "new.csv", "--target", "default")
    assert result.exit_code == 0, result.output
    assert result.output == f"{found}\n"
    for word in (
        "AUC",
        "95% interval",
        "local AUC, top 10%",
        "precision, top 10%",
        "recall, top 10%",
        "lift, top 10%",
        "KS",
        "Brier score",
        "lift",
    ):
        assert word in result.output


def test_json_holds_every_figure(judged):
    folder, model, new = judged
    found = evaluate(model, new[model.feature_names_in_], new["default"], sample_weight=new["w"])
    result = run("evaluate", folder / "model.json", folder / "new.csv", "--target", "default",
                 "--weight", "w", "--json")  # fmt: skip
    assert json.loads(result.output) == json.loads(json.dumps(found.to_dict()))


def test_rows_without_events_are_named_in_one_line(judged):
    folder = judged[0]
    result = run("evaluate", folder / "model.json", folder / "quiet.csv", "--target", "default")
    assert result.exit_code == 2
    assert "column 'default' has no row of 'yes'" in result.stderr
    assert result.stderr.count("\n") == 1


def test_rows_that_do_not_count_are_named_in_one_line(judged, tmp_path):
    folder, _, new = judged
    path = tmp_path / "new.csv"
    for weight, said in (
        (0, "column 'v' (--weight) has zeros only; expected some weight above 0."),
        (new["default"] == "no", "column 'default' has no row of 'yes' with a weight above 0"),
    ):
        new.assign(v=np.asarray(weight, dtype=int)).to_csv(path, index=False)
        result = run("evaluate", folder / "model.json", path, "--target", "default",
                     "--weight", "v")  # fmt: skip
        assert_one_line(result, path, said)


def test_groups_are_compared_by_a_column_that_the_model_need_not_know(judged):
    folder, model, new = judged
    arguments = ["evaluate", folder / "model.json", folder / "new.csv", "--target", "default"]
    for column in ("home", "w"):
        groups = new[column].astype(str).where(new[column].notna(), None)
        expected = evaluate_groups(
            model, new[model.feature_names_in_], new["default"], groups.to_numpy()
        )
        result = run(*arguments, "--group", column)
        assert result.exit_code == 0, result.output
        assert result.output.endswith(f"\n\n{expected}\n")
        found = json.loads(run(*arguments, "--group", column, "--json").output)
        assert found["groups"] == json.loads(json.dumps(expected.to_dict()))
    result = run(*arguments, "--group", "nope")
    assert result.exit_code == 2
    assert "there is no column 'nope' (--group)" in result.stderr
    assert "expected at most 50" in run(*arguments, "--group", "income").stderr


def test_the_report_has_groups_and_segments(judged, tmp_path):
    folder = judged[0]
    page = tmp_path / "page.html"
    result = run("report", folder / "model.json", folder / "new.csv", "--target", "default",
                 "--group", "w", "--segments", "--out", page)  # fmt: skip
    assert result.exit_code == 0, result.output
    text = page.read_text()
    assert 'id="groups"' in text
    assert 'id="segments"' in text


def test_the_appendix_is_written_as_markdown(judged, tmp_path):
    folder = judged[0]
    result = run("report", folder / "model.json", folder / "new.csv", "--target", "default",
                 "--appendix", tmp_path / "model.md", "--out", tmp_path / "page.html")  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "## TRIPOD+AI" in (tmp_path / "model.md").read_text()
    assert 'id="appendix"' in (tmp_path / "page.html").read_text()


def test_rows_of_the_report_are_looked_up_by_the_column_that_is_named(judged, tmp_path):
    folder, _, new = judged
    new.assign(loan=[f"L-{k}" for k in range(len(new))]).to_csv(tmp_path / "new.csv", index=False)
    page = tmp_path / "page.html"
    arguments = ("report", folder / "model.json", tmp_path / "new.csv", "--target", "default",
                 "--out", page)  # fmt: skip
    assert run(*arguments).exit_code == 0
    assert '"id":"L-0"' not in page.read_text()
    result = run(*arguments, "--id", "loan")
    assert result.exit_code == 0, result.output
    text = page.read_text()
    assert '"id":"L-0"' in text
    assert '"id":"L-299"' in text
    result = run(*arguments, "--id", "nope")
    assert result.exit_code == 2
    assert "there is no column 'nope' (--id)" in result.stderr
