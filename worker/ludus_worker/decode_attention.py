"""Attention of a decoding step in one Triton kernel: each slot reads as much of its cache as it has, not as much as the longest
has, and its new key and value are written on the way.

B slots taking part, H query heads, G key/value heads, W width of a head, S slots of the cache, T positions.
"""

from __future__ import annotations

import logging

import torch
import torch.nn.functional as F
from torch import Tensor

try:
    import triton
    import triton.language as tl
except ImportError:  # without it, PyTorch's attention is used
    triton = None

log = logging.getLogger("ludus")

if triton is not None:

    @triton.jit
    def _kernel(
        q, k, v, keys, values, positions, out, scale, length, q_slot, q_head, k_slot, k_head, v_slot, v_head,
        groups: tl.constexpr, repeats: tl.constexpr, rows: tl.constexpr, width: tl.constexpr, block: tl.constexpr,
    ):  # fmt: skip
        slot, group = tl.program_id(0), tl.program_id(1)
        position = tl.load(positions + slot)
        row, column, place = tl.arange(0, rows), tl.arange(0, width), tl.arange(0, block)
        is_head = row[:, None] < repeats
        head = group * repeats + row
        queries = tl.load(q + slot * q_slot + head[:, None] * q_head + column[None], mask=is_head, other=0.0)
        key = tl.load(k + slot * k_slot + group * k_head + column)
        value = tl.load(v + slot * v_slot + group * v_head + column)
        base = (slot * groups + group).to(tl.int64) * length * width
        tl.store(keys + base + position * width + column, key)
        tl.store(values + base + position * width + column, value)

        # the newest token is at hand; the others come in blocks, with a running maximum
        top = tl.sum(queries.to(tl.float32) * key[None].to(tl.float32), 1) * scale
        total = tl.full([rows], 1.0, tl.float32)
        sums = tl.zeros([rows, width], tl.float32) + value[None].to(tl.float32)
        for start in range(0, position, block):
            at = start + place
            is_seen = at < position
            offsets = base + at[:, None] * width + column[None]
            past_keys = tl.load(keys + offsets, mask=is_seen[:, None], other=0.0)
            past_values = tl.load(values + offsets, mask=is_seen[:, None], other=0.0)
            scores = tl.dot(queries, tl.trans(past_keys)) * scale
            scores = tl.where(is_seen[None], scores, float("-inf"))
            higher = tl.maximum(top, tl.max(scores, 1))
            fade, parts = tl.exp(top - higher), tl.exp(scores - higher[:, None])
            total = total * fade + tl.sum(parts, 1)
            sums = sums * fade[:, None] + tl.dot(parts.to(past_values.dtype), past_values)
            top = higher
        done = (sums / total[:, None]).to(out.dtype.element_ty)
        tl.store(out + ((slot * groups * repeats + head) * width)[:, None] + column[None], done, mask=is_head)


def attend(q: Tensor, k: Tensor, v: Tensor, keys: Tensor, values: Tensor, positions: Tensor) -> Tensor:
    """`q` [B, H, W], `k` and `v` [B, G, W], `keys` and `values` [S, G, T, W], which get `k` and `v` at `positions`: [B, H, W]."""
    slots, heads, width = q.shape
    groups, length = keys.shape[1], keys.shape[2]
    repeats = heads // groups
    out = torch.empty(slots, heads, width, device=q.device, dtype=q.dtype)
    _kernel[(slots, groups)](
        q, k, v, keys, values, positions, out, width**-0.5, length,
        q.stride(0), q.stride(1), k.stride(0), k.stride(1), v.stride(0), v.stride(1),
        groups=groups, repeats=repeats, rows=max(16, triton.next_power_of_2(repeats)), width=width, block=64,
        num_warps=4, num_stages=3,
    )  # fmt: skip
    return out


def works(device: torch.device, dtype: torch.dtype, width: int, heads: int, groups: int) -> bool:
    """Tries it out against PyTorch's own."""
    if triton is None or device.type != "cuda" or width < 16 or width & (width - 1):
        return False
    try:
        make = torch.Generator(device).manual_seed(0)
        draw = lambda *shape: torch.randn(*shape, device=device, dtype=dtype, generator=make)  # noqa: E731
        q, k, v = draw(3, heads, width), draw(3, groups, width), draw(3, groups, width)
        keys, values = draw(4, groups, 128, width), draw(4, groups, 128, width)
        positions = torch.tensor([0, 63, 100], device=device)
        got = attend(q, k, v, keys, values, positions)
        seen = (torch.arange(128, device=device)[None] <= positions[:, None])[:, None, None]
        grouped = q.view(3, groups, heads // groups, width)
        expected = F.scaled_dot_product_attention(grouped, keys[:3], values[:3], attn_mask=seen).reshape(q.shape)
        error = (got.float() - expected.float()).abs().max().item()
        written = torch.equal(keys[torch.arange(3, device=device), :, positions], k)
        if error < 5e-2 and written:
            return True
        log.warning("decoding attention is off by %.3g here; PyTorch's is used instead", error)
    except Exception as problem:  # a compiler that fails has no class of its own
        log.warning("no decoding attention here (%s); PyTorch's is used instead", str(problem).split("\n")[0])
    return False
