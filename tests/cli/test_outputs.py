"""No command overwrites what it reads, or writes two files to one place."""

import shutil

import pytest
from command_line import run

from treerank.cli._errors import BadInput
from treerank.cli._outputs import check_outputs

TARGET = ["--target", "default"]
FILES = ["train.csv", "new.csv", "train.parquet", "tree.model", "forest.model"]


@pytest.fixture
def own(folder, tmp_path, monkeypatch):
    """A folder of one's own with tables and models, in which the commands run."""
    for name in FILES:
        shutil.copy(folder / name, tmp_path)
    (tmp_path / "parts").mkdir()
    shutil.copy(folder / "train.parquet", tmp_path / "parts")
    (tmp_path / "link.csv").symlink_to("train.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


OVERWRITING = [
    ("--save", ["fit", "train.csv", *TARGET, "--save", "train.csv"]),
    ("--save", ["fit", "train.csv", *TARGET, "--save", "parts/../train.csv"]),
    ("--save", ["fit", "train.csv", *TARGET, "--save", "link.csv"]),
    ("--save", ["fit", "link.csv", *TARGET, "--save", "train.csv"]),
    ("--report", ["fit", "train.csv", *TARGET, "--report", "train.csv"]),
    ("--save", ["fit", "parts", *TARGET, "--save", "parts/train.parquet"]),
    ("--save", ["fit", "par*/*.parquet", *TARGET, "--save", "parts/train.parquet"]),
    ("--checkpoint", ["fit", "parts", *TARGET, "--dask", "local", "--checkpoint",
                      "parts/train.parquet"]),
    ("--out", ["score", "tree.model", "new.csv", "--out", "new.csv"]),
    ("--out", ["score", "tree.model", "new.csv", "--out", "tree.model"]),
    ("--out", ["score", "tree.model", "new.csv", "--baseline", "train.csv", "-o", "train.csv"]),
    ("--out", ["score", "tree.model", "new.csv", "--codes", "train.csv", "-o", "train.csv"]),
    ("--out", ["report", "tree.model", "train.csv", *TARGET, "-o", "train.csv"]),
    ("--out", ["report", "tree.model", "train.csv", *TARGET, "-o", "tree.model"]),
    ("--out", ["report", "tree.model", "train.csv", *TARGET, "--new", "new.csv", "-o", "new.csv"]),
    ("--out", ["report", "tree.model", "train.csv", *TARGET, "--champion", "forest.model",
               "-o", "forest.model"]),
    ("--appendix", ["report", "tree.model", "train.csv", *TARGET, "--appendix", "train.csv"]),
    ("--save", ["grade", "tree.model", "train.csv", *TARGET, "--save", "train.csv"]),
    ("--out", ["export", "tree.model", "--out", "tree.model"]),
    ("--out", ["monitor", "tree.model", "train.csv", "new.csv", *TARGET, "-o", "new.csv"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--report", ["fit", "train.csv", *TARGET, "--report", "tree.pdf"]),
        ("--out", ["report", "tree.model", "train.csv", *TARGET, "-o", "tree.pdf"]),
        ("--out", ["monitor", "tree.model", "train.csv", "new.csv", *TARGET, "-o", "tree.pdf"]),
    ],
)
def test_a_page_does_not_go_by_the_name_of_another_format(own, option, words):
    result = run(*words)
    assert result.exit_code == 2, result.output
    assert f"Got {option} tree.pdf; expected a name that ends in .html" in result.stderr
    assert not list(own.glob("tree.pdf"))


@pytest.mark.parametrize(("option", "words"), OVERWRITING)
def test_an_input_is_not_overwritten(own, option, words):
    before = {path: path.read_bytes() for path in own.rglob("*") if path.is_file()}
    result = run(*words)
    assert result.exit_code == 2, result.output
    said = f"{words[-1]}: this file is an input and would be overwritten; give another {option}.\n"
    assert result.stderr == f"treerank: {said}"
    assert {path: path.read_bytes() for path in own.rglob("*") if path.is_file()} == before


def test_two_outputs_are_two_files(own):
    (own / "both.html").symlink_to("both.json")  # to a file that is not there yet
    for first, second, words in [
        ("--save", "--report", ["fit", "train.csv", *TARGET, "--save", "both.json", "--report"]),
        ("--out", "--appendix", ["report", "tree.model", "train.csv", *TARGET, "-o", "both.json",
                                 "--appendix"]),
    ]:  # fmt: skip
        for name in ("both.json", "both.html"):
            result = run(*words, name)
            said = f"{name}: got the same file for {first} and {second}; give each its own file."
            assert (result.exit_code, result.stderr) == (2, f"treerank: {said}\n")
    result = run("monitor", "tree.model", "train.csv", "new.csv", *TARGET, "-o", "both.json")
    assert result.exit_code == 2
    assert "Got --out both.json; expected another ending, such as .html" in result.stderr
    assert not (own / "both.json").exists()


def test_a_model_is_graded_in_place(own):
    for _ in range(2):
        result = run("grade", "tree.model", "train.csv", *TARGET, "--save", "tree.model")
        assert result.exit_code == 0, result.output
    assert "grade" in run("score", "tree.model", "new.csv").stdout.splitlines()[0]


def test_hard_links_are_one_file_and_other_files_of_a_folder_are_free(own):
    (own / "hard.csv").hardlink_to(own / "train.csv")
    with pytest.raises(BadInput, match=r"hard\.csv: this file is an input"):
        check_outputs({"--out": "hard.csv"}, ["train.csv"])
    check_outputs({"--save": "parts/model.json", "--report": None}, ["parts", None, "-"])
    check_outputs({"--out": "-"}, ["-"], stdout=True)
