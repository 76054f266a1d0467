"""The numbers on which the kernel of matrix products and the code that calls it agree; see `gemm_products.py`."""

from .cpu import BYTES, L2, REGISTERS

FIRST, FORM = 3, 13
"""The position of the first product in the sizes, and the number of its sizes before the offsets of its batches."""
NO_ADDEND = -1
"""The distance between rows of E where nothing is added."""
AMPLE = REGISTERS * BYTES >= 2048
"""Whether registers hold the sums of large tiles, as those of AVX-512 do: 32 of 64 bytes. AVX2 has 16 of 32, arm64 32 of 16."""
WIDE = 2 if AMPLE else 3
"""Vectors of a whole tile's width."""
DEPTH = 256
"""Steps of a product done at a time: a panel of B of this height and a tile's width stays in the L1 cache."""
NEAR = 8192 * BYTES
"""Bytes of a block of A, which stays in the L2 cache."""
ROOMY = AMPLE and L2 >= 4 * NEAR
"""Whether the L2 cache holds a block of B, beside which rows of A pass, or else a block of A."""
SHALLOW = DEPTH // 2
"""Steps up to which tiles of a packed product take all panels of B for one panel of A."""
BLOCK = SHALLOW if ROOMY else DEPTH
"""Steps of a packed product done at a time."""
BROAD = 3 if ROOMY else WIDE
"""Vectors of a whole packed tile's width."""
FAR = L2 // 2 if ROOMY else 4 * NEAR
"""Bytes of a block of B."""


def scratch_of(size: int, columns: int) -> int:
    """Bytes of scratch for a packed product. size: bytes of an element; columns: those of B that one chunk takes."""
    panels = -(-columns * size // (BROAD * BYTES))
    return NEAR + min(panels, FAR // (BROAD * BYTES * BLOCK)) * BROAD * BYTES * BLOCK


IN_PLACE = "m, n, k, ta, tb, a, a_row, a_step, b, b_row, c, c_row, e, e_row, adds, alpha"
"""The words of a function of products with operands in place: addresses and bytes, and the bits of alpha as a float64."""


def in_place(element: str) -> tuple[str, str]:
    """The source and the name of the function of products of f32 or f64 with operands in place, which kernels share."""
    routine, name = f"place_{element}", f"in_place_{element}"
    imported = f"from staticgrad.compiler.backend.gemm_products import {routine}\n"
    imported += "from staticgrad.compiler.backend.kernel_compiler import entry\n\n\n"
    return f"{imported}@entry\ndef {name}({IN_PLACE}):\n    {routine}({IN_PLACE})\n    return 0\n", name


def kernel(kind: str) -> tuple[str, str]:
    """The source and the name of the kernel of products of f32, f64, f32_packed or f64_packed; see `gemm_products.py`."""
    routine, name = f"multiply_{kind}", f"gemm_{kind}"
    imported = f"from staticgrad.compiler.backend.gemm_products import {routine}\n\n\n"
    return f"{imported}@kernel\ndef {name}(buffers, sizes, start, stop):\n    {routine}(buffers, sizes, start, stop)\n", name
