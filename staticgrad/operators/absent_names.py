"""Attributes of PyTorch's tensors that tensors of no mode have here."""

from __future__ import annotations

from typing import Any, NoReturn

from .methods import Operators

WHOLE = "tensors are not quantized"
ALONE = "it is of another device: tensors are in the CPU's memory"
TENSOR_REPLACED = {
    **dict.fromkeys(
        ("to_sparse_csr", "to_sparse_csc", "to_sparse_bsr", "to_sparse_bsc", "row_indices", "col_indices", "crow_indices",
         "ccol_indices"),
        "there is one sparse layout: use x.to_sparse()",
    ),
    **dict.fromkeys(
        ("sparse_resize_", "sparse_resize_and_clear_", "resize_as_sparse_", "coalesce", "indices", "values", "sparse_dim",
         "dense_dim", "is_coalesced"),
        "it is of sparse tensors: use x.to_sparse()",
    ),
    **dict.fromkeys(("smm", "sspaddmm"), "use x.mm or sg.addmm"),
    **dict.fromkeys(
        ("dequantize", "int_repr", "q_per_channel_axis", "q_per_channel_scales", "q_per_channel_zero_points", "q_scale",
         "q_zero_point", "qscheme"),
        WHOLE,
    ),
    **dict.fromkeys(("ipu", "xpu", "mtia", "to_mkldnn", "record_stream"), ALONE),
    "prelu": "use sg.prelu(x, weight)",
    "const_data_ptr": "use x.data_ptr()",
    "dim_order": "use x.stride()",
    "resize": "PyTorch removed it: use x.reshape(size)",
    "resize_as": "PyTorch removed it: use x.reshape(other.shape)",
    "reinforce": "PyTorch removed it: use distributions.Categorical(p).log_prob(action)",
    "eig": "PyTorch removed it: use sg.linalg.eig(x)",
    "symeig": "PyTorch removed it: use sg.linalg.eigh(x)",
    "solve": "PyTorch removed it: use sg.linalg.solve(A, b)",
    "lstsq": "PyTorch removed it: use sg.linalg.lstsq(A, b)",
    "to_padded_tensor": "tensors are not nested: use nn.utils.rnn.pad_sequence(tensors)",
}  # fmt: skip
"""Attributes of PyTorch's tensors that ours don't have, and what to write instead."""


class Absent:
    """A class attribute in place of a name that PyTorch's class has: reading it raises an AttributeError with advice.

    `hasattr` says no. A `__getattr__` would say the same, but a class that has one is slower at every attribute.
    """

    def __init__(self, name: str, advice: str):
        self.name, self.advice = name, advice

    def __get__(self, x: Any, kind: type) -> NoReturn:
        raise AttributeError(f"{kind.__name__!r} object has no attribute {self.name!r}; {self.advice}", name=self.name)


def names_of(self: object) -> list[str]:
    """Names that exist, as `dir(x)` lists them. Python compares a misspelt one with them, if they are fewer than 750."""
    return [name for name in object.__dir__(self) if name not in TENSOR_REPLACED]


Operators.__dir__ = names_of  # type: ignore[method-assign]
for _name, _advice in TENSOR_REPLACED.items():
    setattr(Operators, _name, Absent(_name, _advice))
