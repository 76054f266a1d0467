"""`torch` and `tf1`: programs that were written for PyTorch or TensorFlow 1, run as they are."""

from __future__ import annotations

from argparse import Namespace

from .programs import Misuse, output_file
from .running import run


def torch(given: Namespace) -> int:
    """Run a PyTorch program: its own exit code, or 1 for an error that it doesn't catch."""
    from ..namespaces.fronts import TORCH_FRONT

    if given.html is not None and given.compare is None:
        raise Misuse("--html is the report of --compare N: give both")
    if given.compare is not None:
        from .stepwise import compare

        output_file(given.html, "--html")
        return compare(given)
    translate = None
    if given.compile:
        from .steps import Steps

        translate = Steps("compiled").code
    with TORCH_FRONT.open():
        return run(given.file, given.arguments, given.as_module, translate)


def tf1(given: Namespace) -> int:
    """Run a TensorFlow 1 program."""
    from ..namespaces.fronts import TF1_FRONT

    with TF1_FRONT.open():
        return run(given.file, given.arguments, given.as_module)
