"""Files that are there whole or not at all: links, devices, and what killed runs leave behind."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import saved_models

import treerank
from treerank._io import atomic
from treerank._io.atomic import atomic_write, temporary_folder

typer_testing = pytest.importorskip("typer.testing")

from treerank.cli import app  # noqa: E402

needs_links = pytest.mark.skipif(os.name == "nt", reason="links and pipes of Unix")


def write(path, text="new"):
    with atomic_write(path) as temporary:
        temporary.write_text(text)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@needs_links
def test_a_link_stays_and_its_target_is_replaced(tmp_path):
    (tmp_path / "store").mkdir()
    target, link, second = tmp_path / "store" / "model", tmp_path / "link", tmp_path / "second"
    target.write_text("old")
    link.symlink_to("store/model")
    second.symlink_to(link)
    for path in (link, second):
        write(path, f"through {path.name}")
        assert link.is_symlink()
        assert second.is_symlink()
        assert target.read_text() == f"through {path.name}"
    assert names(tmp_path / "store") == ["model"]


@needs_links
def test_a_link_to_a_file_that_is_not_there_yet_makes_it(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("model")
    write(link)
    assert link.is_symlink()
    assert (tmp_path / "model").read_text() == "new"
    (tmp_path / "astray").symlink_to("nowhere/model")
    with pytest.raises(FileNotFoundError):
        write(tmp_path / "astray")


@needs_links
def test_links_in_a_circle_are_an_error(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        write(tmp_path / "a")
    assert names(tmp_path) == ["a", "b"]


@needs_links
def test_save_report_export_and_scores_go_through_links(tmp_path):
    model, _ = saved_models.fitted("tree")
    X, y = saved_models.loans()
    X.to_csv(tmp_path / "rows.csv", index=False)
    for name in ("model", "report", "sql", "scores"):
        (tmp_path / f"real-{name}").write_text("old")
        (tmp_path / name).symlink_to(f"real-{name}")
    treerank.save(model, tmp_path / "model")
    treerank.report(model, X, y, out=tmp_path / "report")
    for arguments in (["export", "model", "--out", "sql"], ["score", "model", "rows.csv", "--out",
                      "scores"]):  # fmt: skip
        run(tmp_path, *arguments)
    for name in ("model", "report", "sql", "scores"):
        assert (tmp_path / name).is_symlink(), name
        assert (tmp_path / f"real-{name}").stat().st_size > 100, name


def run(folder, *arguments, status=0):
    """Run the command line in a folder; return what it says of an error."""
    files = {"model", "rows.csv", "sql", "scores", "pipe", "null", "stream"}
    given = [str(folder / a) if a in files else a for a in arguments]
    result = typer_testing.CliRunner().invoke(app, given)
    assert result.exit_code == status, result.output
    return result.stderr


@pytest.fixture
def no_files(tmp_path):
    """A pipe; links to a device and to an open file."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "null").symlink_to("/dev/null")
    (tmp_path / "open").write_text("")
    with (tmp_path / "open").open() as file:
        (tmp_path / "stream").symlink_to(f"/dev/fd/{file.fileno()}")
        yield tmp_path
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert (tmp_path / "null").is_symlink()
    assert (tmp_path / "stream").is_symlink()
    assert names(tmp_path) == ["model", "null", "open", "pipe", "rows.csv", "stream"]
    assert (tmp_path / "open").read_text() == ""


@needs_links
@pytest.mark.parametrize("name", ["pipe", "null", "stream"])
def test_devices_pipes_and_streams_are_refused_and_stay(no_files, name):
    model, _ = saved_models.fitted("tree")
    X, y = saved_models.loans()
    X.assign(y=y).to_csv(no_files / "rows.csv", index=False)
    treerank.save(model, no_files / "model")
    with pytest.raises(ValueError, match=r"a device, a pipe or a socket; expected the path of a f"):
        treerank.save(model, no_files / name)
    with pytest.raises(ValueError, match="a device, a pipe or a socket"):
        treerank.report(model, X, y, out=no_files / name)
    commands = {
        "name a file, or - for the standard output.": [
            ["export", "model", "--out", name],
            ["score", "model", "rows.csv", "--out", name],
        ],
        "name a file.": [
            ["fit", "rows.csv", "--target", "y", "--save", name],
            ["fit", "rows.csv", "--target", "y", "--report", name],
            ["report", "model", "rows.csv", "--target", "y", "--out", name],
        ],
    }
    for remedy, every in commands.items():
        for arguments in every:
            said = run(no_files, *arguments, status=2)
            assert said.count("\n") == 1
            assert f"{name}: this is a device, a pipe or a socket; {remedy}" in said


