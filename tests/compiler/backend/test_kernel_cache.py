"""From source to machine code: what makes a kernel, what does not compile, and how often anything is compiled."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from staticgrad.base import interpreter
from staticgrad.compiler.backend import abi, kernel_cache
from staticgrad.compiler.backend.kernel_cache import Counters
from staticgrad.errors import CompileError
from tests.helpers import load_no_kernels
from tests.processes import ended, start

BODY = """\
@kernel
def kernel(buffers, sizes, start, stop):
    x0 = f64_at(buffers, 0)
    for i in range(start, stop):
        x0[i] = x0[i] + f64({number})  # %1 add  model.py:1
"""


def body(number: float = 1.0) -> str:
    return BODY.format(number=number)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty kernel cache, and a process that has loaded nothing."""
    folder = tmp_path / "kernels"
    monkeypatch.setenv("STATICGRAD_CACHE_DIR", str(folder))
    load_no_kernels(monkeypatch)
    return folder


def counted(number: float = 1.0) -> tuple[int, int]:
    """(compiled, loaded from disk) by one load, whose kernel works."""
    before = Counters.compiled, Counters.from_disk
    run(kernel_cache.load(body(number))["kernel"], number)
    return Counters.compiled - before[0], Counters.from_disk - before[1]


def run(address: int, number: float) -> None:
    data = np.zeros(3)
    buffers, sizes = np.array([data.ctypes.data], np.int64), np.zeros(1, np.int64)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(address)
    call(buffers.ctypes.data, sizes.ctypes.data, 0, 2)
    assert data.tolist() == [number, number, 0]


# what makes a kernel ----------------------------------------------------------------------------------------------


def test_comments_do_not(cache: Path):
    assert counted() == (1, 0)
    before = Counters.compiled + Counters.from_disk
    again = kernel_cache.load(body().replace("model.py:1", "other.py:77"))
    assert again is kernel_cache.load(body())
    assert Counters.compiled + Counters.from_disk == before


def test_code_does(cache: Path):
    assert counted(1.0) == (1, 0)
    assert counted(2.0) == (1, 0)
    assert len(list(cache.glob("*.o"))) == 2


def test_the_toolchain_does(cache: Path, monkeypatch: pytest.MonkeyPatch):
    source = kernel_cache.header(body()) + body()
    before = kernel_cache.key_of(source)
    monkeypatch.setattr(kernel_cache, "toolchain", lambda compiler: "another CPU")
    assert kernel_cache.key_of(source) != before


