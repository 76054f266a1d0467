"""Training steps that the library was not tuned with, from papers and public repositories, in groups.

A group is timed before anything is mended for its kinds: `python -m benchmarks --unseen 1`. Importing this registers them.
"""

from . import (
    curves,
    decisions,
    densities,
    language,
    physics,
    plans,
    relations,
    routing,
    scenes,
    sequences,
    spaces,
    speech,
    tables,
    vision,
)

__all__ = [
    "curves",
    "decisions",
    "densities",
    "language",
    "physics",
    "plans",
    "relations",
    "routing",
    "scenes",
    "sequences",
    "spaces",
    "speech",
    "tables",
    "vision",
]
