"""One launch over many tensors: sums in float32, squares, AdamW. On CUDA as Triton kernels that find the tensors by their addresses."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

log = logging.getLogger("ludus")

#: Numbers that one program computes.
block_numbers = 4096

if triton is not None:

    @triton.jit
    def _at(table, row, is_half: tl.constexpr, is_aligned: tl.constexpr):
        address = tl.load(table + row)
        if is_half:
            pointer = address.to(tl.pointer_type(tl.bfloat16))
        else:
            pointer = address.to(tl.pointer_type(tl.float32))
        if is_aligned:
            pointer = tl.multiple_of(pointer, 16)
        return pointer

    @triton.jit
    def _place(tensors, starts, sizes, block: tl.constexpr, is_aligned: tl.constexpr):
        program = tl.program_id(0)
        row = tl.load(tensors + program)
        column = (program - tl.load(starts + row)).to(tl.int64) * block + tl.arange(0, block)
        size = tl.load(sizes + row)
        if is_aligned:
            # only then are several numbers loaded at once
            size = tl.multiple_of(size, 16)
        return row, column, column < size

    @triton.jit
    def _add(
        tensors, starts, sizes, outs, xs, ys,
        block: tl.constexpr, x_half: tl.constexpr, y_half: tl.constexpr, is_aligned: tl.constexpr,
    ):  # fmt: skip
        row, column, is_inside = _place(tensors, starts, sizes, block, is_aligned)
        x = tl.load(_at(xs, row, x_half, is_aligned) + column, mask=is_inside, other=0.0).to(tl.float32)
        y = tl.load(_at(ys, row, y_half, is_aligned) + column, mask=is_inside, other=0.0).to(tl.float32)
        tl.store(_at(outs, row, False, is_aligned) + column, x + y, mask=is_inside)

    @triton.jit
    def _squares(tensors, starts, sizes, xs, out, block: tl.constexpr, is_half: tl.constexpr, is_aligned: tl.constexpr):
        row, column, is_inside = _place(tensors, starts, sizes, block, is_aligned)
        # squares of what float32 holds may be beyond it
        x = tl.load(_at(xs, row, is_half, is_aligned) + column, mask=is_inside, other=0.0).to(tl.float32).to(tl.float64)
        tl.store(out + tl.program_id(0), tl.sum(x * x, 0))

    @triton.jit
    def _adamw(
        tensors, starts, sizes, masters, gradients, firsts, seconds, copies, decays,
        scale, kept, step_size, beta1, rest1, beta2, rest2, root_correction, epsilon,
        block: tl.constexpr, is_half: tl.constexpr, has_copy: tl.constexpr, is_aligned: tl.constexpr,
    ):  # fmt: skip
        row, column, is_inside = _place(tensors, starts, sizes, block, is_aligned)
        master = _at(masters, row, False, is_aligned) + column
        first = _at(firsts, row, False, is_aligned) + column
        second = _at(seconds, row, False, is_aligned) + column
        gradient = tl.load(_at(gradients, row, is_half, is_aligned) + column, mask=is_inside, other=0.0).to(tl.float32) * scale
        m = beta1 * tl.load(first, mask=is_inside, other=0.0) + rest1 * gradient
        v = beta2 * tl.load(second, mask=is_inside, other=0.0) + rest2 * gradient * gradient
        weight = tl.load(master, mask=is_inside, other=0.0)
        weight = tl.where(tl.load(decays + row) != 0, weight * kept, weight)
        weight -= step_size * m / (tl.sqrt(v) / root_correction + epsilon)
        tl.store(first, m, mask=is_inside)
        tl.store(second, v, mask=is_inside)
        tl.store(master, weight, mask=is_inside)
        if has_copy:
            tl.store(_at(copies, row, True, is_aligned) + column, weight.to(tl.bfloat16), mask=is_inside)


@dataclass
class Blocks:
    """Which tensor each program works on, and where the programs of a tensor begin."""

    tensors: Tensor
    starts: Tensor
    sizes: Tensor
    count: int


@lru_cache(maxsize=64)
def _blocks(sizes: tuple[int, ...], device: torch.device) -> Blocks:
    counts = -(-np.array(sizes) // block_numbers)
    tensors = np.repeat(np.arange(len(sizes), dtype=np.int32), counts)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int32)
    parts = (torch.from_numpy(part).to(device) for part in (tensors, starts, np.array(sizes, np.int64)))
    return Blocks(*parts, count=len(tensors))


def _addresses(device: torch.device, *lists: list[Tensor]) -> tuple[list[Tensor], bool]:
    """A row of addresses for each list, in one copy, and whether all are multiples of 16, as are the tensors' sizes."""
    table = np.array([[tensor.data_ptr() for tensor in tensors] for tensors in lists], np.int64)
    there = torch.from_numpy(table)
    if device.type == "cuda":
        there = there.pin_memory().to(device, non_blocking=True)
    return list(there.unbind(0)), bool((table % 16 == 0).all()) and all(t.numel() % 16 == 0 for t in lists[0])


