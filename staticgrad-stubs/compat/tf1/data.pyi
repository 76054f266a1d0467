"""Made by `python -m tools.stubs` from the table in `names.py`: change that, not this file."""

from .dataset import AUTOTUNE as AUTOTUNE
from .dataset import Dataset as Dataset
from .dataset import FedIterator as FedIterator
from .dataset import INFINITE_CARDINALITY as INFINITE_CARDINALITY
from .dataset import Iterator as Iterator
from .dataset import Options as Options
from .dataset import ThreadingOptions as ThreadingOptions
from .dataset import UNKNOWN_CARDINALITY as UNKNOWN_CARDINALITY
from .dataset import get_output_classes as get_output_classes
from .dataset import get_output_shapes as get_output_shapes
from .dataset import get_output_types as get_output_types
from .dataset import make_initializable_iterator as make_initializable_iterator
from .dataset import make_one_shot_iterator as make_one_shot_iterator
__all__ = [
    "AUTOTUNE", "Dataset", "FedIterator", "INFINITE_CARDINALITY", "Iterator", "Options", "ThreadingOptions",
    "UNKNOWN_CARDINALITY", "get_output_classes", "get_output_shapes", "get_output_types", "make_initializable_iterator",
    "make_one_shot_iterator",
]
