"""The build as other people meet it: other compilers, none at all, and versions from tags."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CMAKE = shutil.which("cmake", path=Path(sys.executable).parent)

needs_cmake = pytest.mark.skipif(
    CMAKE is None or shutil.which("g++") is None, reason="cmake (extra dev) and g++ are needed"
)


def configure(folder, *settings, compiler="g++"):
    """Run CMake, which writes the commands of the build and compiles nothing but small tests."""
    return subprocess.run(
        [CMAKE, "-S", ROOT, "-B", folder, "-G", "Ninja", f"-DPython_EXECUTABLE={sys.executable}",
         f"-DCMAKE_MAKE_PROGRAM={Path(sys.executable).parent / 'ninja'}", *settings],
        env={**os.environ, "CXX": str(compiler)}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def commands(folder):
    """Commands that compile the project's own files."""
    entries = json.loads((folder / "compile_commands.json").read_text())
    return [e["command"] for e in entries if e["file"].startswith(str(ROOT / "src"))]


@pytest.fixture(scope="module")
def user_build(tmp_path_factory):
    folder = tmp_path_factory.mktemp("build")
    done = configure(folder)
    assert done.returncode == 0, done.stderr
    return commands(folder)


@needs_cmake
def test_warnings_are_errors_only_where_that_is_asked_for(user_build, tmp_path):
    assert not any("-Werror" in command for command in user_build)
    assert all("-Wall" in command for command in user_build)
    configure(tmp_path, "-DTREERANK_WERROR=ON", "-DTREERANK_PYTHON=OFF")
    assert all("-Werror" in command for command in commands(tmp_path))


@needs_cmake
def test_no_file_is_compiled_with_fused_multiply_add(user_build):
    # The bindings too: inline functions of the core may be taken from any object file.
    assert len(user_build) > 30
    assert all("-ffp-contract=off" in command for command in user_build)


@needs_cmake
def test_headers_of_others_are_system_headers(user_build):
    bindings = [command for command in user_build if "src/bindings" in command.split()[-1]]
    assert bindings
    for command in bindings:
        assert re.search(r"-isystem \S*nanobind", command)
        assert not re.search(r"-I\S*nanobind", command)


@needs_cmake
def test_without_a_compiler_the_error_names_the_wheel(tmp_path):
    done = configure(tmp_path, compiler=tmp_path / "no-such-compiler")
    assert done.returncode != 0
    assert "No C++ compiler was found" in done.stderr
    assert "pip install --only-binary treerank-ml treerank-ml" in done.stderr


@needs_cmake
def test_options_that_come_with_the_name_of_the_compiler_are_kept(tmp_path):
    configure(tmp_path, "-DTREERANK_PYTHON=OFF", compiler="g++ -DNAMED_IN_CXX")
    assert all("-DNAMED_IN_CXX" in command for command in commands(tmp_path))


@needs_cmake
def test_a_compiler_that_was_missing_is_found_when_it_is_there(tmp_path):
    late = tmp_path / "late-g++"
    folder = tmp_path / "build"
    assert configure(folder, "-DTREERANK_PYTHON=OFF", compiler=late).returncode != 0
    late.symlink_to(shutil.which("g++"))
    assert configure(folder, "-DTREERANK_PYTHON=OFF", compiler=late).returncode == 0


@needs_cmake
def test_an_old_compiler_is_told_which_version_is_needed(tmp_path):
    old = tmp_path / "g++"
    old.write_text('#!/bin/sh\nexec g++ -U__GNUC__ -D__GNUC__=9 "$@"\n')
    old.chmod(0o755)
    done = configure(tmp_path / "build", compiler=old)
    assert done.returncode != 0
    assert re.search(r"Got GNU 9\.\S+; expected 11 or later\.", done.stderr)


def version_of(folder):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "setuptools_scm"],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def test_the_version_comes_from_tags_and_is_known_without_them(tmp_path):
    pytest.importorskip("setuptools_scm")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    assert version_of(tmp_path) == "0.1.1.dev0"

    def git(*words):
        name = ["-c", "user.name=someone", "-c", "user.email=someone@example.org"]
        subprocess.run(["git", *name, *words], cwd=tmp_path, capture_output=True, check=True)

    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    assert version_of(tmp_path) == "0.1.1.dev1"
    git("tag", "v0.2.0")
    assert version_of(tmp_path) == "0.2.0"


def test_workflows_run_the_targets_that_developers_run():
    yaml = pytest.importorskip("yaml")
    targets = set(re.findall(r"^(\S+?):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = set()
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        jobs = yaml.safe_load(path.read_text())["jobs"]
        steps = [step for job in jobs.values() for step in job.get("steps", [])]
        assert steps, path
        for step in steps:
            called.update(re.findall(r"\bmake ([a-z]+)\b", step.get("run", "")))
    assert {"test", "compilers"} <= called <= targets