def usable(tensors: list[Tensor]) -> bool:
    """Whether the kernels can take them."""
    return all(t.dtype in (torch.float32, torch.bfloat16) and t.is_contiguous() for t in tensors)


def _by_kind(*lists: list[Tensor]):
    """Tensors that stand at the same place of their lists, those of the same dtypes together; empty ones are left out."""
    kinds: dict[tuple, list[int]] = {}
    for i, row in enumerate(zip(*lists)):
        if row[0].numel() > 0:
            kinds.setdefault(tuple(tensor.dtype for tensor in row), []).append(i)
    for kind, indices in kinds.items():
        yield kind, [[tensors[i] for i in indices] for tensors in lists]


class Kernels:
    """In Triton."""

    def add(self, xs: list[Tensor], ys: list[Tensor]) -> list[Tensor]:
        """Sums in float32; where x is float32 already, they take its place."""
        xs, ys = [x.contiguous() for x in xs], [y.contiguous() for y in ys]
        outs = [x if x.dtype == torch.float32 else torch.empty_like(x, dtype=torch.float32) for x in xs]
        for kind, (some_outs, some_xs, some_ys) in _by_kind(outs, xs, ys):
            device = some_outs[0].device
            blocks = _blocks(tuple(x.numel() for x in some_xs), device)
            tables, is_aligned = _addresses(device, some_outs, some_xs, some_ys)
            _add[(blocks.count,)](
                blocks.tensors, blocks.starts, blocks.sizes, *tables, block=block_numbers,
                x_half=kind[1] == torch.bfloat16, y_half=kind[2] == torch.bfloat16, is_aligned=is_aligned, num_warps=8,
            )  # fmt: skip
        return outs

    def square_sum(self, tensors: list[Tensor]) -> Tensor:
        """In float64."""
        total = torch.zeros((), dtype=torch.float64, device=tensors[0].device)
        for kind, (some,) in _by_kind([t.contiguous() for t in tensors]):
            blocks = _blocks(tuple(t.numel() for t in some), total.device)
            (table,), is_aligned = _addresses(total.device, some)
            sums = torch.empty(blocks.count, device=total.device, dtype=torch.float64)
            _squares[(blocks.count,)](
                blocks.tensors, blocks.starts, blocks.sizes, table, sums,
                block=block_numbers, is_half=kind[0] == torch.bfloat16, is_aligned=is_aligned, num_warps=8,
            )  # fmt: skip
            total += sums.sum()
        return total


class Plain:
    """With PyTorch's own functions, a launch or more for each tensor."""

    def add(self, xs: list[Tensor], ys: list[Tensor]) -> list[Tensor]:
        return [x.float().add_(y) for x, y in zip(xs, ys)]

    def square_sum(self, tensors: list[Tensor]) -> Tensor:
        norms = [torch.linalg.vector_norm(t, dtype=torch.float64) for t in tensors]
        return torch.stack(norms).square().sum()


@dataclass
class AdamWStep:
    learning_rate: float
    weight_decay: float
    beta1: float
    beta2: float
    epsilon: float
    #: Of this step, from 1.
    number: int
    #: What gradients are multiplied with: less than 1 where they are clipped.
    scale: float = 1.0


