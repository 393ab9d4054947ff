"""`treerank challenge`, `treerank compare --group` and `--time`, `treerank report --champion`."""

import json

import numpy as np
import pandas as pd
import pytest
from command_line import assert_one_line, run
from saved_models import loans

import treerank
from treerank import RankingForest, TreeRank
from treerank.scoring import challenge


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("challenge")
    X, y = loans(900)
    X["member"] = X["member"].map({True: "true", False: "false"})
    labels = np.where(y == 1, "yes", "no")
    few = X[["income", "home"]]
    models = (
        TreeRank(max_depth=3).fit(few[:400], labels[:400]),
        RankingForest(n_estimators=10).fit(X[:400], labels[:400]),
    )
    for name, model in zip(("champion", "challenger"), models, strict=True):
        treerank.save(model, folder / f"{name}.json")
    new = X[400:].assign(default=labels[400:], customer=np.arange(500) // 4)
    new["opened"] = np.repeat([f"2026-{k:02d}-01" for k in range(1, 11)], 50)
    new.to_csv(folder / "new.csv", index=False)
    new[::2].to_csv(folder / "half.csv", index=False)
    return folder, models, new


def test_the_command_prints_what_python_finds(judged):
    folder, models, new = judged
    expected = challenge(
        *models, new[["income", "home"]], new["default"],
        X_challenger=new[models[1].feature_names_in_], share=0.2,
    )  # fmt: skip
    arguments = ["challenge", folder / "champion.json", folder / "challenger.json",
                 folder / "new.csv", "--target", "default", "--share", 0.2]  # fmt: skip
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"{expected}\n"
    assert json.loads(run(*arguments, "--json").stdout) == json.loads(
        json.dumps(expected.to_dict())
    )


def test_the_report_compares_with_a_champion_of_other_columns(judged, tmp_path):
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    folder = judged[0]
    page = tmp_path / "page.html"
    result = run("report", folder / "challenger.json", folder / "new.csv", "--target", "default",
                 "--champion", folder / "champion.json", "--out", page)  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "Against the model in use" in page.read_text()


def test_folds_of_compare_keep_groups_and_go_forward_in_time(judged):
    folder = judged[0]
    arguments = ["compare", folder / "half.csv", "--target", "default", "--cv", 2]
    plain = run(*arguments, "--drop", "customer", "--drop", "opened").output
    for options in (["--group", "customer", "--drop", "opened"],
                    ["--time", "opened", "--drop", "customer"]):  # fmt: skip
        result = run(*arguments, *options)
        assert result.exit_code == 0, result.output
        assert "2 folds" in result.output
        assert result.output != plain
    result = run(*arguments, "--time", "nope")
    assert result.exit_code == 2
    assert "there is no column 'nope'" in result.stderr


@pytest.mark.parametrize("written", ["%d.%m.%Y", "%m/%d/%Y", "%d %b %Y"])
def test_the_order_of_time_is_that_of_the_dates_however_they_are_written(judged, tmp_path, written):
    new = judged[2].drop(columns="customer")
    path = tmp_path / "new.csv"
    new["opened"] = pd.date_range("2023-01-15", periods=len(new), freq="36h").strftime("%Y-%m-%d")
    arguments = ["compare", path, "--target", "default", "--cv", 2, "--time", "opened"]

    def without_times():
        result = run(*arguments)
        assert result.exit_code == 0, result.output
        return [line[:69] for line in result.output.splitlines()]

    new.to_csv(path, index=False)
    expected = without_times()
    new["opened"] = pd.to_datetime(new["opened"]).dt.strftime(written)
    new.to_csv(path, index=False)
    assert without_times() == expected


def test_times_without_an_order_are_refused(judged, tmp_path):
    path = tmp_path / "new.csv"
    for opened, said in (
        (judged[2]["home"].fillna("none"), "order is not known; expected dates"),
        ("03/04/2024", "day and month cannot be told apart"),
    ):
        judged[2].assign(opened=opened).to_csv(path, index=False)
        result = run("compare", path, "--target", "default", "--time", "opened", "--cv", 2)
        assert_one_line(result, path, said)


def test_groups_are_not_merged_where_their_ids_have_many_digits(judged, tmp_path):
    path = tmp_path / "new.csv"
    customer = [f"1234567890123456789{k % 2}" for k in range(500)]
    judged[2].assign(customer=customer).to_csv(path, index=False)
    arguments = ["compare", path, "--target", "default", "--group", "customer", "--cv"]
    assert_one_line(run(*arguments, 3), path, "Got --cv 3 and 2 groups")


def test_what_is_wrong_is_said_in_one_line(judged):
    folder = judged[0]
    models = [folder / "champion.json", folder / "challenger.json"]
    result = run("challenge", *models, "-", "--target", "default")
    assert result.exit_code == 2
    assert "it is read once for each model" in result.stderr
    result = run("challenge", *models, folder / "new.csv", "--target", "default", "--share", 7)
    assert result.exit_code == 2
    assert "Got --share 7" in result.stderr
