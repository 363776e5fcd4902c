"""Attention of a decode step in one Triton kernel, from the joint projection to what is attended to: queries and keys are
normed and rotated, the new key and value are written, and each slot reads as much of its cache as it has, not as much as the
longest has. For prefill, another kernel does what comes before attention.

B slots taking part, H query heads, G key/value heads, W width of a head, S slots of the cache, T positions, n rows of a prompt
batch, L their padded length.
"""

from __future__ import annotations

import torch
from torch import Tensor

try:
    import triton
    import triton.language as tl
except ImportError:  # without it, PyTorch's attention is used
    triton = None

if triton is not None:

    @triton.jit
    def _rotated(x, swapped, norm, column, partner, cos, sin, epsilon, width: tl.constexpr, is_normed: tl.constexpr):
        """`x` [n, W] and the same with its halves swapped: normed where asked for, then rotated."""
        if is_normed:
            fit = tl.rsqrt(tl.sum(x * x, 1) / width + epsilon)[:, None]
            x = x * fit * tl.load(norm + column)[None].to(tl.float32)
            swapped = swapped * fit * tl.load(norm + partner)[None].to(tl.float32)
        return x * cos[None] + swapped * sin[None]

    @triton.jit
    def _kernel(
        joint, keys, values, positions, cos, sin, query_norm, key_norm, out, scale, epsilon, length,
        groups: tl.constexpr, repeats: tl.constexpr, rows: tl.constexpr, width: tl.constexpr, block: tl.constexpr,
        is_normed: tl.constexpr,
    ):  # fmt: skip
        slot, group = tl.program_id(0), tl.program_id(1)
        position = tl.load(positions + slot)
        row, column, place = tl.arange(0, rows), tl.arange(0, width), tl.arange(0, block)
        # the other half of a head, and the sign it is rotated with
        partner = (column + width // 2) % width
        turn = tl.load(cos + position * width + column).to(tl.float32)
        lean = tl.load(sin + position * width + column).to(tl.float32) * tl.where(column < width // 2, -1.0, 1.0)

        dtype = keys.dtype.element_ty
        base = joint + slot * (repeats + 2) * groups * width
        is_head = row[:, None] < repeats
        head = group * repeats + row
        at = base + head[:, None] * width
        queries = tl.load(at + column[None], mask=is_head, other=0.0).to(tl.float32)
        swapped = tl.load(at + partner[None], mask=is_head, other=0.0).to(tl.float32)
        queries = _rotated(queries, swapped, query_norm, column, partner, turn, lean, epsilon, width, is_normed).to(dtype)
        at = base + (repeats * groups + group) * width
        key = tl.load(at + column)[None].to(tl.float32)
        swapped = tl.load(at + partner)[None].to(tl.float32)
        key = _rotated(key, swapped, key_norm, column, partner, turn, lean, epsilon, width, is_normed).to(dtype)
        value = tl.load(base + ((repeats + 1) * groups + group) * width + column)[None]
        cell = (slot * groups + group).to(tl.int64) * length * width
        tl.store(keys + cell + position * width + column[None], key)
        tl.store(values + cell + position * width + column[None], value)

        # the newest token is at hand; the others come in blocks, with a running maximum
        top = tl.sum(queries.to(tl.float32) * key.to(tl.float32), 1) * scale
        total = tl.full([rows], 1.0, tl.float32)
        sums = tl.zeros([rows, width], tl.float32) + value.to(tl.float32)
        for start in range(0, position, block):
            is_seen = start + place < position
            offsets = cell + (start + place)[:, None] * width + column[None]
            past_keys = tl.load(keys + offsets, mask=is_seen[:, None], other=0.0)
            past_values = tl.load(values + offsets, mask=is_seen[:, None], other=0.0)
            scores = tl.dot(queries, tl.trans(past_keys), input_precision="ieee") * scale
            scores = tl.where(is_seen[None], scores, float("-inf"))
            higher = tl.maximum(top, tl.max(scores, 1))
            fade, parts = tl.exp(top - higher), tl.exp(scores - higher[:, None])
            total = total * fade + tl.sum(parts, 1)
            sums = sums * fade[:, None] + tl.dot(parts.to(dtype), past_values, input_precision="ieee")
            top = higher
        done = (sums / total[:, None]).to(out.dtype.element_ty)
        tl.store(out + ((slot * groups * repeats + head) * width)[:, None] + column[None], done, mask=is_head)

    @triton.jit
    def _spread(
        joint, keys, values, slots, positions, cos, sin, query_norm, key_norm, queries, epsilon, length, row_length,
        heads: tl.constexpr, groups: tl.constexpr, parts: tl.constexpr, width: tl.constexpr, is_normed: tl.constexpr,
    ):  # fmt: skip
        token = tl.program_id(0).to(tl.int64)
        part, column = tl.arange(0, parts)[:, None], tl.arange(0, width)
        is_query, is_key = part < heads, (part >= heads) & (part < heads + groups)
        is_value = (part >= heads + groups) & (part < heads + 2 * groups)
        partner = (column + width // 2) % width
        position = tl.load(positions + token)
        turn = tl.load(cos + position * width + column).to(tl.float32)
        lean = tl.load(sin + position * width + column).to(tl.float32) * tl.where(column < width // 2, -1.0, 1.0)
        at = joint + (token * (heads + 2 * groups) + part) * width
        is_part = part < heads + 2 * groups
        x = tl.load(at + column[None], mask=is_part, other=0.0)
        swapped = tl.load(at + partner[None], mask=is_part, other=0.0).to(tl.float32)
        wide = x.to(tl.float32)
        asked = _rotated(wide, swapped, query_norm, column, partner, turn, lean, epsilon, width, is_normed)
        offered = _rotated(wide, swapped, key_norm, column, partner, turn, lean, epsilon, width, is_normed)
        row = token // row_length
        at = queries + ((row * heads + part) * row_length + token % row_length) * width + column[None]
        tl.store(at, asked.to(x.dtype), mask=is_query)
        cells = (tl.load(slots + row) * groups - heads) * length + position
        tl.store(keys + (cells + part * length) * width + column[None], offered.to(x.dtype), mask=is_key)
        tl.store(values + (cells + (part - groups) * length) * width + column[None], x, mask=is_value)


def attend(joint, keys, values, positions, cos, sin, query_norm, key_norm, epsilon, block=64, warps=4, stages=3) -> Tensor:
    """`joint` [B, (H + 2G)W]: queries, keys, values. `keys` and `values` [S, G, T, W] get the new ones at `positions`; `cos` and
    `sin` [T, W] rotate them. To [B, HW]."""
    groups, length, width = keys.shape[1:]
    slots, total = joint.shape
    repeats = total // (groups * width) - 2
    out = torch.empty(slots, repeats * groups * width, device=joint.device, dtype=joint.dtype)
    _kernel[(slots, groups)](
        joint, keys, values, positions, cos, sin, query_norm, key_norm, out, width**-0.5, epsilon, length,
        groups=groups, repeats=repeats, rows=max(16, triton.next_power_of_2(repeats)), width=width, block=block,
        is_normed=query_norm is not None, num_warps=warps, num_stages=stages,
    )  # fmt: skip
    return out


def spread(joint, keys, values, slots, positions, cos, sin, query_norm, key_norm, epsilon) -> Tensor:
    """`joint` [n, L, (H + 2G)W] of tokens at `positions` [n, L] in `slots` [n]: writes keys and values, returns queries [n, H, L, W]."""
    groups, length, width = keys.shape[1:]
    rows, row_length, total = joint.shape
    heads = total // width - 2 * groups
    queries = torch.empty(rows, heads, row_length, width, device=joint.device, dtype=joint.dtype)
    _spread[(rows * row_length,)](
        joint, keys, values, slots, positions, cos, sin, query_norm, key_norm, queries, epsilon, length, row_length,
        heads=heads, groups=groups, parts=triton.next_power_of_2(heads + 2 * groups), width=width,
        is_normed=query_norm is not None, num_warps=4,
    )  # fmt: skip
    return queries
