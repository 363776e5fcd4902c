"""The arithmetic of decoding between the products, in plain PyTorch: what runs without kernels, and what these must agree with."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from .cache import round_up
from .draws import uniforms

#: The vocabulary is summed in blocks of this size, so that drawing a token looks into one block alone.
block = 128


def norm(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    wide = x.float()
    return weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + epsilon)).to(x.dtype)


def add_norm(x: Tensor, more: Tensor, weight: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    """The sum, and the sum normed."""
    x = x + more
    return x, norm(x, weight, epsilon)


def gated(joint: Tensor) -> Tensor:
    gate, up = joint.chunk(2, -1)
    return F.silu(gate) * up


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


def query_key_value(joint, cos, sin, query_norm, key_norm, shape, epsilon):
    """`[…, (H + 2G)W]` to queries `[…, H, W]`, keys and values `[…, G, W]`."""
    heads, groups, width = shape
    q, k, v = joint.split([heads * width, groups * width, groups * width], -1)
    q, k, v = (part.unflatten(-1, (-1, width)) for part in (q, k, v))
    if query_norm is not None:
        q, k = norm(q, query_norm, epsilon), norm(k, key_norm, epsilon)
    return rotate(q, cos, sin), rotate(k, cos, sin), v


def draw(logits: Tensor, seeds: Tensor, positions: Tensor, inverse_temperature: Tensor, greedy: Tensor):
    """A token of each row and its log-probability: one uniform number, looked up in the running sum of probabilities.

    The same draw as the embedded engine's, by sums of blocks: logits are read once, and no noise is made for each of them.
    """
    rows, vocabulary = logits.shape
    scaled = logits.float() * inverse_temperature[:, None]
    scaled = F.pad(scaled, (0, round_up(vocabulary, block) - vocabulary), value=float("-inf")).view(rows, -1, block)
    peaks, best = scaled.max(-1)
    top, best_block = peaks.max(-1)
    sums = (scaled - top[:, None, None]).exp().sum(-1)
    running = sums.double().cumsum(-1)
    goal = uniforms(seeds, positions)[:, None] * running[:, -1:]
    chosen = (running <= goal).sum(-1, keepdim=True).clamp(max=running.shape[1] - 1)
    rest = goal - (running - sums).gather(-1, chosen)
    inside = scaled.gather(1, chosen[:, :, None].expand(-1, 1, block))[:, 0]
    parts = (inside - top[:, None]).exp().double()
    place = (parts.cumsum(-1) <= rest).sum(-1, keepdim=True).clamp(max=block - 1)
    drawn_at = inside.gather(-1, place)
    # rounding may lead past the last possible token: then, and when greedy, the most probable one
    use_best = greedy[:, None] | (drawn_at == float("-inf"))
    best_token = best_block[:, None] * block + best.gather(-1, best_block[:, None])
    # of logits that are not numbers, any token of the vocabulary
    token = torch.where(use_best, best_token, chosen * block + place)[:, 0].clamp(max=vocabulary - 1)
    logit = torch.where(use_best, top[:, None], drawn_at)[:, 0]
    return token, logit - top - running[:, -1].log().float()
