"""Public training programs, written once in PyTorch's dialect: each runs with this library and with PyTorch."""

from . import decisions, densities, graphs, images, representations, science, sequences, tables
from .registry import PROGRAMS, Library, Program, Training, library

__all__ = [
    "PROGRAMS", "Library", "Program", "Training", "decisions", "densities", "graphs", "images", "library",
    "representations", "science", "sequences", "tables",
]  # fmt: skip
