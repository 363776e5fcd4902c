"""Attention over packed rows, registered with transformers so that its models call it."""

from __future__ import annotations

import logging

import torch
import torch.nn.functional as F
from torch import Tensor

log = logging.getLogger("ludus")
name = "ludus"


def packed_attention(
    module, query, key, value, attention_mask=None, scaling=None, bounds=None, longest=None, lengths=None, **_
):
    """`[1, heads, tokens, width]`; every row sees its own past. `lengths` for the plain way, else flash with `bounds`."""
    if lengths is None:
        out = flash(query[0].transpose(0, 1), key[0].transpose(0, 1), value[0].transpose(0, 1), bounds, longest, scaling)
        return out[None], None
    return row_by_row(query, key, value, lengths, scaling).transpose(1, 2), None


def flash(query: Tensor, key: Tensor, value: Tensor, bounds: Tensor, longest: int, scaling: float | None) -> Tensor:
    """`[tokens, heads, width]` in half precision on CUDA; keys are not repeated for grouped heads."""
    op = torch.ops.aten._flash_attention_forward
    return op(query, key, value, bounds, bounds, longest, longest, 0.0, True, False, scale=scaling)[0]


def row_by_row(query: Tensor, key: Tensor, value: Tensor, lengths: list[int], scaling: float | None) -> Tensor:
    grouped = query.shape[1] != key.shape[1]
    parts = [
        F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=scaling, enable_gqa=grouped)
        for q, k, v in zip(query.split(lengths, 2), key.split(lengths, 2), value.split(lengths, 2))
    ]
    return torch.cat(parts, 2)


def flash_works(device: torch.device, dtype: torch.dtype, width: int, heads: int, groups: int) -> bool:
    """Tries it out: the operator is not part of PyTorch's promised interface."""
    if device.type != "cuda" or dtype not in (torch.bfloat16, torch.float16):
        return False
    try:
        lengths = [5, 3]
        q, k, v = (torch.randn(1, n, 8, width, device=device, dtype=dtype) for n in (heads, groups, groups))
        bounds = torch.tensor([0, 5, 8], device=device, dtype=torch.int32)
        got = flash(*(x[0].transpose(0, 1) for x in (q, k, v)), bounds, 8, None)
        expected = row_by_row(q, k, v, lengths, None)[0].transpose(0, 1)
        error = (got.float() - expected.float()).abs().max().item()
        if error < 5e-2:
            return True
        log.warning("flash attention is off by %.3g here; rows are computed one by one instead", error)
    except (RuntimeError, TypeError) as problem:
        log.warning("no flash attention here (%s); rows are computed one by one instead", str(problem).split("\n")[0])
    return False


def register() -> None:
    from transformers import AttentionInterface

    AttentionInterface.register(name, packed_attention)
