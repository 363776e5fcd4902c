"""The arithmetic between the products of a layer as Triton kernels: `decode_math`'s functions of the same names, in one pass each."""

from __future__ import annotations

import torch
from torch import Tensor

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

if triton is not None:

    @triton.jit
    def _add_norm(x, more, weight, total, normed, epsilon, width, padded: tl.constexpr, is_sum: tl.constexpr):
        column = tl.arange(0, padded)
        is_inside = column < width
        at = tl.program_id(0).to(tl.int64) * width + column
        value = tl.load(x + at, mask=is_inside, other=0.0)
        if is_sum:
            value = value + tl.load(more + at, mask=is_inside, other=0.0)
            tl.store(total + at, value, mask=is_inside)
        wide = value.to(tl.float32)
        wide = wide * tl.rsqrt(tl.sum(wide * wide, 0) / width + epsilon)
        scale = tl.load(weight + column, mask=is_inside, other=0.0)
        tl.store(normed + at, scale * wide.to(value.dtype), mask=is_inside)

    @triton.jit
    def _gated(joint, out, width, block: tl.constexpr):
        row = tl.program_id(0).to(tl.int64)
        column = tl.program_id(1) * block + tl.arange(0, block)
        is_inside = column < width
        gate = tl.load(joint + 2 * row * width + column, mask=is_inside, other=0.0)
        up = tl.load(joint + (2 * row + 1) * width + column, mask=is_inside, other=0.0)
        wide = gate.to(tl.float32)
        silu = (wide * tl.sigmoid(wide)).to(gate.dtype)
        tl.store(out + row * width + column, silu * up, mask=is_inside)


def norm(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    return _normed(x, None, weight, epsilon)[1]


def add_norm(x: Tensor, more: Tensor, weight: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    return _normed(x, more, weight, epsilon)


def _normed(x: Tensor, more: Tensor | None, weight: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    width = x.shape[-1]
    total = x if more is None else torch.empty_like(x)
    normed = torch.empty_like(x)
    padded = triton.next_power_of_2(width)
    _add_norm[(x.numel() // width,)](
        x, more, weight, total, normed, epsilon, width, padded=padded, is_sum=more is not None, num_warps=4 if padded <= 4096 else 8
    )
    return total, normed


def gated(joint: Tensor) -> Tensor:
    width = joint.shape[-1] // 2
    out = torch.empty(*joint.shape[:-1], width, device=joint.device, dtype=joint.dtype)
    block = min(1024, triton.next_power_of_2(width))
    _gated[(joint.numel() // (2 * width), triton.cdiv(width, block))](joint, out, width, block=block, num_warps=4)
    return out
