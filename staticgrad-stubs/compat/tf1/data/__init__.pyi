"""Made by `python -m tools.stubs` from the table in `names.py`: change that, not this file."""

from ..data.dataset import AUTOTUNE as AUTOTUNE
from ..data.dataset import Dataset as Dataset
from ..data.dataset import INFINITE_CARDINALITY as INFINITE_CARDINALITY
from ..data.dataset import Options as Options
from ..data.dataset import ThreadingOptions as ThreadingOptions
from ..data.dataset import UNKNOWN_CARDINALITY as UNKNOWN_CARDINALITY
from ..data.dataset import get_output_classes as get_output_classes
from ..data.dataset import get_output_shapes as get_output_shapes
from ..data.dataset import get_output_types as get_output_types
from ..data.dataset import make_initializable_iterator as make_initializable_iterator
from ..data.dataset import make_one_shot_iterator as make_one_shot_iterator
from ..data.iterators import FedIterator as FedIterator
from ..data.iterators import Iterator as Iterator
__all__ = [
    "AUTOTUNE", "Dataset", "FedIterator", "INFINITE_CARDINALITY", "Iterator", "Options", "ThreadingOptions",
    "UNKNOWN_CARDINALITY", "get_output_classes", "get_output_shapes", "get_output_types", "make_initializable_iterator",
    "make_one_shot_iterator",
]
