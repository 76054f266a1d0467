"""Damage to the files of the kernel cache, at random: whatever lies there, results are right and the files healed.

    python -m tests.faults.cache_files [count] [seed]

Machine code that should not have been loaded ends the process, so the tests run this program in one of its own.
"""

from __future__ import annotations

import ctypes
import os
import random
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from staticgrad.compiler.backend import disk_cache as disk
from staticgrad.compiler.backend import kernel_cache
from staticgrad.compiler.backend.abi import kernel
from staticgrad.compiler.runtime import loader

ROOT = os.geteuid() == 0
STRANGER = 12345
BODY = """\
@kernel
def {name}(buffers, sizes, start, stop):
    x0 = f64_at(buffers, 0)
    for i in range(start, stop):
        x0[i] = x0[i] + f64({number})
"""
KERNELS = {"first": 1.0, "second": 2.0, "third": 3.0}


# what has to be right ---------------------------------------------------------------------------------------------------


def load() -> tuple[int, int]:
    """Load everything as a fresh process does, and use it: (files read from disk, files made)."""
    kernel_cache._loaded.clear()
    counts = [0, 0]
    genuine = disk.kept

    def counted(name: str, key: str, make: Callable[[], bytes]) -> tuple[bytes, bool]:
        content, found = genuine(name, key, make)
        counts[not found] += 1
        return content, found

    disk.kept = counted  # type: ignore[assignment]
    try:
        for name, number in KERNELS.items():
            data = np.zeros(3)
            buffers, sizes = np.array([data.ctypes.data], np.int64), np.zeros(1, np.int64)
            address = kernel_cache.load(BODY.format(name=name, number=number))[name]
            call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(address)
            call(buffers.ctypes.data, sizes.ctypes.data, 0, 2)
            assert data.tolist() == [number, number, 0]
        product, symbol = kernel("f32")
        assert kernel_cache.load(product)[symbol]
        table, status = np.zeros(8, np.int64), np.zeros(16, np.int64)
        step = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 8)(kernel_cache.load(loader.TEXT)["step"])
        assert step(0, 0, 0, table.ctypes.data, 0, 0, status.ctypes.data, 0) == -1
    finally:
        disk.kept = genuine
    return counts[0], counts[1]


# damage -----------------------------------------------------------------------------------------------------------------

Damage = Callable[[Path, random.Random], Any]


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.o"))


def one(change: Callable[[Path, random.Random], Any]) -> Damage:
    """To a file."""
    return lambda folder, rng: change(rng.choice(files(folder)), rng)


def swap(folder: Path, rng: random.Random) -> None:
    a, b = rng.sample(files(folder), 2)
    a.rename(folder / "aside")
    b.rename(a)
    (folder / "aside").rename(b)


def over(folder: Path, rng: random.Random) -> None:
    a, b = rng.sample(files(folder), 2)
    shutil.copy(a, b)


def rotate(folder: Path, rng: random.Random) -> None:
    """Every file under the name of another."""
    found = files(folder)
    contents = [file.read_bytes() for file in found]
    for file, content in zip(found, contents[1:] + contents[:1], strict=True):
        file.write_bytes(content)


def flip(file: Path, rng: random.Random) -> None:
    content = bytearray(file.read_bytes())
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    file.write_bytes(content)


def cut(file: Path, rng: random.Random) -> None:
    os.truncate(file, rng.randrange(file.stat().st_size))


def plain_checksum(file: Path, rng: random.Random) -> None:
    """A checksum that anybody can compute from the content alone."""
    import hashlib

    content = file.read_bytes()[disk.DIGEST :]
    file.write_bytes(hashlib.sha256(content).digest() + content)


def link_within(folder: Path, rng: random.Random) -> None:
    a, b = rng.sample(files(folder), 2)
    a.unlink()
    a.symlink_to(b.name)


def link_outside(file: Path, rng: random.Random) -> None:
    """To the right content, which lies where others may write."""
    outside = file.parent.parent / f"outside-{file.name}"
    file.rename(outside)
    file.symlink_to(outside)


def link_nowhere(file: Path, rng: random.Random) -> None:
    file.unlink()
    file.symlink_to("/nowhere/at/all")


def folder_instead(file: Path, rng: random.Random) -> None:
    file.unlink()
    (file / "inner").mkdir(parents=True)
    (file / "inner" / "file").write_text("not empty")


