"""Causal attention over packed rows as Triton kernels, forward and backward, with grouped heads and without atomics.

T tokens of all rows, H query heads, G key/value heads, D width. A program works on a block of one row: `blocks` says which.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from .packing import ramps

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

#: Tokens of a block; of queries in forward and in the gradient of queries, of keys in that of keys and values.
block_tokens = 128


@dataclass
class Tiles:
    """Tokens of the other side that are read at a time, warps, and how far loads run ahead."""

    other: int
    warps: int
    stages: int


forward_tiles, query_tiles, key_tiles = Tiles(64, 4, 3), Tiles(64, 8, 2), Tiles(64, 8, 2)


def blocks_of(lengths: list[int]) -> np.ndarray:
    """`[blocks, 3]`: where the block's row begins, where it ends, where the block begins."""
    lengths = np.asarray(lengths)
    counts = -(-lengths // block_tokens)
    starts, ends = np.cumsum(lengths) - lengths, np.cumsum(lengths)
    rows = np.repeat(np.arange(len(lengths)), counts)
    return np.stack([starts[rows], ends[rows], starts[rows] + block_tokens * ramps(counts)], 1).astype(np.int32)


if triton is not None:

    @triton.jit
    def _forward(
        q, k, v, out, lse, blocks, scale, tokens,
        q_token, q_head, k_token, k_head, v_token, v_head, o_token, o_head,
        ratio: tl.constexpr, width: tl.constexpr, mine: tl.constexpr, other: tl.constexpr,
    ):  # fmt: skip
        head = tl.program_id(0)
        # the last block of a row has the most to read
        entry = blocks + 3 * (tl.num_programs(1) - 1 - tl.program_id(1))
        row, end, first = tl.load(entry), tl.load(entry + 1), tl.load(entry + 2)
        column = tl.arange(0, width)
        at = first + tl.arange(0, mine)
        q_tile = tl.load(q + at[:, None] * q_token + head * q_head + column[None], mask=at[:, None] < end, other=0.0)
        k_base, v_base = k + (head // ratio) * k_head + column, v + (head // ratio) * v_head + column
        top = tl.full((mine,), float("-inf"), tl.float32)
        total = tl.zeros((mine,), tl.float32)
        result = tl.zeros((mine, width), tl.float32)
        for start in range(row, tl.minimum(first + mine, end), other):
            key = start + tl.arange(0, other)
            is_inside = key[:, None] < end
            k_tile = tl.load(k_base + key[:, None] * k_token, mask=is_inside, other=0.0)
            score = tl.where(key[None] <= at[:, None], tl.dot(q_tile, tl.trans(k_tile)), float("-inf"))
            higher = tl.maximum(top, tl.max(score, 1) * scale)
            part = tl.exp2(score * scale - higher[:, None])
            shrink = tl.exp2(top - higher)
            total = total * shrink + tl.sum(part, 1)
            v_tile = tl.load(v_base + key[:, None] * v_token, mask=is_inside, other=0.0)
            result = tl.dot(part.to(v_tile.dtype), v_tile, result * shrink[:, None])
            top = higher
        result = result / total[:, None]
        place = out + at[:, None] * o_token + head * o_head + column[None]
        tl.store(place, result.to(out.dtype.element_ty), mask=at[:, None] < end)
        tl.store(lse + head * tokens + at, top + tl.log2(total), mask=at < end)

    @triton.jit
    def _query_gradient(
        q, k, v, out, d_out, lse, delta, d_q, blocks, scale, natural, tokens,
        q_token, q_head, k_token, k_head, v_token, v_head, o_token, o_head, do_token, do_head, dq_token, dq_head,
        ratio: tl.constexpr, width: tl.constexpr, mine: tl.constexpr, other: tl.constexpr,
    ):  # fmt: skip
        head = tl.program_id(0)
        entry = blocks + 3 * (tl.num_programs(1) - 1 - tl.program_id(1))
        row, end, first = tl.load(entry), tl.load(entry + 1), tl.load(entry + 2)
        column = tl.arange(0, width)
        at = first + tl.arange(0, mine)
        is_mine = at[:, None] < end
        q_tile = tl.load(q + at[:, None] * q_token + head * q_head + column[None], mask=is_mine, other=0.0)
        do_tile = tl.load(d_out + at[:, None] * do_token + head * do_head + column[None], mask=is_mine, other=0.0)
        o_tile = tl.load(out + at[:, None] * o_token + head * o_head + column[None], mask=is_mine, other=0.0)
        seen = tl.sum(o_tile.to(tl.float32) * do_tile.to(tl.float32), 1)
        tl.store(delta + head * tokens + at, seen, mask=at < end)
        whole = tl.load(lse + head * tokens + at, mask=at < end, other=float("inf"))
        k_base, v_base = k + (head // ratio) * k_head + column, v + (head // ratio) * v_head + column
        result = tl.zeros((mine, width), tl.float32)
        for start in range(row, tl.minimum(first + mine, end), other):
            key = start + tl.arange(0, other)
            is_inside = key[:, None] < end
            k_tile = tl.load(k_base + key[:, None] * k_token, mask=is_inside, other=0.0)
            v_tile = tl.load(v_base + key[:, None] * v_token, mask=is_inside, other=0.0)
            score = tl.dot(q_tile, tl.trans(k_tile)) * scale
            part = tl.exp2(tl.where(key[None] <= at[:, None], score - whole[:, None], float("-inf")))
            d_part = tl.dot(do_tile, tl.trans(v_tile))
            d_score = part * (d_part - seen[:, None])
            result = tl.dot(d_score.to(k_tile.dtype), k_tile, result)
        place = d_q + at[:, None] * dq_token + head * dq_head + column[None]
        tl.store(place, (result * natural).to(d_q.dtype.element_ty), mask=is_mine)

    @triton.jit
    def _key_gradients(
        q, k, v, d_out, lse, delta, d_k, d_v, blocks, scale, natural, tokens,
        q_token, q_head, k_token, k_head, v_token, v_head, do_token, do_head, dk_token, dk_head,
        ratio: tl.constexpr, width: tl.constexpr, mine: tl.constexpr, other: tl.constexpr,
    ):  # fmt: skip
        group = tl.program_id(0)
        entry = blocks + 3 * tl.program_id(1)
        end, first = tl.load(entry + 1), tl.load(entry + 2)
        column = tl.arange(0, width)
        at = first + tl.arange(0, mine)
        is_mine = at[:, None] < end
        k_tile = tl.load(k + at[:, None] * k_token + group * k_head + column[None], mask=is_mine, other=0.0)
        v_tile = tl.load(v + at[:, None] * v_token + group * v_head + column[None], mask=is_mine, other=0.0)
        key_result = tl.zeros((mine, width), tl.float32)
        value_result = tl.zeros((mine, width), tl.float32)
        # one loop over the heads of the group and the queries that see the block: its loads can run ahead
        steps = tl.cdiv(end - first, other)
        for i in range(0, ratio * steps):
            head = group * ratio + i // steps
            query = first + (i % steps) * other + tl.arange(0, other)
            is_inside = query < end
            q_tile = tl.load(q + query[:, None] * q_token + head * q_head + column[None], mask=is_inside[:, None], other=0.0)
            do_tile = tl.load(d_out + query[:, None] * do_token + head * do_head + column[None], mask=is_inside[:, None], other=0.0)
            whole = tl.load(lse + head * tokens + query, mask=is_inside, other=float("inf"))
            seen = tl.load(delta + head * tokens + query, mask=is_inside, other=0.0)
            score = tl.dot(k_tile, tl.trans(q_tile)) * scale
            part = tl.exp2(tl.where(at[:, None] <= query[None], score - whole[None], float("-inf")))
            value_result = tl.dot(part.to(do_tile.dtype), do_tile, value_result)
            d_part = tl.dot(v_tile, tl.trans(do_tile))
            d_score = part * (d_part - seen[None])
            key_result = tl.dot(d_score.to(q_tile.dtype), q_tile, key_result)
        place = at[:, None] * dk_token + group * dk_head + column[None]
        tl.store(d_k + place, (key_result * natural).to(d_k.dtype.element_ty), mask=is_mine)
        tl.store(d_v + place, value_result.to(d_v.dtype.element_ty), mask=is_mine)


def _strides(*tensors: Tensor) -> list[int]:
    return [stride for tensor in tensors for stride in tensor.stride()[:2]]


def _dense(tensor: Tensor) -> Tensor:
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()


_log2e = 1.4426950408889634


@torch.library.custom_op("ludus::packed_attention", mutates_args=())
def _attend(query: Tensor, key: Tensor, value: Tensor, blocks: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    tokens, heads, width = query.shape
    query, key, value = (_dense(x) for x in (query, key, value))
    out = torch.empty(query.shape, device=query.device, dtype=query.dtype)
    lse = torch.empty(heads, tokens, device=query.device)
    tiles = forward_tiles
    _forward[(heads, blocks.shape[0])](
        query, key, value, out, lse, blocks, scale * _log2e, tokens, *_strides(query, key, value, out),
        ratio=heads // key.shape[1], width=width, mine=block_tokens, other=tiles.other, num_warps=tiles.warps, num_stages=tiles.stages,
    )  # fmt: skip
    return out, lse


@_attend.register_fake
def _(query, key, value, blocks, scale):
    return torch.empty(query.shape, device=query.device, dtype=query.dtype), query.new_empty(
        (query.shape[1], query.shape[0]), dtype=torch.float32
    )


@torch.library.custom_op("ludus::packed_attention_backward", mutates_args=())
def _gradients(
    d_out: Tensor, query: Tensor, key: Tensor, value: Tensor, out: Tensor, lse: Tensor, blocks: Tensor, scale: float
) -> tuple[Tensor, Tensor, Tensor]:
    tokens, heads, width = query.shape
    groups = key.shape[1]
    d_out, query, key, value, out = (_dense(x) for x in (d_out, query, key, value, out))
    d_query, d_key, d_value = (torch.empty(x.shape, device=x.device, dtype=x.dtype) for x in (query, key, value))
    delta = torch.empty_like(lse)
    shape = {"ratio": heads // groups, "width": width, "mine": block_tokens}
    tiles = query_tiles
    _query_gradient[(heads, blocks.shape[0])](
        query, key, value, out, d_out, lse, delta, d_query, blocks, scale * _log2e, scale, tokens,
        *_strides(query, key, value, out, d_out, d_query),
        **shape, other=tiles.other, num_warps=tiles.warps, num_stages=tiles.stages,
    )  # fmt: skip
    tiles = key_tiles
    _key_gradients[(groups, blocks.shape[0])](
        query, key, value, d_out, lse, delta, d_key, d_value, blocks, scale * _log2e, scale, tokens,
        *_strides(query, key, value, d_out, d_key),
        **shape, other=tiles.other, num_warps=tiles.warps, num_stages=tiles.stages,
    )  # fmt: skip
    return d_query, d_key, d_value


@_gradients.register_fake
def _(d_out, query, key, value, out, lse, blocks, scale):
    return tuple(torch.empty(x.shape, device=x.device, dtype=x.dtype) for x in (query, key, value))


def _keep(ctx, inputs, output) -> None:
    query, key, value, blocks, scale = inputs
    ctx.save_for_backward(query, key, value, *output, blocks)
    ctx.scale = scale


def _backward(ctx, d_out: Tensor, _):
    query, key, value, out, lse, blocks = ctx.saved_tensors
    return *_gradients(d_out, query, key, value, out, lse, blocks, ctx.scale), None, None


torch.library.register_autograd("ludus::packed_attention", _backward, setup_context=_keep)


def attend(query: Tensor, key: Tensor, value: Tensor, blocks: Tensor, scaling: float | None) -> Tensor:
    """`[T, H, D]`, `[T, G, D]` twice, and `blocks_of` the rows' lengths on the device."""
    return _attend(query, key, value, blocks, query.shape[-1] ** -0.5 if scaling is None else scaling)[0]
