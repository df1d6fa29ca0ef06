"""The CUDA driver, through ctypes: a card, its memory, and the kernels compiled for it."""

import ctypes
from typing import Any, ClassVar, Protocol
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from qtj_simulator.fused.cuda.compiler import UnusableError, compiled

__all__ = ["DRIVER", "Call", "Card", "Compile", "Memory"]

_ADDRESSES = (
    "program", "constants", "kind_at", "head_at", "kind_slot", "head_slot", "inside", "shared", "example", "upstream",
    "unitary", "pulled", "coefficients", "head_unitary", "observable", "source", "psi", "lambda_", "sums", "totals",
    "values", "kind_slopes", "head_slopes", "shared_gradient", "example_gradient", "source_stride",
)  # fmt: skip
_NUMBERS = (
    "gates_at", "blocks_at", "pairs_at", "terms_at", "strings_at", "offsets_at", "pass_at", "kinds", "heads", "pairs",
    "terms", "strings", "readouts", "shared_angles", "example_angles", "kind_slots", "head_slots", "qubits",
    "tile_bits", "examples", "slices", "width", "fold_from", "fold_to",
)  # fmt: skip


class Call(ctypes.Structure):
    """What kernels are given, `native/call.h`: addresses on the card, then sizes and places in the program."""

    _fields_: ClassVar = [
        *((name, ctypes.c_uint64) for name in _ADDRESSES),
        *((name, ctypes.c_int) for name in _NUMBERS),
    ]


DRIVER = "libcuda.so.1"
_OUT_OF_MEMORY = 2
_MULTIPROCESSORS, _MAJOR, _MINOR = 16, 75, 76
_CLOCK, _MEMORY_CLOCK, _BUS_WIDTH = 13, 36, 37
_MOST_SHARED_MEMORY = 8
"""Numbers of `CUdevice_attribute` and `CUfunction_attribute` in cuda.h."""
_OLDEST = 70
_WITH_64_LANES = {70, 72, 75, 80}
"""Compute capabilities whose multiprocessors have 64 lanes for single precision; later ones have 128."""
_PLENTY = 48 << 10
"""Shared memory that a block of threads may have without asking."""


class Compile(Protocol):
    """Compiles the kernels for an architecture and the bits of a real number; returns the module."""

    def __call__(self, architecture: int, bits: int) -> bytes:
        """See the class."""


class Memory:
    """Memory of a card, which is given back when nobody uses it."""

    def __init__(self, card: "Card", size: int) -> None:
        """Takes it.

        Raises:
            MemoryError: If the card has not enough.
            UnusableError: If the card fails.
        """
        address = ctypes.c_uint64()
        card.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(size, 8)))
        self.address, self.size, self._card = address.value, size, card
        finalize(self, card.give_back, address.value)

    def write(self, array: NDArray[Any]) -> None:
        """Copies an array into it."""
        if array.nbytes:
            size = ctypes.c_size_t(array.nbytes)
            self._card.call("cuMemcpyHtoD_v2", ctypes.c_uint64(self.address), array.ctypes.data_as(_ADDRESS), size)

    def read(self, *shape: int) -> NDArray[np.float64]:
        """Copies float64 out of it."""
        array = np.zeros(shape)
        if array.nbytes:
            size = ctypes.c_size_t(array.nbytes)
            self._card.call("cuMemcpyDtoH_v2", array.ctypes.data_as(_ADDRESS), ctypes.c_uint64(self.address), size)
        return array

    def clear(self) -> None:
        """Sets it to 0."""
        if self.size:
            size = ctypes.c_size_t(self.size)
            self._card.call("cuMemsetD8_v2", ctypes.c_uint64(self.address), ctypes.c_ubyte(0), size)


_ADDRESS = ctypes.c_void_p