def pipe_instead(file: Path, rng: random.Random) -> None:
    file.unlink()
    os.mkfifo(file)


def litter(folder: Path, rng: random.Random) -> None:
    for name in ("kernel.o.txt", "x" * 200, "\udcff\udcfe", "runtime", "-.tmp", "k0.o.00.tmp", " ", "k\n"):
        (folder / name).write_bytes(rng.randbytes(40))
        os.utime(folder / name, (0, 0))
    for file in folder.glob("k*.py"):
        file.write_text("raise SystemExit('the source in the cache was executed')")
    (folder / "__pycache__").mkdir()
    (folder / "k0.d.tmp").mkdir()
    os.utime(folder / "k0.d.tmp", (0, 0))
    rng.choice(files(folder)).unlink()


FILES: dict[str, Damage] = {
    "two are swapped": swap,
    "one is a copy of another": over,
    "all have other names": rotate,
    "a bit is flipped": one(flip),
    "cut off": one(cut),
    "longer": one(lambda file, rng: file.write_bytes(file.read_bytes() + rng.randbytes(1 + rng.randrange(64)))),
    "empty": one(lambda file, rng: file.write_bytes(b"")),
    "noise": one(lambda file, rng: file.write_bytes(rng.randbytes(file.stat().st_size))),
    "missing": one(lambda file, rng: file.unlink()),
    "a checksum without the key": one(plain_checksum),
    "a link to another file": link_within,
    "a link to outside": one(link_outside),
    "a link to nowhere": one(link_nowhere),
    "a folder": one(folder_instead),
    "a pipe": one(pipe_instead),
    "litter, and one is missing": litter,
    "writable by the group": one(lambda file, rng: file.chmod(0o660)),
    "writable by all": one(lambda file, rng: file.chmod(0o606)),
}
"""Damage to files, which are made again."""
HARMLESS: dict[str, Damage] = {"the folder is readable by all": lambda folder, rng: folder.chmod(0o755)}
FOLDER: dict[str, Damage] = {
    "the folder is writable by the group": lambda folder, rng: folder.chmod(0o770),
    "the folder is writable by all": lambda folder, rng: folder.chmod(0o707),
}
"""Damage to the folder, which is not used then."""
if ROOT:
    FILES["of a stranger"] = one(lambda file, rng: os.chown(file, STRANGER, -1))
    FOLDER["the folder of a stranger"] = lambda folder, rng: os.chown(folder, STRANGER, -1)


def listing(folder: Path) -> list[tuple[Any, ...]]:
    found = [(path.name, path.lstat()) for path in sorted([folder, *folder.rglob("*")])]
    return [(name, info.st_mode, info.st_uid, info.st_size, info.st_mtime_ns) for name, info in found]


def check(name: str, pristine: Path, rng: random.Random) -> None:
    """One kind of damage to a copy of the cache."""
    with tempfile.TemporaryDirectory(dir=pristine.parent) as place:
        folder = Path(place) / "kernels"
        shutil.copytree(pristine, folder)
        folder.chmod(0o700)
        os.environ["STATICGRAD_CACHE_DIR"] = str(folder)
        {**FILES, **HARMLESS, **FOLDER}[name](folder, rng)
        before = listing(folder)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            read, made = load()
            again = load()
        total = len(KERNELS) + 3  # a product, the function that products share, and the runtime
        if name in FOLDER:
            assert (read, made) == (0, total) == again, (name, read, made, again)
            assert [str(w.message).splitlines()[0].startswith(f"the kernel cache {folder} is not used") for w in told] == [True]
            assert listing(folder) == before, f"{name}: the folder was changed"
        else:
            assert not told, (name, [str(w.message) for w in told])
            assert made == 0 if name in HARMLESS else made > 0, (name, read, made)
            assert again == (total, 0), (name, "not healed", again)
            if name.startswith("litter"):
                assert not [*folder.glob("*.tmp")], "abandoned files stay"


def main(count: int, seed: int) -> None:
    """`count` times, each kind in turn."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as place:
        pristine = Path(place) / "pristine"
        os.environ["STATICGRAD_CACHE_DIR"] = str(pristine)
        load()
        names = [*FILES, *HARMLESS, *FOLDER]
        for i in range(count):
            check(names[i % len(names)], pristine, rng)
    print(f"{count} healed")


if __name__ == "__main__":
    main(*[int(arg) for arg in sys.argv[1:]] + [100, 0][len(sys.argv) - 1 :])
