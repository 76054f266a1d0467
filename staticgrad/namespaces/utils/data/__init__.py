"""Data sets, samplers, and loaders of batches, with PyTorch's names and arguments."""

from ...lookup.modules import refusing
from .datasets import *
from .loader import DataLoader, default_collate, default_convert
from .workers import Prefetcher, WorkerInfo, get_worker_info

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler", "IterDataPipe",
    "IterableDataset", "MapDataPipe", "Prefetcher", "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset",
    "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "WorkerInfo", "default_collate", "default_convert",
    "functional_datapipe", "get_worker_info", "random_split",
]  # fmt: skip

__getattr__ = refusing("staticgrad.utils.data", __all__, "DATA_REPLACED")