@pytest.mark.parametrize("file", ["backend/elementary/exponential.py", "backend/gemm_products.py", "runtime/work_sharing.py"])
def test_a_module_that_writes_code_does(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folders = [Path(shutil.copytree(folder, tmp_path / Path(folder).name)) for folder in kernel_cache.WRITERS]
    monkeypatch.setattr(kernel_cache, "WRITERS", folders)
    toolchain = kernel_cache.toolchain.__wrapped__
    before = toolchain("numba")
    changed = tmp_path / file
    changed.write_text(changed.read_text() + "\nMORE = 1\n")
    assert toolchain("numba") != before


def test_nothing_else_writes_code():
    """An interpreter that compiles a kernel, products and the runtime imports no other module of the compiler."""
    program = """
    import sys
    from staticgrad.compiler.backend import abi, kernel_cache
    from staticgrad.compiler.runtime import loader
    for body in (abi.kernel("f32")[0], loader.TEXT, *map(loader.source, loader.MODULES)):
        kernel_cache.llvm_code(kernel_cache.header(body) + body)
    for name, module in sys.modules.items():
        if name.startswith("staticgrad.compiler."):
            print(module.__file__)
    """
    out, err = ended(start(program))
    assert not err
    others = [file for file in map(Path, out.splitlines()) if not any(file.is_relative_to(f) for f in kernel_cache.WRITERS)]
    assert [file for file in others if file.read_text().count("\n") > 5] == []  # packages that only have a docstring


def test_random_functions_are_imported_where_they_are_used():
    assert "philox" not in kernel_cache.header(body())
    assert "philox" in kernel_cache.header("    v0 = normal_f32(rng0[0], rng0[1], i)")


def test_a_fresh_process_loads_from_disk(cache: Path, monkeypatch: pytest.MonkeyPatch):
    assert counted() == (1, 0)
    load_no_kernels(monkeypatch)
    threads: list[Any] = []
    monkeypatch.setattr(interpreter, "start_new_thread", lambda run, args: threads.append(run) or run(*args))
    assert counted() == (0, 1)
    assert not threads, "only LLVM needs one"


def test_the_source_beside_the_code_is_for_reading(cache: Path, monkeypatch: pytest.MonkeyPatch):
    assert counted() == (1, 0)
    for file in cache.glob("k*.py"):
        file.write_text("raise AssertionError('the source on disk was executed')")
    load_no_kernels(monkeypatch)
    assert counted() == (0, 1)


def test_what_is_on_disk_needs_no_compiler(cache: Path):
    counted()
    program = f"""
import sys
from staticgrad.compiler.runtime import loader as driver; from staticgrad.compiler.backend import kernel_cache as jit
jit.load({body()!r})
assert jit.Counters.from_disk == 1
assert "staticgrad.compiler.backend.kernel_compiler" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_a_kernel_that_calls_what_is_not_there_is_refused(cache: Path):
    far = """
from staticgrad.compiler.backend.kernel_types import Value, builtin, float64
from staticgrad.compiler.backend.llvm import function, ir


@builtin(float64)
def far(builder, x):
    called = function(builder, "far_away", ir.FunctionType(float64.llvm, [float64.llvm]))
    return Value(float64, builder.call(called, [x]))


"""
    with pytest.raises(CompileError, match="the kernel kernel calls far_away, which is not there"):
        kernel_cache.load(far + body().replace("f64(1.0)", "far(x0[i])"))
    assert not list(cache.rglob("k*")), "nothing of it is kept"


def test_two_threads_compile_once(cache: Path):
    before = Counters.compiled
    found: list = []
    workers = [threading.Thread(target=lambda: found.append(kernel_cache.load(body()))) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found[0] is found[1]
    assert Counters.compiled == before + 1


def test_only_the_steps_of_a_sum_may_be_rearranged(cache: Path):
    """Their flag lets a loop of them vectorize; what is elementwise keeps its meaning at infinity."""
    lines = ("x0 = f64_at(buffers, 0)", "t = f64(0)", "for i in range(start, stop):", "    a = x0[i] - f64(2)",
             "    t = plus_f64(t, a)", "x0[0] = t")  # fmt: skip
    text = "@kernel\ndef kernel(buffers, sizes, start, stop):\n" + "".join(f"    {line}\n" for line in lines)
    written = kernel_cache.llvm_code(kernel_cache.header(text) + text)[1]
    assert "fadd reassoc" in written
    assert not any("reassoc" in line for line in written.splitlines() if "fsub" in line)


def test_products_inside_kernels_are_machine_code_of_their_own(cache: Path):
    """Compiled with the first kernel that calls them, and then linked with others. A kernel without them needs none."""
    kernels = [kernel_cache.library_source("attention_blocks", name) for name in ("forward_f32", "join_f32")]
    products = abi.kernel("f32")[0]
    [(text, name)] = kernel_cache.shared(kernels[0])
    assert kernel_cache.shared(products) == [(text, name)] == [abi.in_place("f32")]
    assert kernel_cache.shared(kernels[1]) == []
    before, loaded = Counters.compiled, Counters.from_disk
    assert not kernel_cache.at_hand(products)
    kernel_cache.load(products)
    assert Counters.compiled == before + 2
    kernel_cache.load(kernels[0])
    assert Counters.compiled == before + 3
    assert Counters.from_disk == loaded
    (cache / kernel_cache.file(text).name).unlink()
    kernel_cache._loaded.clear()
    assert not kernel_cache.at_hand(products)
    kernel_cache.load(products)
    assert (Counters.compiled, Counters.from_disk) == (before + 4, loaded + 1)


# what does not compile --------------------------------------------------------------------------------------------


def test_a_source_that_does_not_compile_is_shown(cache: Path):
    broken = body().replace("x0[i] +", "nonsense(i) +")
    with pytest.raises(
        CompileError, match="a kernel does not compile: LanguageError: the language of kernels has no name nonsense"
    ) as caught:
        kernel_cache.load(broken)
    assert "x0[i] = nonsense(i) + f64(1.0)" in str(caught.value)
    assert not list(cache.rglob("k*")), "nothing of it is kept"


# the library ------------------------------------------------------------------------------------------------------

LIBRARY = [
    ("strided_moves", "clear"),
    *(("strided_moves", f"copy_{kind}") for kind in ("i8", "i16", "i32", "i64")),
    *(("positions", f"bounded_{kind}") for kind in ("u8", "i8", "i16", "i32", "i64")),
]


@pytest.mark.parametrize(("file", "name"), LIBRARY)
def test_every_kernel_of_the_library_compiles(file: str, name: str):
    assert kernel_cache.load(kernel_cache.library_source(file, name))[name]


def test_a_kernel_of_the_library_brings_its_helpers_alone():
    common, kernels = kernel_cache._library("row_moves")
    assert "def scattered" in common
    assert "def gathered" in common
    assert "@kernel" not in common
    assert all(text.count("@kernel") == 1 for text in kernels.values())


def test_a_kernel_of_the_library_is_written_once_for_all_types():
    assert list(kernel_cache._library("running_sums")[1]) == ["running_T", "carried_T"]
    assert (
        kernel_cache.library_source("running_sums", "running_f32")
        .rstrip()
        .endswith("""\
@kernel
def running_f32(buffers, sizes, start, stop):
    if sizes[1] == 1:
        along_rows(f32_at(buffers, 0), f32_at(buffers, 1), sizes[0], start, stop, f32)
    else:
        running(f32_at(buffers, 0), f32_at(buffers, 1), sizes, start, stop)""")
    )
    assert (
        kernel_cache.library_source("depthwise_convolution", "gather_f64_8")
        .rstrip()
        .endswith(
            "gather(f64_at(buffers, 0), f64_at(buffers, 1), f64_at(buffers, 2), f64_at(buffers, 3), sizes, start, stop, 8)"
        )
    )
    with pytest.raises(KeyError, match="walking_T"):
        kernel_cache.library_source("running_sums", "walking_f32")
