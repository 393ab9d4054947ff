"""An emulated device: the source of the kernels, compiled as C++ with a shim."""

import ctypes
import hashlib
import os
import shutil
import subprocess
import threading
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from treerank._device.cuda import as_argument
from treerank._device.table import put_table, row_stride

SHIM = Path(__file__).parent / "device" / "shim.hpp"
BUILD = Path(__file__).parent.parent / "build" / "emulation"
ENTRY = """
extern "C" int emulate(const char* name, unsigned x, unsigned y, unsigned block,
                       unsigned long long shared_bytes, void** arguments) {
    const std::string wanted = name;
%s
    return 1;
}
"""


def compiler():
    return os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")


def is_there():
    return compiler() is not None and os.name == "posix"


needs_emulation = pytest.mark.skipif(not is_there(), reason="no C++ compiler for the kernels")


compiling = threading.Lock()  # batches of trees grow in separate threads


def library(program):
    with compiling:
        return compiled(program)


@cache
def compiled(program):
    calls = "\n".join(
        f'    if (wanted == "{name}")'
        f" return emulation::launch({name}, x, y, block, shared_bytes, arguments), 0;"
        for name in program.kernels
    )
    text = f'#include "{SHIM}"\n{program.text}\n{ENTRY % calls}'
    words = [f"-D{name}={value}" for name, value in program.definitions.items()]
    key = hashlib.sha256(repr((text, SHIM.read_text(), words)).encode()).hexdigest()[:16]
    built = BUILD / f"kernels_{key}.so"
    BUILD.mkdir(parents=True, exist_ok=True)
    import fcntl  # Unix only, like the emulation

    with built.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one of several test processes compiles
        if not built.exists():
            build(text, words, built)
    return ctypes.CDLL(str(built))


def build(text, words, built):
    code, made = built.with_suffix(".cpp"), built.with_suffix(".made")
    code.write_text(text)
    options = ["-std=c++20", "-O1", "-ffp-contract=off", "-fno-strict-aliasing", "-w", *words]
    made_as = ["-shared", "-fPIC", "-U_FORTIFY_SOURCE", "-o", str(made)]
    subprocess.run([compiler(), *options, *made_as, str(code)], check=True)
    made.replace(built)
    code.unlink()


def put_in_blocks(block_rows):
    """Return `put_table` with just enough memory for blocks of `block_rows` rows."""

    def put(device, codes, labels, units, features, beside=0):
        one = codes.itemsize * (len(codes) + 2 * row_stride(len(codes), codes.itemsize)) + 8
        of_rows = len(labels) * (1 if units is None else 9)
        taken = device.free_bytes - of_rows - block_rows * one
        table = put_table(device, codes, labels, units, features, taken)
        assert not table.is_whole
        assert table.block_rows == block_rows
        return table

    return put


class EmulatedMemory:
    def __init__(self, n_bytes):
        self.bytes = np.full(max(n_bytes, 16) + 64, 0xCD, dtype=np.uint8)  # not zeros
        self.n_bytes = n_bytes
        start = self.bytes.ctypes.data
        self.address = start + (-start % 64)


class EmulatedKernels:
    at_work = threading.Lock()  # the shim runs one block at a time

    def __init__(self, library):
        self.library = library

    def launch(self, name, grid, block, *arguments, shared_bytes=0):
        x, y = grid if isinstance(grid, tuple) else (grid, 1)
        values = [as_argument(argument) for argument in arguments]
        pointers = (ctypes.c_void_p * len(values))(*(value.ctypes.data for value in values))
        with self.at_work:
            status = self.library.emulate(
                name.encode(), x, y, block, ctypes.c_ulonglong(shared_bytes), pointers
            )
        assert status == 0, name


class EmulatedDevice:
    name = "an emulated device"

    def __init__(self, n_processors=1, free_bytes=2**34):
        self.n_processors, self.free_bytes = n_processors, free_bytes

    def kernels(self, program):
        return EmulatedKernels(library(program))

    def empty(self, n_bytes):
        return EmulatedMemory(n_bytes)

    def host_bytes(self, n_bytes):
        return np.empty(n_bytes, dtype=np.uint8)

    def fill(self, memory, byte, n_bytes, first=0):
        assert first + n_bytes <= memory.n_bytes
        ctypes.memset(memory.address + first, byte, n_bytes)

    def write(self, memory, values, first=0):
        assert first + values.nbytes <= max(memory.n_bytes, 16)
        ctypes.memmove(memory.address + first, values.ctypes.data, values.nbytes)

    def write_all(self, memory, parts):
        for first, values in parts:
            self.write(memory, values, first)

    def wait_for(self, stream):
        self.waited_for = stream

    def read(self, memory, values, first=0):
        assert first + values.nbytes <= max(memory.n_bytes, 16)
        ctypes.memmove(values.ctypes.data, memory.address + first, values.nbytes)
