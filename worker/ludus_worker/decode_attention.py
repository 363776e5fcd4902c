"""Attention over the KV cache in Triton kernels.

For a decode step, one kernel goes from the joint projection to what is attended to: queries and keys are normed and rotated, the
new key and value are written, and each slot reads as much of its cache as it has, not as much as the longest has. For prefill,
one kernel norms, rotates and writes, and a second one attends. Its tokens lie one after the other, whatever the lengths of
their rows: no padding, and nothing is planned or compiled for a shape.

B slots taking part, H query heads, G key/value heads, W width of a head, S slots of the cache, T positions, N tokens to prefill.
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
        joint, keys, values, positions, owners, owner, cos, sin, query_norm, key_norm, out, scale, epsilon, length,
        groups: tl.constexpr, repeats: tl.constexpr, rows: tl.constexpr, width: tl.constexpr, block: tl.constexpr,
        is_normed: tl.constexpr,
    ):  # fmt: skip
        slot, group = tl.program_id(0), tl.program_id(1)
        if tl.load(owners + slot) != owner:
            return
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
        joint, keys, values, slots, positions, cos, sin, query_norm, key_norm, queries, epsilon, length,
        heads: tl.constexpr, groups: tl.constexpr, parts: tl.constexpr, width: tl.constexpr, is_normed: tl.constexpr,
    ):  # fmt: skip
        token = tl.program_id(0).to(tl.int64)
        slot = tl.load(slots + token).to(tl.int64)
        if slot < 0:
            return
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
        tl.store(queries + (token * heads + part) * width + column[None], asked.to(x.dtype), mask=is_query)
        cells = (slot * groups - heads) * length + position
        tl.store(keys + (cells + part * length) * width + column[None], offered.to(x.dtype), mask=is_key)
        tl.store(values + (cells + (part - groups) * length) * width + column[None], x, mask=is_value)

    @triton.jit
    def _attend_tiles(
        queries, keys, values, tiles, out, scale, length,
        groups: tl.constexpr, repeats: tl.constexpr, rows: tl.constexpr, width: tl.constexpr, block: tl.constexpr,
    ):  # fmt: skip
        tile, group = tl.program_id(0), tl.program_id(1)
        slot = tl.load(tiles + 4 * tile).to(tl.int64)
        if slot < 0:
            return
        first, count = tl.load(tiles + 4 * tile + 1).to(tl.int64), tl.load(tiles + 4 * tile + 2)
        start = tl.load(tiles + 4 * tile + 3)
        row, column, place = tl.arange(0, rows), tl.arange(0, width), tl.arange(0, block)
        # the query heads of a group are rows of one product with its keys
        query, head = row // repeats, group * repeats + row % repeats
        is_row = query < count
        at = ((first + query) * groups * repeats + head)[:, None] * width + column[None]
        asked = tl.load(queries + at, mask=is_row[:, None], other=0.0)
        position, end = start + query, start + count
        cell = (slot * groups + group) * length * width
        top = tl.full([rows], float("-inf"), tl.float32)
        total = tl.zeros([rows], tl.float32)
        sums = tl.zeros([rows, width], tl.float32)
        for begin in range(0, end, block):
            seen = begin + place
            offsets = cell + seen[:, None] * width + column[None]
            past_keys = tl.load(keys + offsets, mask=(seen < end)[:, None], other=0.0)
            past_values = tl.load(values + offsets, mask=(seen < end)[:, None], other=0.0)
            scores = tl.dot(asked, tl.trans(past_keys), input_precision="ieee") * scale
            scores = tl.where(seen[None] <= position[:, None], scores, float("-inf"))
            # finite from the first block on: every token sees the first one
            higher = tl.maximum(top, tl.max(scores, 1))
            fade, parts = tl.exp(top - higher), tl.exp(scores - higher[:, None])
            total = total * fade + tl.sum(parts, 1)
            sums = sums * fade[:, None] + tl.dot(parts.to(asked.dtype), past_values, input_precision="ieee")
            top = higher
        done = (sums / total[:, None]).to(out.dtype.element_ty)
        tl.store(out + at, done, mask=is_row[:, None])

    @triton.jit
    def _copy(places, copies, groups, length, width: tl.constexpr, block: tl.constexpr, kind: tl.constexpr):
        copy, part, group = tl.program_id(0), tl.program_id(1), tl.program_id(2)
        source, target = tl.load(copies + 3 * copy).to(tl.int64), tl.load(copies + 3 * copy + 1).to(tl.int64)
        numbers = tl.load(copies + 3 * copy + 2) * width
        cells = tl.load(places + part).to(tl.pointer_type(kind))
        source, target = (source * groups + group) * length * width, (target * groups + group) * length * width
        for begin in range(0, numbers, block):
            at = begin + tl.arange(0, block)
            tl.store(cells + target + at, tl.load(cells + source + at, mask=at < numbers), mask=at < numbers)


def attend(
    joint, keys, values, positions, cos, sin, query_norm, key_norm, epsilon,
    owners=None, owner=1, out=None, block=64, warps=4, stages=3,
) -> Tensor:  # fmt: skip
    """`joint` [B, (H + 2G)W]: queries, keys, values. `keys` and `values` [S, G, T, W] get the new ones at `positions`; `cos` and
    `sin` [T, W] rotate them. Slots whose `owners` are not `owner` are left out. To `out` [B, HW]."""
    groups, length, width = keys.shape[1:]
    slots, total = joint.shape
    repeats = total // (groups * width) - 2
    if owners is None:
        owners = torch.full_like(positions, owner)
    if out is None:
        out = torch.empty(slots, repeats * groups * width, device=joint.device, dtype=joint.dtype)
    _kernel[(slots, groups)](
        joint, keys, values, positions, owners, owner, cos, sin, query_norm, key_norm, out, width**-0.5, epsilon, length,
        groups=groups, repeats=repeats, rows=max(16, triton.next_power_of_2(repeats)), width=width, block=block,
        is_normed=query_norm is not None, num_warps=warps, num_stages=stages,
    )  # fmt: skip
    return out


def spread(joint, keys, values, slots, positions, cos, sin, query_norm, key_norm, epsilon) -> Tensor:
    """`joint` [N, (H + 2G)W] of tokens at `positions` [N] in `slots` [N], -1 for none: writes keys and values, returns queries
    [N, H, W]."""
    groups, length, width = keys.shape[1:]
    tokens, total = joint.shape
    heads = total // width - 2 * groups
    queries = torch.empty(tokens, heads, width, device=joint.device, dtype=joint.dtype)
    _spread[(tokens,)](
        joint, keys, values, slots, positions, cos, sin, query_norm, key_norm, queries, epsilon, length,
        heads=heads, groups=groups, parts=triton.next_power_of_2(heads + 2 * groups), width=width,
        is_normed=query_norm is not None, num_warps=4,
    )  # fmt: skip
    return queries


#: Rows of one product of queries with keys: tokens of a tile times the query heads of a group.
tile_rows = 64


def tile_tokens(heads: int, groups: int) -> int:
    return max(1, tile_rows // (heads // groups))


def attend_tiles(queries, keys, values, tiles, out, block=64, warps=4, stages=3) -> None:
    """`queries` [N, H, W] in tiles `[slot, first token, tokens, position of the first]`, slot -1 for none; writes `out` [N, HW]
    at the tokens of tiles."""
    groups, length, width = keys.shape[1:]
    heads = queries.shape[1]
    rows = max(tile_rows, triton.next_power_of_2(heads // groups))
    _attend_tiles[(tiles.shape[0], groups)](
        queries, keys, values, tiles, out, width**-0.5, length,
        groups=groups, repeats=heads // groups, rows=rows, width=width, block=block, num_warps=warps, num_stages=stages,
    )  # fmt: skip


def copy_slots(places: Tensor, copies: Tensor, shape: tuple[int, int, int], dtype: torch.dtype) -> None:
    """`places`: the addresses of all tensors [S, G, T, W] of a cache. `copies` [n, 3]: slot to copy from, slot to copy to, tokens."""
    groups, length, width = shape
    kind = {torch.float32: tl.float32, torch.bfloat16: tl.bfloat16, torch.float16: tl.float16}[dtype]
    _copy[(len(copies), len(places), groups)](places, copies, groups, length, width=width, block=2048, kind=kind)
