"""staticgrad: a static-graph compiler for training on the CPU, contrasted with define-by-run.

`import staticgrad as sg` loads NumPy and the eager front end; numba, networkx, scipy and matplotlib are loaded when something
needs them.
"""
from . import ops, eager
from .eager import *
from .operators import F
