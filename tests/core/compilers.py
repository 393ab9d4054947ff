"""Build the core with every compiler installed; each must give the bits of expected.txt.

    python tests/core/compilers.py [NAME ...]

GCC and Clang are looked up by name, and so are compilers for other systems: the cross compiler for
ARM64 (run by qemu-user) and zig, from the package ziglang (musl, macOS, Windows). Those that are
not installed are skipped and listed; the others must pass without a warning.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
EXPECTED = (HERE / "expected.txt").read_text()
GCC, CLANG = range(11, 17), range(13, 24)
INSTRUCTION_SETS = ("base", "avx2", "avx512")
# What a processor without AVX, and one without AVX-512, must fall back to.
PROCESSORS = {"Nehalem": "base", "Haswell": "avx2"}
WINDOWS = ("-DCMAKE_SYSTEM_NAME=Windows",)
ARM64 = ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu")


@dataclass(frozen=True)
class Compiler:
    """A compiler, and how its programs are run: directly, by an emulator, or not at all."""

    name: str
    command: str
    runner: tuple[str, ...] | None = ()
    settings: tuple[str, ...] = ()

    @property
    def is_native(self) -> bool:
        return self.runner == ()


def find_compilers() -> tuple[list[Compiler], list[str]]:
    """Return the compilers that are installed, and the names of those that are not."""
    found, missing, seen = [], [], set()
    names = [f"g++-{n}" for n in GCC] + [f"clang++-{n}" for n in CLANG] + ["g++", "clang++"]
    for name in names:
        path = shutil.which(name)
        if path is None:
            missing.append(name)
        elif (real := Path(path).resolve()) not in seen:
            seen.add(real)
            found.append(Compiler(name, path))
    others = [*_arm64_compilers(found), *_zig_compilers()]
    wanted = ["aarch64-linux-gnu-g++", "zig"]
    missing += [name for name in wanted if not any(c.name.startswith(name) for c in others)]
    return found + others, missing


def _arm64_compilers(native: list[Compiler]) -> list[Compiler]:
    cross = shutil.which("aarch64-linux-gnu-g++")
    if cross is None or shutil.which(ARM64[0]) is None:
        return []
    settings = ("-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64")
    compilers = [Compiler("aarch64-linux-gnu-g++", cross, ARM64, settings)]
    clang = [c for c in native if c.name.startswith("clang++-")]
    if clang:  # with the libraries of the cross compiler
        command = f"{clang[-1].command} --target=aarch64-linux-gnu"
        compilers.append(Compiler(f"{clang[-1].name}-aarch64", command, ARM64, settings))
    return compilers


def _zig_compilers() -> list[Compiler]:
    zig = [sys.executable, "-m", "ziglang"]
    if subprocess.run([*zig, "version"], capture_output=True, check=False).returncode != 0:
        return []
    command = f"{sys.executable} {HERE / 'zig_cxx.py'} -target"
    return [
        Compiler("zig-musl", f"{command} x86_64-linux-musl"),
        Compiler("zig-macos-arm64", f"{command} aarch64-macos", None),
        Compiler("zig-windows", f"{command} x86_64-windows-gnu", None, WINDOWS),
    ]


def build(compiler: Compiler) -> Path:
    """Build the core and its test program; return the path of the program."""
    folder = ROOT / "build" / "compilers" / compiler.name
    shutil.rmtree(folder, ignore_errors=True)
    settings = ["-DTREERANK_PYTHON=OFF", "-DTREERANK_CORE_TEST=ON", "-DTREERANK_WERROR=ON"]
    _run(
        ["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
         *settings, *compiler.settings],
        env={**os.environ, "CXX": compiler.command},
    )  # fmt: skip
    _run(["cmake", "--build", folder, "-j", "2"])
    return folder / "core_bits"


def check_bits(compiler: Compiler, program: Path) -> str:
    """Compare the output of the program with expected.txt; return the instruction sets tried."""
    assert compiler.runner is not None
    command = [*compiler.runner, program]
    tried = []
    for name in INSTRUCTION_SETS:
        env = {**os.environ, "TREERANK_ISA": name}
        chosen = _run([*command, "--instruction-set"], env=env).strip()
        if chosen != name:
            continue
        tried.append(name)
        if (printed := _run(command, env=env)) != EXPECTED:
            pairs = zip(printed.splitlines(), EXPECTED.splitlines(), strict=False)
            differing = [line for line, wanted in pairs if line != wanted]
            raise RuntimeError(f"{name}: other bits: {', '.join(differing[:5])}")
    if compiler.is_native and shutil.which("qemu-x86_64"):
        for processor, wanted in PROCESSORS.items():
            emulator = ["qemu-x86_64", "-cpu", processor]
            chosen = _run([*emulator, *command, "--instruction-set"]).strip()
            if chosen != wanted:
                raise RuntimeError(f"{processor}: got {chosen!r}, expected {wanted!r}")
    return ", ".join(tried)


def _run(command: list[object], **options: object) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> int:
    """Build and run with all compilers, or with those that are named."""
    compilers, missing = find_compilers()
    wanted = sys.argv[1:]
    failed = [name for name in wanted if name not in [c.name for c in compilers]]
    for compiler in compilers:
        if wanted and compiler.name not in wanted:
            continue
        try:
            program = build(compiler)
            if compiler.runner is None:
                outcome = "built"
            else:
                outcome = f"same bits ({check_bits(compiler, program)})"
        except RuntimeError as error:
            failed.append(compiler.name)
            outcome = f"FAILED\n{error}"
        print(f"{compiler.name}: {outcome}", flush=True)
    print(f"not installed, skipped: {', '.join(missing)}")
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
