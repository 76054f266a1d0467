"""`cache info`, `cache clear`, `cache warm`, `cache eager`."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import time
from argparse import Namespace
from collections import Counter
from typing import Any

from ..compiler.backend import disk_cache
from ..compiler.execute.tables import size_text
from ..errors import ArgumentError
from .programs import Misuse


def info(given: Namespace) -> int:
    """Print where the kernel cache is and what it holds."""
    known = disk_cache.entries(disk_cache.folder())
    facts: dict[str, Any] = {
        "folder": disk_cache.where(),
        "kernels": sum(any(file.endswith(".o") for file in entry.files) for entry in known),
        "bytes": sum(entry.bytes for entry in known),
        "limit": _limit(),
        "oldest": known[0].used if known else None,
    }
    if given.json:
        print(json.dumps(facts))
        return 0
    bound = facts["limit"]
    print(f"folder   {facts['folder'] or 'none: there is no home directory'}")
    print(f"kernels  {facts['kernels']:,d}")
    print(f"size     {size_text(facts['bytes'])} of {size_text(bound) if bound else 'any size'} ({disk_cache.LIMIT})")
    if known:
        print(f"oldest   used {(time.time() - known[0].used) / 86400:.1f} days ago")
    return 0


def clear(given: Namespace) -> int:
    """Remove all kernels, or the least recently used ones down to a size."""
    try:
        most = 0 if given.to is None else disk_cache.size_of(given.to)
    except ArgumentError as error:
        raise Misuse(f"--to: {error.summary}\n  {error.details[0]}") from None
    count, size = disk_cache.trim(disk_cache.folder(), most)
    left = sum(entry.bytes for entry in disk_cache.entries(disk_cache.folder()))
    print(f"{count} kernels removed, {size_text(size)}; {size_text(left)} left")
    return 0


def eager(given: Namespace) -> int:
    """Run a program, and print which of its eager calls have a plan or a route, and how often these ran."""
    from ..eager.calls import call_cache

    if not os.path.isfile(given.file):
        raise Misuse(f"there is no file {given.file}")
    call_cache.runs = Counter()
    sys.argv = [given.file, *given.arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(given.file)))
    runpy.run_path(given.file, run_name="__main__")
    from ..eager.calls.report import report

    found = report()
    if given.json:
        print(json.dumps({"tables": found.facts, "calls": [row._asdict() for row in found.rows]}))
        return 0
    for name, facts in found.facts.items():
        holds = f"{facts['entries']:,d} entries, {size_text(facts['bytes'])} of plans"
        print(f"{name:8} {holds}, {facts['misses']:,d} misses, {facts['dropped']:,d} dropped")
    print(f"\n{'runs':>10}  {'call':60}  computed by")
    for row in found.rows[: given.most]:
        what = row.what if len(row.what) <= 60 else f"{row.what[:57]}..."
        print(f"{row.runs:10,d}  {what:60}  {row.state}{f', {size_text(row.nbytes)}' if row.nbytes else ''}")
    if len(found.rows) > given.most:
        print(f"{'':12}{len(found.rows) - given.most:,d} more; --most shows so many")
    return 0


def warm(given: Namespace) -> int:
    """Compile the kernels that many programs need."""
    if given.cpu not in (None, os.environ.get("STATICGRAD_CPU")):  # which is read when the compiler is imported
        command = [sys.executable, "-m", "staticgrad", "warm"]
        return subprocess.run(command, env={**os.environ, "STATICGRAD_CPU": given.cpu}, check=False).returncode
    from ..compiler.warm import warm as warmed
    from .typical_steps import typical_steps

    print(warmed(typical_steps()))
    return 0


def _limit() -> int:
    try:
        return disk_cache.limit()
    except ArgumentError as error:
        raise Misuse(f"{disk_cache.LIMIT}={os.environ.get(disk_cache.LIMIT)}: {error.summary}\n  {error.details[0]}") from None
