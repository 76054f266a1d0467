"""`doctor`: versions, BLAS, threads, cache, and what is slow and how to mend it."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
from argparse import Namespace
from collections.abc import Iterator
from typing import Any, NamedTuple

NEEDED = ("numpy", "numba", "llvmlite", "networkx", "scipy", "threadpoolctl", "safetensors", "ml_dtypes")
OPTIONAL = {"matplotlib": "pictures (sg.draw to .svg, .png and .pdf)", "torch": "comparisons with PyTorch"}
VARIABLES = (
    "STATICGRAD_CACHE_DIR", "STATICGRAD_CACHE_LIMIT", "STATICGRAD_EAGER", "STATICGRAD_FASTCALL", "STATICGRAD_KERNELS",
    "STATICGRAD_TIERS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS",
)  # fmt: skip


class Finding(NamedTuple):
    """Something that costs time, or does not work. broken: programs fail, or each process compiles anew. missing:
    nothing is slow or broken, but something can't be done."""

    text: str
    remedy: str
    broken: bool = False
    missing: bool = False


def doctor(given: Namespace) -> int:
    """Print facts about this installation, and findings. 1 where something does not work."""
    known = facts()
    found = list(findings(known))
    if given.report:
        print(report(known, [finding.text for finding in found]))
        return int(any(finding.broken for finding in found))
    if given.json:
        print(json.dumps({**known, "findings": [finding._asdict() for finding in found]}))
        return int(any(finding.broken for finding in found))
    from ..compiler.execute.explain import size_text

    width = max(len(name) for rows in known.values() for name in rows)
    for title, rows in known.items():
        print(title)
        for name, value in rows.items():
            print(f"  {name:{width}s}  {size_text(value) if name in ('bytes', 'limit') else value}")
        print()
    print("nothing to mend" if not found else "to mend")
    for finding in found:
        kind = "broken" if finding.broken else "missing" if finding.missing else "slow"
        print(f"  {kind}: {finding.text}\n    {finding.remedy}")
    return int(any(finding.broken for finding in found))


def facts() -> dict[str, dict[str, Any]]:
    """Versions, machine, BLAS, cache and environment."""
    from .. import __version__
    from ..compiler.execute.profile import cpu_name
    from ..compiler.runtime.loader import get_num_threads

    versions: dict[str, Any] = {"staticgrad": __version__, "python": platform.python_version()}
    versions |= {name: _version(name) or "missing" for name in (*NEEDED, *OPTIONAL)}
    features = _cpu_features()
    machine = {
        "system": platform.platform(),
        "CPU": cpu_name(),
        "CPUs": os.cpu_count(),
        "CPUs of this process": get_num_threads(),
        "vectors": next((text for name, text in WIDTHS.items() if features.get(name)), "128 bits or unknown"),
        "fma": bool(features.get("fma", platform.machine() in ("arm64", "aarch64"))),
        "load": f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown",
    }
    return {
        "versions": versions,
        "machine": machine,
        "BLAS": _blas(),
        "compiler": {"kernels": _compiler()},
        "kernel cache": _cache(),
        "environment": {name: os.environ[name] for name in VARIABLES if name in os.environ},
    }


def report(known: dict[str, dict[str, Any]], found: list[str]) -> str:
    """The same for a report of a defect, in Markdown, without folders, and the hashes of the kernel cache's latest files."""
    from ..compiler.backend import disk_cache

    latest = disk_cache.entries(disk_cache.folder())[-LATEST:]
    parts = {title: {name: value for name, value in rows.items() if name != "folder"} for title, rows in known.items()}
    parts["environment"] = {n: "set" if os.sep in str(value) else value for n, value in known["environment"].items()}
    home = os.path.expanduser("~")
    parts["findings"] = {str(i): text.replace(disk_cache.where(), "CACHE").replace(home, "~") for i, text in enumerate(found)}
    parts["latest files of the cache"] = {str(i): entry.name for i, entry in enumerate(latest)}
    blocks = ["\n".join([title, *(f"  {name}: {value}" for name, value in rows.items())]) for title, rows in parts.items()]
    return "```text\n" + "\n\n".join(blocks) + "\n```"


LATEST = 20
"""Files of the kernel cache that a report names."""
WIDTHS = {
    "avx512f": "512 bits (AVX-512)",
    "avx2": "256 bits (AVX2)",
    "avx": "256 bits (AVX)",
    "sve": "SVE",
    "neon": "128 bits (NEON)",
}