class Card:
    """A card that this process sees: CUDA_VISIBLE_DEVICES may hide others."""

    def __init__(self, driver: str = DRIVER, compile_kernels: Compile = compiled, number: int = 0) -> None:
        """Opens it.

        Args:
            driver: The library of the driver. Tests have one without a card.
            compile_kernels: What compiles the kernels.
            number: Which card it is; after the last one, the first one follows.

        Raises:
            UnusableError: If there is no driver, or no card that it can use.
        """
        try:
            self._library = ctypes.CDLL(driver)
        except OSError as problem:
            raise UnusableError(f"no CUDA driver: {problem}") from problem
        self._compile, self._kernels = compile_kernels, dict[tuple[int, str], ctypes.c_void_p]()
        self.call("cuInit", 0)
        self._device, self._context = ctypes.c_int(), ctypes.c_void_p()
        count = ctypes.c_int()
        self.call("cuDeviceGetCount", ctypes.byref(count))
        self.call("cuDeviceGet", ctypes.byref(self._device), number % max(count.value, 1))
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), self._device)
        self.enter()
        self.architecture = 10 * self._attribute(_MAJOR) + self._attribute(_MINOR)
        if self.architecture < _OLDEST:
            raise UnusableError(
                f"the compute capability of {self.name} is {self.architecture / 10}, and not 7.0 or more"
            )
        self.multiprocessors = self._attribute(_MULTIPROCESSORS)

    @property
    def name(self) -> str:
        """What it is sold as."""
        text = ctypes.create_string_buffer(100)
        self.call("cuDeviceGetName", text, len(text), self._device)
        return text.value.decode()

    @property
    def free(self) -> int:
        """Bytes of its memory that nobody uses."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    @property
    def bandwidth(self) -> float:
        """Bytes a second that its memory moves at most: twice a clock, over the whole bus."""
        return 2e3 * self._attribute(_MEMORY_CLOCK) * self._attribute(_BUS_WIDTH) / 8

    @property
    def peak(self) -> float:
        """Operations a second in single precision at most: each lane multiplies and adds once a clock."""
        lanes = 64 if self.architecture in _WITH_64_LANES else 128
        return 2e3 * self._attribute(_CLOCK) * self.multiprocessors * lanes

    def enter(self) -> None:
        """Lets the calling thread use it."""
        self.call("cuCtxSetCurrent", self._context)

    def kernel(self, name: str, bits: int) -> ctypes.c_void_p:
        """Returns a kernel; compiles all of a precision when the first is asked for."""
        if (bits, name) not in self._kernels:
            function = ctypes.c_void_p()
            self.call("cuModuleGetFunction", ctypes.byref(function), self._module(bits), name.encode())
            self._kernels[bits, name] = function
        return self._kernels[bits, name]

    def launch(self, kernel: ctypes.c_void_p, grid: tuple[int, int], threads: int, shared: int, call: Call) -> None:
        """Starts a kernel; it runs after those that were started before."""
        if shared > _PLENTY:
            self.call("cuFuncSetAttribute", kernel, _MOST_SHARED_MEMORY, shared)
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(call))
        self.call("cuLaunchKernel", kernel, *grid, 1, threads, 1, 1, shared, None, arguments, None)

    def give_back(self, address: int) -> None:
        """Frees memory."""
        self._library.cuCtxSetCurrent(self._context)
        self._library.cuMemFree_v2(ctypes.c_uint64(address))

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function of the driver.

        Raises:
            MemoryError: If the card has not enough memory.
            UnusableError: If it fails otherwise.
        """
        code = getattr(self._library, name)(*arguments)
        if code == _OUT_OF_MEMORY:
            raise MemoryError("the memory of the GPU is full")
        if code:
            text = ctypes.c_char_p()
            self._library.cuGetErrorString(code, ctypes.byref(text))
            raise UnusableError(f"{name} of the CUDA driver fails: {(text.value or b'').decode()} ({code})")

    def _attribute(self, number: int) -> int:
        value = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), number, self._device)
        return value.value

    def _module(self, bits: int) -> ctypes.c_void_p:
        if (bits, "") not in self._kernels:
            module = ctypes.c_void_p()
            image = self._compile(self.architecture, bits)
            self.call("cuModuleLoadData", ctypes.byref(module), image)
            self._kernels[bits, ""] = module
        return self._kernels[bits, ""]
