"""Rows of logits as Triton kernels: log-probabilities and entropies in one pass, derivatives in place in two."""

from __future__ import annotations

import logging
from functools import lru_cache

import torch
from torch import Tensor

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

log = logging.getLogger("ludus")

#: Logits that a program holds at a time, and its warps.
block_columns, warps = 8192, 16

if triton is not None:

    @triton.jit
    def _row_sums(row, columns, inverse_temperature, block: tl.constexpr, with_entropy: tl.constexpr):
        """Maximum, sum of exponentials and sum of logits weighted by them, of a row read once."""
        top = tl.full((), float("-inf"), tl.float32)
        total = tl.zeros((block,), tl.float32)
        weighted = tl.zeros((block,), tl.float32)
        for start in range(0, columns, block):
            column = start + tl.arange(0, block)
            is_inside = column < columns
            x = tl.load(row + column, mask=is_inside, other=float("-inf"), eviction_policy="evict_last").to(tl.float32)
            x = x * inverse_temperature
            higher = tl.maximum(top, tl.max(x, 0))
            scale = tl.exp(top - higher)
            part = tl.exp(x - higher)
            total = total * scale + part
            if with_entropy:
                weighted = weighted * scale + tl.where(is_inside, part * x, 0.0)
            top = higher
        return top, tl.sum(total, 0), tl.sum(weighted, 0)

    @triton.jit
    def _numbers(logits, targets, logprobs, entropies, columns, stride, inverse_temperature, block: tl.constexpr):
        at = tl.program_id(0)
        row = logits + at.to(tl.int64) * stride
        top, total, weighted = _row_sums(row, columns, inverse_temperature, block, True)
        whole = top + tl.log(total)
        chosen = tl.load(row + tl.load(targets + at)).to(tl.float32) * inverse_temperature
        tl.store(logprobs + at, chosen - whole)
        tl.store(entropies + at, whole - weighted / total)

    @triton.jit
    def _derivatives(
        logits, targets, d_logprobs, d_entropies, columns, stride, inverse_temperature, block: tl.constexpr, with_entropy: tl.constexpr
    ):
        at = tl.program_id(0)
        row = logits + at.to(tl.int64) * stride
        top, total, weighted = _row_sums(row, columns, inverse_temperature, block, with_entropy)
        whole = top + tl.log(total)
        target = tl.load(targets + at)
        d_logprob = tl.load(d_logprobs + at)
        if with_entropy:
            d_entropy = tl.load(d_entropies + at)
            entropy = whole - weighted / total
        blocks = tl.cdiv(columns, block)
        for i in range(0, blocks):
            # from the end: what was read last is still in the cache
            column = (blocks - 1 - i) * block + tl.arange(0, block)
            is_inside = column < columns
            x = tl.load(row + column, mask=is_inside, other=float("-inf"), eviction_policy="evict_first").to(tl.float32)
            logprob = x * inverse_temperature - whole
            probability = tl.exp(logprob)
            out = tl.where(column == target, d_logprob, 0.0) - probability * d_logprob
            if with_entropy:
                out -= d_entropy * probability * (logprob + entropy)
            tl.store(row + column, (out * inverse_temperature).to(logits.dtype.element_ty), mask=is_inside)


def numbers(logits: Tensor, targets: Tensor, inverse_temperature: float) -> tuple[Tensor, Tensor]:
    """Log-probabilities of the targets, and entropies."""
    rows, columns = logits.shape
    logprobs, entropies = (torch.empty(rows, device=logits.device) for _ in range(2))
    block = min(block_columns, triton.next_power_of_2(columns))
    _numbers[(rows,)](
        logits, targets, logprobs, entropies, columns, logits.stride(0), inverse_temperature, block=block, num_warps=warps
    )
    return logprobs, entropies


def derivatives_in_place(
    logits: Tensor, targets: Tensor, inverse_temperature: float, d_logprobs: Tensor, d_entropies: Tensor | None
) -> None:
    """Logits become the loss' derivatives with respect to them."""
    rows, columns = logits.shape
    block = min(block_columns, triton.next_power_of_2(columns))
    _derivatives[(rows,)](
        logits, targets, d_logprobs, d_entropies, columns, logits.stride(0), inverse_temperature,
        block=block, with_entropy=d_entropies is not None, num_warps=warps,
    )  # fmt: skip


def add_product(total: Tensor, a: Tensor, b: Tensor) -> None:
    """total += a @ b; on CUDA a product of halves is added in float32 as it is made."""
    if total.dtype == a.dtype:
        total.addmm_(a, b)
    elif adds_wide(a.device, a.dtype):
        torch.addmm(total, a, b, out_dtype=torch.float32, out=total)
    else:
        total += a @ b


@lru_cache(maxsize=8)
def adds_wide(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether this PyTorch adds products of `dtype` to float32."""
    if device.type != "cuda":
        return False
    try:
        a, b = (torch.randn(64, 64, device=device, dtype=dtype) for _ in range(2))
        total = torch.ones(64, 64, device=device)
        torch.addmm(total, a.T, b, out_dtype=torch.float32, out=total)
        return (total - (1 + a.T.float() @ b.float())).abs().max().item() < 1e-2
    except (RuntimeError, TypeError, NotImplementedError):
        return False


def error(device: torch.device, dtype: torch.dtype) -> float:
    """The largest difference from plain PyTorch, over vocabularies below and above a block."""
    from .head import _logit_derivatives, _stats

    make = torch.Generator(device).manual_seed(0)
    worst = 0.0
    for rows, columns, temperature in ((3, 300, 0.7), (2, 2 * block_columns + 77, 1.3)):
        states = torch.randn(rows, 16, device=device, dtype=dtype, generator=make)
        weight = torch.randn(columns, 16, device=device, dtype=dtype, generator=make)
        targets = torch.randint(0, columns, (rows,), device=device, generator=make)
        d_logprobs, d_entropies = (torch.randn(rows, device=device, generator=make) for _ in range(2))
        logits = states @ weight.T
        for got, expected in zip(numbers(logits, targets, 1 / temperature), _stats(states, weight, targets, 1 / temperature)):
            worst = max(worst, (got - expected).abs().max().item())
        for d in (None, d_entropies):
            got = logits.clone()
            derivatives_in_place(got, targets, 1 / temperature, d_logprobs, d)
            expected = _logit_derivatives(states, weight, targets, 1 / temperature, d_logprobs, d, None, None)
            worst = max(worst, (got.float() - expected.float()).abs().max().item() / expected.float().abs().max().item())
    return worst


@lru_cache(maxsize=8)
def kernels_work(device: torch.device, dtype: torch.dtype) -> bool:
    if triton is None or device.type != "cuda":
        return False
    try:
        off = error(device, dtype)
    except Exception as problem:  # a compiler that fails has no class of its own
        log.warning("no kernels of the head here (%s); PyTorch's are used instead", str(problem).split("\n")[0])
        return False
    if off < 1e-2:
        return True
    log.warning("kernels of the head are off by %.3g here; PyTorch's are used instead", off)
    return False