@needs_links
def test_a_log_of_growth_may_be_no_device(tmp_path):
    checkpoint = pytest.importorskip("treerank.dask._checkpoint")
    (tmp_path / "null").symlink_to("/dev/null")
    with pytest.raises(ValueError, match="a device, a pipe or a socket"):
        checkpoint.check_checkpoint(tmp_path / "null")


def test_a_folder_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(IsADirectoryError):
        write(tmp_path)
    with pytest.raises(FileNotFoundError, match="nowhere/model"):
        write(tmp_path / "nowhere" / "model")
    assert names(tmp_path) == []


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import atomic  # alone, without the time that the package takes
path = Path(sys.argv[1])
with {what} as temporary:
    (temporary if temporary.is_file() else temporary / "codes").write_text("half")
    print("writing", flush=True)
    {then}
"""


def start(path, what, then):
    """Process that is in the midst of writing."""
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED.format(what=what, then=then), str(path), ROOM],
        stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "writing\n"
    return process


ROOM = str(Path(atomic.__file__).parent)
KILL = "os.kill(os.getpid(), signal.SIGKILL)"
WAIT = "sys.stdin.read()"
FILE = "atomic.atomic_write(path)"
FOLDER = "atomic.temporary_folder(path, '.unfinished-')"


@needs_links
def test_the_next_write_removes_the_file_of_a_killed_one(tmp_path):
    path = tmp_path / "model"
    for _ in range(2):
        process = start(path, FILE, KILL)
        assert process.wait() == -signal.SIGKILL
        process.communicate()
    [left] = names(tmp_path)  # the second has removed that of the first
    assert left.startswith(".")
    write(tmp_path / "other")
    assert names(tmp_path) == [left, "other"]
    write(path)
    assert names(tmp_path) == ["model", "other"]


@needs_links
def test_the_next_folder_removes_that_of_a_killed_run(tmp_path):
    process = start(tmp_path, FOLDER, KILL)
    assert process.wait() == -signal.SIGKILL
    process.communicate()
    assert len(names(tmp_path)) == 1
    with temporary_folder(tmp_path, ".unfinished-") as folder:
        assert names(tmp_path) == [folder.name]
    assert names(tmp_path) == []


@needs_links
@pytest.mark.parametrize("what", [FILE, FOLDER])
def test_a_process_that_is_still_writing_keeps_its_file(tmp_path, what):
    process = start(tmp_path / "model" if what is FILE else tmp_path, what, WAIT)
    [own] = names(tmp_path)
    write(tmp_path / "model", "mine")
    with temporary_folder(tmp_path, ".unfinished-"):
        pass
    assert names(tmp_path) == [own, "model"]
    process.communicate()  # it goes on when its input ends
    assert process.returncode == 0
    assert names(tmp_path) == ["model"]
    assert (tmp_path / "model").read_text() == ("half" if what is FILE else "mine")


@needs_links
def test_what_is_taken_for_abandoned_before_it_was_locked_is_made_again(tmp_path, monkeypatch):
    made = []
    mkstemp, mkdtemp = atomic.tempfile.mkstemp, atomic.tempfile.mkdtemp

    def remove_the_first_file(**arguments):
        number, name = mkstemp(**arguments)
        made.append(Path(name))
        if len(made) == 1:
            made[0].unlink()
        return number, name

    def remove_the_first_folder(**arguments):
        made.append(Path(mkdtemp(**arguments)))
        if len(made) == 1:
            made[0].rmdir()
        return str(made[-1])

    monkeypatch.setattr(atomic.tempfile, "mkstemp", remove_the_first_file)
    monkeypatch.setattr(atomic.tempfile, "mkdtemp", remove_the_first_folder)
    write(tmp_path / "model")
    assert len(made) == 2
    made.clear()
    with temporary_folder(tmp_path, ".unfinished-") as folder:
        assert [path.exists() for path in made] == [False, True]
        assert folder == made[1]
    assert names(tmp_path) == ["model"]


def test_files_of_others_stay(tmp_path):
    others = [".model.abcdefgh.tmp", ".treerank-notes.tmp", ".treerank", "model.tmp"]
    for name in others:
        (tmp_path / name).write_text("precious")
    write(tmp_path / "model")
    assert names(tmp_path) == sorted([*others, "model"])


def test_long_names_can_be_written(tmp_path):
    name = "m" * 255
    write(tmp_path / name)
    assert names(tmp_path) == [name]
