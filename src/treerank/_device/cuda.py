"""A CUDA device through its driver: context, memory, and kernels that are cached on disk."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._device.device import Kernels, Memory, within_budget
from treerank._device.source import Program
from treerank._device.staging import LEAST_BYTES, Staging

MOST_SHARED_BYTES = 96 * 1024  # that a kernel may request
STREAM = 2  # the default stream per thread, in which its requests are executed in order
KEPT_BYTES = 4 * 2**30  # freed memory that the pool keeps for later allocations


@cache
def cuda_device() -> CudaDevice:
    """Return the current CUDA device; an error says what is missing."""
    try:
        from cuda.bindings import driver, nvrtc  # noqa: PLC0415
    except ImportError as error:
        raise ImportError(
            "Got device='cuda' without the CUDA bindings; expected them to be installed. Run "
            "pip install 'treerank-ml[cuda]', or set device='cpu'."
        ) from error
    return CudaDevice(driver, nvrtc)


def _no_device(reason: str) -> RuntimeError:
    return RuntimeError(
        f"Got device='cuda', but no CUDA device can be used: {reason}; expected an NVIDIA GPU with "
        "a driver. Set device='cpu': it makes the same model."
    )


class _CudaMemory:
    """Memory of the device, freed with the object."""

    def __init__(self, free: Callable[[int], Any], address: int, n_bytes: int) -> None:
        self.address, self.n_bytes = address, n_bytes
        self._free = free

    def __del__(self) -> None:
        self._free(self.address)


class _PinnedBytes:
    """Page-locked host memory, freed with the last array that refers to it."""

    def __init__(self, free: Callable[[int], Any], address: int, n_bytes: int) -> None:
        self.__array_interface__ = {
            "shape": (n_bytes,), "typestr": "|u1", "data": (address, False), "version": 3,
        }  # fmt: skip
        self._free, self._address = free, address

    def __del__(self) -> None:
        self._free(self._address)


def _is_pinned(values: NDArray[Any]) -> bool:
    base: Any = values
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, _PinnedBytes)


class _CudaKernels:
    """Kernels of one compiled program."""

    def __init__(self, device: CudaDevice, program: Program) -> None:
        self._device = device
        driver, cubin = device.driver, device._cubin(program)
        self._module = device.check(driver.cuModuleLoadData(np.frombuffer(cubin, np.uint8)))
        self._functions = {}
        shared = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        for name in program.kernels:
            function = device.check(driver.cuModuleGetFunction(self._module, name.encode()))
            if name in {"grow_mid", "count_large", "count_gradients"}:
                device.check(driver.cuFuncSetAttribute(function, shared, MOST_SHARED_BYTES))
            self._functions[name] = function

    def launch(
        self,
        name: str,
        grid: int | tuple[int, int],
        block: int,
        *arguments: Any,
        shared_bytes: int = 0,
    ) -> None:
        """Queue a kernel in the stream of this thread."""
        x, y = grid if isinstance(grid, tuple) else (grid, 1)
        if x == 0 or y == 0:
            return
        self._device.enter()
        values = [as_argument(argument) for argument in arguments]
        pointers = np.array([value.ctypes.data for value in values], dtype=np.uint64)
        self._device.check(
            self._device.driver.cuLaunchKernel(
                self._functions[name], x, y, 1, block, 1, 1, shared_bytes, STREAM,
                pointers.ctypes.data, 0,
            )
        )  # fmt: skip


def as_argument(argument: Any) -> NDArray[Any]:
    """Convert an argument to an array whose bytes are passed to a kernel."""
    if isinstance(argument, np.ndarray):
        return argument
    if isinstance(argument, int):
        return np.array(argument, dtype=np.int32)
    if isinstance(argument, np.generic):
        return np.array(argument)
    return np.array(0 if argument is None else argument.address, dtype=np.uint64)


class CudaDevice:
    """The first device that the driver lists (CUDA_VISIBLE_DEVICES selects another)."""

    def __init__(self, driver: Any, nvrtc: Any) -> None:
        self.driver, self.nvrtc = driver, nvrtc
        try:
            status, *_ = driver.cuInit(0)
        except RuntimeError as error:  # the library of the driver is not installed
            raise _no_device(str(error)) from error
        if status != driver.CUresult.CUDA_SUCCESS:
            raise _no_device(f"the driver says {status.name}")
        if self.check(driver.cuDeviceGetCount()) == 0:
            raise _no_device("the driver sees none")
        device = self.check(driver.cuDeviceGet(0))
        self._context = self.check(driver.cuDevicePrimaryCtxRetain(device))
        self.check(driver.cuCtxSetCurrent(self._context))
        attribute = driver.CUdevice_attribute

        def read(kind: Any) -> int:
            return int(self.check(driver.cuDeviceGetAttribute(kind, device)))

        self.n_processors = read(attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
        major = read(attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
        minor = read(attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
        self.architecture = f"sm_{major}{minor}"
        raw = bytes(self.check(driver.cuDeviceGetName(256, device)))
        self.name = raw.split(b"\0")[0].decode()
        self._kernels: dict[Program, Kernels] = {}
        self._compiling = threading.Lock()
        self._staging = Staging(self.host_bytes)
        self._pool = self.check(driver.cuDeviceGetDefaultMemPool(device))
        kept = driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        self.check(driver.cuMemPoolSetAttribute(self._pool, kept, driver.cuuint64_t(KEPT_BYTES)))

    def check(self, result: tuple[Any, ...]) -> Any:
        """Return the value of a call to the driver, or raise its error."""
        status, *values = result
        if int(status) != 0:
            if status == self.driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
                raise MemoryError(
                    f"The memory of {self.name} is used up. Free what other programs hold there, "
                    "fit to fewer rows, or set device='cpu'."
                )
            raise RuntimeError(f"CUDA: {status.name}")
        return values[0] if len(values) == 1 else values

    @property
    def free_bytes(self) -> int:
        """Memory that may be allocated: free, or freed and kept by the pool, within the budget."""
        self.enter()
        driver, kinds = self.driver, self.driver.CUmemPool_attribute
        held, used = (
            int(self.check(driver.cuMemPoolGetAttribute(self._pool, kind)))
            for kind in (
                kinds.CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, kinds.CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
            )
        )  # fmt: skip
        return within_budget(int(self.check(driver.cuMemGetInfo())[0]) + held - used, used)

    def enter(self) -> None:
        """Make the context current in this thread; new threads have none."""
        self.check(self.driver.cuCtxSetCurrent(self._context))

    def empty(self, n_bytes: int) -> Memory:
        """Allocate memory."""
        self.enter()
        address = int(self.check(self.driver.cuMemAllocAsync(max(n_bytes, 16), STREAM)))
        return _CudaMemory(self._free, address, n_bytes)

    def _free(self, address: int) -> None:
        """Free memory once all requests of this thread are done."""
        self.enter()
        self.driver.cuMemFreeAsync(address, STREAM)

    def host_bytes(self, n_bytes: int) -> NDArray[np.uint8]:
        """Allocate page-locked host memory."""
        self.enter()
        address = int(self.check(self.driver.cuMemAllocHost(max(n_bytes, 16))))
        return np.asarray(_PinnedBytes(self._free_host, address, n_bytes))

    def _free_host(self, address: int) -> None:
        self.enter()
        self.driver.cuMemFreeHost(address)

    def fill(self, memory: Memory, byte: int, n_bytes: int, first: int = 0) -> None:
        """Set some bytes."""
        self.enter()
        if n_bytes:
            self.check(self.driver.cuMemsetD8Async(memory.address + first, byte, n_bytes, STREAM))

    def write(self, memory: Memory, values: NDArray[Any], first: int = 0) -> None:
        """Copy an array to the device."""
        self.write_all(memory, [(first, values)])

    def write_all(self, memory: Memory, parts: Sequence[tuple[int, NDArray[Any]]]) -> None:
        """Copy several arrays to the device."""
        placed = [(memory.address + first, values) for first, values in parts]
        if sum(values.nbytes for _, values in placed) < LEAST_BYTES:
            for address, values in placed:
                self._copy_there(address, values)
            return
        self.wait_for(STREAM)  # the threads that copy have streams of their own
        self._staging.write(placed, self._copy_there)

    def _copy_there(self, address: int, values: NDArray[Any]) -> None:
        self.enter()
        self.check(
            self.driver.cuMemcpyHtoDAsync(address, values.ctypes.data, values.nbytes, STREAM)
        )
        self.check(self.driver.cuStreamSynchronize(STREAM))

    def read(self, memory: Memory, values: NDArray[Any], first: int = 0) -> None:
        """Copy memory of the device to an array."""
        if values.nbytes < LEAST_BYTES or _is_pinned(values):
            self._copy_here(memory.address + first, values)
            return
        self.wait_for(STREAM)
        self._staging.read([(memory.address + first, values)], self._copy_here)

    def _copy_here(self, address: int, values: NDArray[Any]) -> None:
        self.enter()
        self.check(
            self.driver.cuMemcpyDtoHAsync(values.ctypes.data, address, values.nbytes, STREAM)
        )
        self.check(self.driver.cuStreamSynchronize(STREAM))

    def wait_for(self, stream: int) -> None:
        """Wait until all work queued in a stream is done."""
        self.enter()
        self.check(self.driver.cuStreamSynchronize(stream))

    def kernels(self, program: Program) -> Kernels:
        """Return the kernels of a program, compiled if necessary."""
        self.enter()
        with self._compiling:
            if program not in self._kernels:
                self._kernels[program] = _CudaKernels(self, program)
        return self._kernels[program]

    def _cubin(self, program: Program) -> bytes:
        # No fused multiply-add, so that gains are bitwise equal to those of the CPU.
        options = [f"-arch={self.architecture}", "-fmad=false", "-std=c++17", "-default-device"]
        options += [f"-D{name}={value}" for name, value in program.definitions.items()]
        version = self.check(self.nvrtc.nvrtcVersion())
        text = program.text
        key = hashlib.sha256(repr((text, options, version)).encode()).hexdigest()
        kept = cache_folder() / f"{key}.cubin"
        if kept.is_file():
            return kept.read_bytes()
        cubin = self._compile(text, options)
        _keep(kept, cubin)
        return cubin

    def _compile(self, text: str, options: list[str]) -> bytes:
        nvrtc, check = self.nvrtc, self.check
        program = check(nvrtc.nvrtcCreateProgram(text.encode(), b"treerank.cu", 0, [], []))
        encoded = [option.encode() for option in options]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(encoded), encoded)
        if int(status) != 0:
            log = b" " * check(nvrtc.nvrtcGetProgramLogSize(program))
            check(nvrtc.nvrtcGetProgramLog(program, log))
            raise RuntimeError(f"NVRTC cannot compile the kernels:\n{log.decode()}")
        cubin = b" " * check(nvrtc.nvrtcGetCUBINSize(program))
        check(nvrtc.nvrtcGetCUBIN(program, cubin))
        check(nvrtc.nvrtcDestroyProgram(program))
        return bytes(cubin)


def cache_folder() -> Path:
    """Folder of compiled kernels, in the cache of the user."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "treerank" / "kernels"


def _keep(path: Path, content: bytes) -> None:
    """Write a file atomically, since others may read it at any time. Errors are ignored."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(content)
        Path(file.name).replace(path)
    except OSError:
        return
