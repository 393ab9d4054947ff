"""The appendix: known items hold the report's figures, the others are left to be written."""

import re

import pytest
from report_data import NASTY, grades

from treerank import RankingForest, TreeRank, report
from treerank._report._appendix import Item, Part, to_markdown

NUMBERS = [
    "1",
    "2",
    "3a",
    "3b",
    "3c",
    "4",
    "5a",
    "5b",
    "6a",
    "6b",
    "6c",
    "7",
    "8a",
    "8b",
    "8c",
    "9a",
    "9b",
    "9c",
    "10",
    "11",
    "12a",
    "12b",
    "12c",
    "12d",
    "12e",
    "12f",
    "12g",
    "13",
    "14",
    "15",
    "16",
    "17",
    "18",
    "19",
    "20",
    "21",
    "22",
    "23a",
    "23b",
    "24",
    "25",
    "26",
    "27",
]


@pytest.fixture(scope="module")
def tree(rows):
    return TreeRank(max_depth=3).fit(*rows[:2])


def items(markdown, part):
    """Items of one part: the text of each by its number."""
    text = markdown.split(f"## {part}\n")[1].split("\n## ")[0]
    found = re.split(r"^- \*\*(\d+[a-g]?) ", text, flags=re.M)
    return dict(zip(found[1::2], found[2::2], strict=True))


def test_every_item_is_there_and_known_ones_are_filled_in(rows, tree, tmp_path):
    path = tmp_path / "model.md"
    text = report(tree, *rows[2:], out=None, train=rows[:2], groups="purpose", segments=True,
                  champion=tree, appendix=path, title=f"Loans {NASTY}")  # fmt: skip
    said = items(path.read_text(), "TRIPOD+AI")
    assert list(said) == NUMBERS
    auc = f"AUC {tree.score(*rows[2:]):.4f}"
    assert auc in said["23a"]
    assert "Fitted to rows of the weight 300" in said["21"]
    assert "income " in said["11"]
    assert f"A tree of {len(tree.partition_)} strata" in said["22"]
    assert "By group: " in said["14"]
    assert "____" in said["25"]
    assert "____" not in said["12e"]
    risk = items(path.read_text(), "Model risk")
    assert len(risk) == 13
    assert auc in risk["8"]
    assert "Against the model in use" in risk["9"]
    assert "stability index of the score" in risk["10"]
    assert 'id="appendix"' in text
    assert auc in text.split('id="appendix"')[1]
    assert "SR 26-2" in text
    assert 'id="appendix"' not in report(tree, *rows[2:], out=None)


def test_names_cannot_become_markup(rows, tree, tmp_path):
    path = tmp_path / "model.md"
    report(tree, *rows[2:], out=None, appendix=path, title=f"Loans {NASTY} *bold*")
    text = path.read_text()
    assert "<script>" not in text
    assert r"\*bold\*" in text
    made = to_markdown("a | b", [Part("P", "n", [Item("1", "t", "x\ny `c` [l](u)", "w")])], "now")
    assert r"x y \`c\` \[l\](u)" in made
    assert r"a \| b" in made


@pytest.mark.parametrize("kind", ["forest", "grades", "held out"])
def test_other_models_and_held_out_rows_have_one_too(rows, kind, tmp_path):
    path = tmp_path / "model.md"
    if kind == "grades":
        x, y = grades()
        report(TreeRank(max_depth=2).fit(x, y), x, y, out=None, appendix=path)
        assert "VUS 0." in path.read_text()
        assert "all figures are too good" in path.read_text()
    elif kind == "forest":
        report(RankingForest(n_estimators=5).fit(*rows[:2]), *rows[2:], out=None, appendix=path)
        assert "The model file holds every tree" in path.read_text()
    else:
        model = TreeRank(max_depth=2).fit(*rows[:2])
        report(model, train=rows[:2], out=None, appendix=path)
        assert "held-out rows of 5 folds" in path.read_text()
    assert not re.search(r"\b(nan|None of|inf)\b", path.read_text())


def test_a_path_that_cannot_be_written_is_named(rows, tree, tmp_path):
    with pytest.raises(FileNotFoundError, match="Got appendix="):
        report(tree, *rows[2:], out=tmp_path / "r.html", appendix=tmp_path / "no" / "x.md")
    assert list(tmp_path.iterdir()) == []
