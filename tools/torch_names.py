"""Write the list of PyTorch's documented names, where PyTorch is installed: `python -m tools.torch_names`.

`tools/torch_names.json` is the list for the coverage matrix, which then has no need of PyTorch.
"""

from __future__ import annotations

import inspect
import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

NAMES = Path(__file__).with_name("torch_names.json")

FUNCTIONS = "torch", "torch.Tensor", "torch.nn.functional", "torch.linalg", "torch.special", "torch.fft"
"""Namespaces of functions of tensors."""
CLASSES = (
    "torch.nn", "torch.nn.init", "torch.nn.utils", "torch.nn.utils.rnn", "torch.optim", "torch.optim.lr_scheduler",
    "torch.optim.swa_utils", "torch.distributions", "torch.utils.data", "torch.autograd", "torch.autograd.functional",
    "torch.func",
)  # fmt: skip
"""Namespaces of classes, and of functions of other things."""
PROCESSES = (
    "torch.distributed", "torch.distributed.nn.functional", "torch.distributed.optim", "torch.distributed.algorithms.join",
    "torch.distributed.checkpoint", "torch.distributed.checkpoint.state_dict",
)  # fmt: skip
"""Namespaces of several processes, of which all public names count."""

ELSEWHERE = re.compile(
    r"(cudnn|miopen|mkldnn|fbgemm|quantiz|q_|fake_quant|fused_|sparse|to_sparse|sym_|_|is_vulkan|is_xla|is_ipu|is_maia|is_mtia"
    r"|is_cuda|is_quantized|is_mps|is_meta|is_xpu|ipu$|xpu$|mtia$|cuda$|hpu$|to_mkldnn|get_autocast|set_autocast|is_autocast"
    r"|autocast|parse_|batch_norm_|native_|import_ir|unify_|merge_type|init_num|int_repr|qscheme|hsmm|hspmm|smm$|sspaddmm|spmm"
    r"|dsmm|saddmm|ccol_|crow_|col_ind|row_ind|indices|values|coalesce|is_coalesced|dense_dim|profiler|prepare_multi|classproperty"
    r"|embedding_renorm|affine_grid_generator|grid_sampler|wait$|fork$|record_stream|clear_autocast|resize_as_sparse|vitals"
    r"|has_torch|handle_torch|boolean_dispatch|assert_int|norm_except|segment_reduce|feature_|empty_quantized|dequantize"
    r"|choose_qparams|hash_tensor|thread_safe|is_distributed|is_nested|to_padded|slice_inverse|convolution$|conv_tbc|compiled_with"
    r"|get_device_module|get_file_path|multi_head_attention_forward|module_load|reinforce$|dim_order|to_dense|refine_names|rename"
    r"|align_|names$|has_names|retains_grad$|nuclear_norm|frobenius_norm|rnn_relu$|rnn_tanh$|max_pool1d_with|const_data_ptr|grad_dtype"
    r"|symeig|eig$|lstsq$|solve$|matrix_rank$)"
)
"""Names of other devices, of sparse and quantized tensors, of the machinery itself, and those that PyTorch removed."""


def documented(namespace: str) -> list[str]:
    """The public names of a namespace that have a docstring."""
    path = namespace.split(".")
    try:
        space: Any = import_module(namespace)
    except ImportError:
        space = getattr(import_module(".".join(path[:-1])), path[-1])
    names = getattr(space, "__all__", None) if namespace in CLASSES else None
    found = []
    for name in sorted(names or dir(space)):
        value = getattr(space, name, None)
        kept = namespace not in FUNCTIONS or not ELSEWHERE.match(name)
        foreign = (inspect.isclass(value) and namespace in FUNCTIONS) or inspect.ismodule(value)
        if not name.startswith("_") and kept and not foreign and callable(value) and inspect.getdoc(value):
            own = inspect.isbuiltin(value) or getattr(value, "__module__", None) is None or "torch" in str(value.__module__)
            if own or namespace == "torch.Tensor":
                found.append(name)
    return found


def public(namespace: str) -> list[str]:
    """The public names of a namespace that are PyTorch's own functions and classes."""
    own = "torch" if namespace == PROCESSES[0] else namespace
    space = vars(import_module(namespace))
    return sorted(
        name
        for name, value in space.items()
        if not name.startswith("_") and callable(value) and str(getattr(value, "__module__", "")).startswith(own)
    )


def main() -> None:
    import torch

    lists = {namespace: documented(namespace) for namespace in FUNCTIONS + CLASSES}
    lists |= {namespace: public(namespace) for namespace in PROCESSES}
    parts = [f'  "torch version": "{torch.__version__.partition("+")[0]}"']
    parts += [f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in lists.items()]
    NAMES.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
