"""`sg.distributed`: training in several processes, under PyTorch's names, through MPI.

`staticgrad launch -n 4 train.py` (or `mpirun -n 4 python train.py`) starts four processes of a program. Each calls
`init_process_group()`, learns its number from `get_rank()`, and exchanges tensors with the others: `all_reduce`, `broadcast`,
`all_gather` ... The same program runs in one process without a launcher: its group has one member.

Exchanges are operations of every mode. A compiled function performs them in each run, in the order of the program.
"""

from __future__ import annotations

from ..base.communicators import DistError
from ..namespaces.lookup.modules import refusing
from . import nn
from .collectives import *
from .process_groups import *

__all__ = [
    "Backend", "DistError", "GroupMember", "P2POp", "ProcessGroup", "ReduceOp", "Work", "algorithms", "all_gather",
    "all_gather_into_tensor", "all_gather_object", "all_reduce", "all_to_all", "all_to_all_single", "barrier",
    "batch_isend_irecv", "broadcast", "broadcast_object_list", "checkpoint", "destroy_process_group", "gather",
    "gather_object", "get_backend", "get_global_rank", "get_group_rank", "get_node_local_rank", "get_process_group_ranks",
    "get_rank", "get_world_size", "group", "init_process_group", "irecv", "is_available", "is_backend_available",
    "is_gloo_available", "is_initialized", "is_mpi_available", "is_nccl_available", "is_torchelastic_launched",
    "is_ucc_available", "is_xccl_available", "isend", "monitored_barrier", "new_group", "nn", "recv", "recv_object_list",
    "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter", "scatter_object_list", "send", "send_object_list",
    "verify",
]  # fmt: skip

_LAZY = {"algorithms": f"{__name__}.algorithms", "checkpoint": f"{__name__}.checkpoint"}
__getattr__ = refusing(__name__, __all__, "DISTRIBUTED_REPLACED", _LAZY)
