"""Attention over packed rows, registered with transformers so that its models call it."""

from __future__ import annotations

import logging
from functools import lru_cache

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from . import attention_cudnn, attention_kernels
from .packing import upload

log = logging.getLogger("ludus")
name = "ludus"


#: Ways to compute it, fastest first; the first one that agrees with the last is taken. Our kernels were measured on rows of 512
#: tokens; PyTorch's flash attention gains on longer ones.
ways = ("triton", "flash", "rows")
long_ways = ("flash", "rows")
long_row = 1024


def packed_attention(module, query, key, value, attention_mask=None, scaling=None, lengths=None, **how):
    """`[1, heads, tokens, width]`; every row sees its own past. `lengths` or `how` are what `describe` made."""
    if lengths is not None:
        return row_by_row(query, key, value, lengths, scaling).transpose(1, 2), None
    packed = [x[0].transpose(0, 1) for x in (query, key, value)]
    return attend(*packed, scaling, **how)[None], None


def attend(query, key, value, scaling=None, bounds=None, longest=None, blocks=None, places=None, padded=None, **_) -> Tensor:
    """`[tokens, heads, width]`"""
    if blocks is not None:
        return attention_kernels.attend(query, key, value, blocks, scaling)
    if places is not None:
        return attention_cudnn.attend(query, key, value, places, padded, scaling)
    return flash(query, key, value, bounds, longest, scaling)


def describe(way: str, lengths: list[int], device: torch.device) -> dict:
    """What `packed_attention` needs to know of the rows, in arguments that few sizes are ever compiled for."""
    if way == "rows":
        return {"lengths": lengths}
    if way == "triton":
        return {"blocks": upload(attention_kernels.blocks_of(lengths), device)}
    padding = attention_cudnn.padding_of(lengths) if way == "cudnn" else None
    if padding is not None:
        return {"places": upload(padding.places, device), "padded": (padding.rows, padding.length)}
    bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    # flash attention only sizes its grid by the longest row
    return {"bounds": upload(bounds, device), "longest": 1 << (max(lengths) - 1).bit_length()}


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


def choose(device: torch.device, dtype: torch.dtype, width: int, heads: int, groups: int) -> tuple[str, str]:
    """The first ways that work here: for packs of short rows, and for those with a long one."""
    of = lambda some: next(way for way in some if works(way, device, dtype, width, heads, groups))  # noqa: E731
    return of(ways), of(long_ways)


@lru_cache
def works(way: str, device: torch.device, dtype: torch.dtype, width: int, heads: int, groups: int) -> bool:
    """Tries it out: some of these operators are not part of PyTorch's promised interface."""
    if way == "rows":
        return True
    if device.type != "cuda" or dtype not in (torch.bfloat16, torch.float16):
        return False
    if way == "triton" and (attention_kernels.triton is None or width < 16 or width & (width - 1)):
        return False
    try:
        off = error(way, device, dtype, width, heads, groups)
    except Exception as problem:  # a compiler that fails has no class of its own
        log.warning("no %s attention here (%s)", way, str(problem).split("\n")[0])
        return False
    if off < 5e-2:
        return True
    log.warning("%s attention is off by %.3g here", way, off)
    return False


#: Rows that the ways are tried with; cuDNN takes only the first eight, which are of nearly equal lengths.
tried_lengths = [200, 200, 200, 200, 200, 190, 180, 185, 1, 64, 129]


def error(
    way: str, device: torch.device, dtype: torch.dtype, width: int, heads: int, groups: int, lengths: list[int] = tried_lengths
) -> float:
    """The largest difference from attention row by row, of outputs and gradients, as a part of the largest number."""
    lengths = lengths[:8] if way == "cudnn" else lengths
    make = torch.Generator(device).manual_seed(0)
    base = [torch.randn(sum(lengths), n, width, device=device, dtype=dtype, generator=make) for n in (heads, groups, groups)]
    weight = torch.randn(base[0].shape, device=device, dtype=dtype, generator=make)
    results = []
    for each in (way, "rows"):
        inputs = [x.detach().clone().requires_grad_() for x in base]
        with torch.enable_grad():
            if each == "rows":
                out = row_by_row(*(x.transpose(0, 1)[None] for x in inputs), lengths, None)[0].transpose(0, 1)
            else:
                out = attend(*inputs, **describe(each, lengths, device))
            out.backward(weight)
        results.append([out.detach(), *(x.grad for x in inputs)])
    return max(((a.float() - b.float()).abs().max() / b.float().abs().max()).item() for a, b in zip(*results))


def register() -> None:
    from transformers import AttentionInterface

    AttentionInterface.register(name, packed_attention)