def findings(known: dict[str, dict[str, Any]]) -> Iterator[Finding]:
    """What is slow or broken, and the remedy."""
    versions, machine, cache = known["versions"], known["machine"], known["kernel cache"]
    for name in NEEDED:
        if versions[name] == "missing":
            yield Finding(f"{name} is not installed", f"pip install {name}", broken=True)
    if versions.get("matplotlib") == "missing":
        text = f"matplotlib is not installed, so there are no {OPTIONAL['matplotlib']}"
        yield Finding(text, 'pip install "staticgrad[viz]"', missing=True)
    if cache["state"] != "usable":
        yield Finding(
            f"the kernel cache is not used: {cache['state']}; each process compiles its kernels",
            "set STATICGRAD_CACHE_DIR to a folder of yours that only you can write to",
            broken=True,
        )
    elif cache["package kernels"] and not cache["package kernels"].startswith("all"):
        yield Finding(
            f"kernels of the package are not compiled yet ({cache['package kernels']})", "python -m staticgrad cache warm"
        )
    if cache["bytes"] and cache["limit"] and cache["bytes"] > cache["limit"]:
        yield Finding(
            "the kernel cache is over its limit", "python -m staticgrad cache clear --to 1GB, or raise STATICGRAD_CACHE_LIMIT"
        )
    if not machine["fma"]:
        yield Finding("this CPU has no fused multiply-add, so elementary functions call the C library", "another machine")
    if machine["CPUs of this process"] == 1 and (machine["CPUs"] or 1) > 1:
        yield Finding("this process may use one CPU only", "taskset or the container's limit; sg.set_num_threads(n)")
    if machine["load"] != "unknown" and float(machine["load"]) > 1.5 * (machine["CPUs"] or 1):
        yield Finding(f"other processes want the CPUs (load {machine['load']})", "measure when the machine is idle")
    remedies = {
        "STATICGRAD_FASTCALL": "unset it: calls take some microseconds more with 0",
        "STATICGRAD_KERNELS": "unset it: kernels take several times as long to compile with njit",
        "STATICGRAD_TIERS": "unset it: with 0 kernels are compiled one after another",
        "STATICGRAD_EAGER": "unset it: with numpy, large eager operations don't use kernels",
    }
    slow = {"STATICGRAD_FASTCALL": "0", "STATICGRAD_KERNELS": "njit", "STATICGRAD_TIERS": "0", "STATICGRAD_EAGER": "numpy"}
    if not known["compiler"]["kernels"]:
        yield Finding("STATICGRAD_KERNELS names no compiler", "unset it, or choose numba, njit or llvm", broken=True)
    for name, value in known["environment"].items():
        if slow.get(name) == value:
            yield Finding(f"{name}={value}", remedies[name])
        elif name.endswith("NUM_THREADS") and value == "1" and machine["CPUs of this process"] > 1:
            yield Finding(f"{name}=1 limits NumPy's own products to one thread", f"unset {name}; plans limit BLAS themselves")


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _cpu_features() -> dict[str, bool]:
    try:
        import llvmlite.binding as llvm
    except ImportError:
        return {}
    return dict(llvm.get_host_cpu_features())


def _blas() -> dict[str, Any]:
    """The BLAS libraries that NumPy and SciPy load."""
    try:
        from threadpoolctl import threadpool_info

        from ..compiler.backend.object_code import address_of

        address_of("sgemm")
    except ImportError as error:
        return {"unknown": str(error)}
    found = {}
    for library in threadpool_info():
        if library["user_api"] == "blas":
            place = os.path.basename(os.path.dirname(library["filepath"]))
            owner = "SciPy's, in plans" if "scipy" in place else "NumPy's, in eager mode" if "numpy" in place else place
            found[owner] = f"{library['internal_api']} {library['version']}, {library['num_threads']} threads"
    return found


def _compiler() -> str:
    """What compiles kernels; "" for a setting that is none."""
    from ..compiler.backend.object_code import COMPILER, COMPILERS, DEFAULT

    return COMPILERS.get(os.environ.get(COMPILER, DEFAULT), "")


def _cache() -> dict[str, Any]:
    from ..compiler.backend import disk_cache
    from ..errors import ArgumentError

    try:
        most = disk_cache.limit()
    except ArgumentError as error:
        return {"folder": disk_cache.where(), "state": error.summary, "bytes": 0, "limit": 0, "package kernels": ""}
    reason = disk_cache.unwritable()
    held = sum(entry.bytes for entry in disk_cache.entries(disk_cache.folder()))
    state = reason if reason else "usable"
    return {"folder": disk_cache.where(), "state": state, "bytes": held, "limit": most, "package kernels": _package_kernels()}


def _package_kernels() -> str:
    """How many of the package's own kernels are compiled."""
    if not (_compiler() and all(_version(name) for name in NEEDED)):
        return ""
    from ..compiler.backend import kernel_cache
    from ..compiler.warm import package_kernels

    wanted = list(package_kernels())
    there = sum(kernel_cache.at_hand(one.text) for one in wanted)
    return f"all {there}" if there == len(wanted) else f"{there} of {len(wanted)}"
