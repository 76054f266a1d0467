"""Training steps that the library was not tuned with, from papers and public repositories, in groups.

A group is timed before anything is mended for its kinds: `python -m benchmarks --unseen 1`. Importing this registers them.
"""

from . import decisions, densities, language, physics, relations, sequences, speech, tables, vision

__all__ = ["decisions", "densities", "language", "physics", "relations", "sequences", "speech", "tables", "vision"]