def adamw(step: AdamWStep, masters, gradients, firsts, seconds, parameters) -> None:
    """Updates masters and moments in place and rounds the masters into the parameters. Decay touches matrices alone."""
    correction1, correction2 = 1 - step.beta1**step.number, 1 - step.beta2**step.number
    gradients = [g.contiguous() for g in gradients]
    for kind, (some, some_gradients, some_firsts, some_seconds, copies) in _by_kind(
        masters, gradients, firsts, seconds, parameters
    ):
        device = some[0].device
        blocks = _blocks(tuple(t.numel() for t in some), device)
        tables, is_aligned = _addresses(device, some, some_gradients, some_firsts, some_seconds, copies)
        decays = _decays(tuple(t.dim() > 1 for t in some), device)
        _adamw[(blocks.count,)](
            blocks.tensors, blocks.starts, blocks.sizes, *tables, decays,
            step.scale, 1 - step.learning_rate * step.weight_decay, step.learning_rate / correction1,
            step.beta1, 1 - step.beta1, step.beta2, 1 - step.beta2, correction2**0.5, step.epsilon,
            block=block_numbers, is_half=kind[1] == torch.bfloat16, has_copy=kind[4] == torch.bfloat16,
            is_aligned=is_aligned, num_warps=8,
        )  # fmt: skip


@lru_cache(maxsize=64)
def _decays(flags: tuple[bool, ...], device: torch.device) -> Tensor:
    return torch.tensor(flags, dtype=torch.int32, device=device)


def error(device: torch.device) -> float:
    """The largest difference from PyTorch in sums, squares and two steps of AdamW, over tensors of both types."""
    make = torch.Generator(device).manual_seed(0)
    shapes = ((3, 5), (1,), (block_numbers + 7,), (2, block_numbers), (33,))
    noise = lambda dtype: [torch.randn(*shape, device=device, generator=make).to(dtype) for shape in shapes]  # noqa: E731
    half, whole = noise(torch.bfloat16), noise(torch.float32)
    mixed = half[:2] + whole[2:]
    differences = [
        (got - expected).abs().max().item()
        for xs, ys in ((half, half), (mixed, half), ([t.clone() for t in whole], mixed))
        for got, expected in zip(Kernels().add([x.clone() for x in xs], ys), Plain().add([x.clone() for x in xs], ys))
    ]
    expected = Plain().square_sum(mixed).item()
    differences.append(abs(Kernels().square_sum(mixed).item() / expected - 1))
    masters, twins = [t.clone() for t in whole], [t.clone() for t in whole]
    firsts, seconds = ([torch.zeros_like(t) for t in whole] for _ in range(2))
    copies = [t.bfloat16() for t in whole[:3]] + masters[3:]
    groups = [{"params": twins[i : i + 1], "weight_decay": 0.1 if t.dim() > 1 else 0.0} for i, t in enumerate(twins)]
    known = torch.optim.AdamW(groups, lr=1e-2, betas=(0.9, 0.999), eps=1e-6)
    for number in (1, 2):
        adamw(AdamWStep(1e-2, 0.1, 0.9, 0.999, 1e-6, number, 0.5), masters, mixed, firsts, seconds, copies)
        for twin, gradient in zip(twins, mixed):
            twin.grad = gradient.float() * 0.5
        known.step()
    differences += [(a - b).abs().max().item() for a, b in zip(masters, twins)]
    differences += [((a.float() - b.to(a.dtype).float()).abs() > 0.01 * b.abs()).float().max().item() for a, b in zip(copies, masters)]
    return max(differences)


@lru_cache(maxsize=8)
def kernels_work(device: torch.device) -> bool:
    if triton is None or device.type != "cuda":
        return False
    try:
        off = error(device)
    except Exception as problem:  # a compiler that fails has no class of its own
        log.warning("no kernels over many tensors here (%s); PyTorch's are used instead", str(problem).split("\n")[0])
        return False
    if off < 1e-4:
        return True
    log.warning("kernels over many tensors are off by %.3g here; PyTorch's are used instead", off)
    return False
