"""Random numbers that depend on a seed and an index alone, as in src/random.ts: draws need no order, so batching cannot change them."""

from __future__ import annotations

import math

import torch
from torch import Tensor

_word = 0xFFFFFFFF


def _mix(a, b):
    """Works on Python integers and on int64 tensors alike; words are kept in 0..2^32-1."""
    inner = ((b + 0x9E3779B9) & _word) * 0x85EBCA6B & _word
    h = ((a ^ inner) * 0xC2B2AE35 & _word) ^ b
    h = (h ^ (h >> 16)) * 0x85EBCA6B & _word
    h = (h ^ (h >> 13)) * 0xC2B2AE35 & _word
    return h ^ (h >> 16)


def random_bits(seed, index):
    """53 random bits."""
    low = _mix(seed & _word, index & _word)
    high = _mix((low ^ (seed >> 32)) & _word, ((index >> 32) ^ 0x51ED270B) & _word)
    return (high << 21) + (_mix(high, low) >> 11)


def uniform_at(seed: int, index: int) -> float:
    return random_bits(seed, index) / 2**53


def uniforms(seed: Tensor, index: Tensor) -> Tensor:
    return random_bits(seed, index).double() / 2**53


def normals(seed: int, first: int, count: int, device: torch.device) -> Tensor:
    """Numbers `first`, `first + 1`, … of the normal stream of a seed (Box and Muller, two uniforms each)."""
    index = torch.arange(2 * first, 2 * (first + count), device=device).view(count, 2)
    u = uniforms(torch.tensor(seed, device=device), index)
    return (-2 * torch.log(1 - u[:, 0])).sqrt() * torch.cos(2 * math.pi * u[:, 1])


@torch.no_grad()
def initialise(parameters: list[tuple[str, Tensor]], deviation: float, seed: int) -> None:
    """Matrices normal, norms 1, biases and value head 0: for the same seed the weights of the embedded engine."""
    drawn = 0
    for name, values in parameters:
        if name.endswith("norm.weight"):
            values.fill_(1)
        elif values.dim() == 1 or name == "value_head.weight":
            values.zero_()
        else:
            flat = values.view(-1)
            for start in range(0, flat.numel(), 1 << 22):
                part = flat[start : start + (1 << 22)]
                part.copy_((normals(seed, drawn, part.numel(), part.device) * deviation).float())
                drawn += part.numel()
