"""cuDNN's causal attention on rows of nearly equal lengths, padded to a common one. Padding comes last, so no row sees it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

#: cuDNN builds a plan for every shape: lengths and numbers of rows are rounded up to these, so that there are few.
length_step, row_step = 64, 8
#: Padded tokens for each token at most.
most_padding = 1.15


@dataclass
class Padding:
    rows: int
    length: int
    #: Where each token lies among the padded ones.
    places: np.ndarray


def padding_of(lengths: list[int]) -> Padding | None:
    """None where too much would be padded."""
    length = -(-max(lengths) // length_step) * length_step
    rows = -(-len(lengths) // row_step) * row_step
    if rows * length > most_padding * sum(lengths):
        return None
    return Padding(rows, length, np.concatenate([row * length + np.arange(n) for row, n in enumerate(lengths)]))


def _padded(x: Tensor, places: Tensor, rows: int, length: int) -> Tensor:
    """`[tokens, heads, width]` as `[rows, heads, length, width]`."""
    if x.shape[0] != rows * length:
        x = x.new_zeros(rows * length, *x.shape[1:]).index_copy_(0, places, x)
    return x.reshape(rows, length, *x.shape[1:]).transpose(1, 2)


def _packed(x: Tensor, places: Tensor) -> Tensor:
    flat = x.transpose(1, 2).reshape(-1, x.shape[1], x.shape[3])
    return flat.index_select(0, places) if flat.shape[0] != places.shape[0] else flat.clone()


@torch.library.custom_op("ludus::padded_attention", mutates_args=())
def _attend(
    query: Tensor, key: Tensor, value: Tensor, places: Tensor, rows: int, length: int, scale: float
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    q, k, v = (_padded(x, places, rows, length) for x in (query, key, value))
    made = torch.ops.aten._scaled_dot_product_cudnn_attention(q, k, v, None, True, 0.0, True, False, scale=scale)
    out, lse, seed, offset = made[0], made[1], made[6], made[7]
    # cuDNN writes the layout of the queries: the padded output is kept for the backward pass as [rows, length, heads, width]
    return _packed(out, places), out.transpose(1, 2).contiguous(), lse, seed.clone(), offset.clone()


@_attend.register_fake
def _(query, key, value, places, rows, length, scale):
    heads, width = query.shape[1:]
    number = query.new_empty((), dtype=torch.long)
    return (
        torch.empty(query.shape, device=query.device, dtype=query.dtype),
        query.new_empty((rows, length, heads, width)),
        query.new_empty((rows, heads, length, 1), dtype=torch.float32),
        number,
        torch.empty_like(number),
    )


@torch.library.custom_op("ludus::padded_attention_backward", mutates_args=())
def _gradients(
    d_out: Tensor, query: Tensor, key: Tensor, value: Tensor, out: Tensor, lse: Tensor, seed: Tensor, offset: Tensor,
    places: Tensor, rows: int, length: int, scale: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    d, q, k, v = (_padded(x, places, rows, length) for x in (d_out, query, key, value))
    made = torch.ops.aten._scaled_dot_product_cudnn_attention_backward(
        d, q, k, v, out.transpose(1, 2), lse, seed, offset, None, None, None, length, length, 0.0, True, scale=scale
    )
    return tuple(_packed(x, places) for x in made)


@_gradients.register_fake
def _(d_out, query, key, value, out, lse, seed, offset, places, rows, length, scale):
    return tuple(torch.empty(x.shape, device=x.device, dtype=x.dtype) for x in (query, key, value))


def _keep(ctx, inputs, output) -> None:
    query, key, value, places, ctx.rows, ctx.length, ctx.scale = inputs
    ctx.save_for_backward(query, key, value, *output[1:], places)


def _backward(ctx, d_out: Tensor, *_):
    query, key, value, out, lse, seed, offset, places = ctx.saved_tensors
    made = _gradients(d_out, query, key, value, out, lse, seed, offset, places, ctx.rows, ctx.length, ctx.scale)
    return *made, None, None, None, None


torch.library.register_autograd("ludus::padded_attention", _backward, setup_context=_keep)


def attend(query: Tensor, key: Tensor, value: Tensor, places: Tensor, shape: tuple[int, int], scaling: float | None) -> Tensor:
    """`[tokens, heads, width]`; `places` and `shape` (rows, length) are those of `padding_of`."""
    return _attend(query, key, value, places, *shape, query.shape[-1] ** -0.5 if scaling is None else scaling)[0]
