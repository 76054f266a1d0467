"""Made by `python -m tools.stubs` from the table in `names.py`: change that, not this file."""

from .arrays import reshape as reshape
from .arrays import reverse as reverse
from .arrays import tile as tile
from .gathering import gather_nd as gather_nd
from .gathering import roll as roll
from .gathering import scatter_nd as scatter_nd
from .nn.spatial import batch_to_space_nd as batch_to_space_nd
from .nn.spatial import space_to_batch_nd as space_to_batch_nd
__all__ = [
    "batch_to_space_nd", "gather_nd", "reshape", "reverse", "roll", "scatter_nd", "space_to_batch_nd", "tile",
]
