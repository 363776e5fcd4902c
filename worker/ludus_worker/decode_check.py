"""Whether the Triton kernels of decoding work on this device: they are compared with plain PyTorch."""

from __future__ import annotations

import logging

import torch
import torch.nn.functional as F

from . import decode_attention, decode_draw, decode_kernels, decode_math

log = logging.getLogger("ludus")


def kernels_work(device: torch.device, dtype: torch.dtype, shape: tuple[int, int, int]) -> bool:
    """`shape`: query heads, key/value heads, width of a head."""
    width = shape[2]
    if decode_attention.triton is None or device.type != "cuda" or width < 16 or width & (width - 1):
        return False
    try:
        errors = attention_error(device, dtype, shape), draw_error(device, dtype), between_error(device, dtype)
    except Exception as problem:  # a compiler that fails has no class of its own
        log.warning("no decoding kernels here (%s); PyTorch's are used instead", str(problem).split("\n")[0])
        return False
    if max(errors) < 5e-2:
        return True
    log.warning("decoding kernels are off by %.3g, %.3g and %.3g here; PyTorch's are used instead", *errors)
    return False


def attention_error(device: torch.device, dtype: torch.dtype, shape: tuple[int, int, int]) -> float:
    """The largest difference in what is attended to and in what is written, without norms and with them."""
    heads, groups, width = shape
    make = torch.Generator(device).manual_seed(0)
    noise = lambda *shape: torch.randn(*shape, device=device, dtype=dtype, generator=make)  # noqa: E731
    angles = torch.randn(128, width // 2, device=device, generator=make).repeat(1, 2)
    cos, sin = angles.cos().to(dtype), angles.sin().to(dtype)
    positions = torch.tensor([0, 63, 100], device=device)
    rows = torch.arange(3, device=device)
    seen = (torch.arange(128, device=device)[None] <= positions[:, None])[:, None, None]
    worst = 0.0
    for norms in ((None, None), (noise(width), noise(width))):
        joint, keys, values = noise(3, (heads + 2 * groups) * width), noise(4, groups, 128, width), noise(4, groups, 128, width)
        got = decode_attention.attend(joint, keys, values, positions, cos, sin, *norms, 1e-6)
        turns = cos[positions][:, None], sin[positions][:, None]
        q, k, v = decode_math.query_key_value(joint, *turns, *norms, shape, 1e-6)
        written = keys[rows, :, positions] - k, values[rows, :, positions] - v
        keys[rows, :, positions] = k
        grouped = q.view(3, groups, heads // groups, width)
        expected = F.scaled_dot_product_attention(grouped, keys[:3], values[:3], attn_mask=seen).reshape(got.shape)
        # three prompts of two tokens: what is asked, and what is written
        row_of_two = noise(3, 2, joint.shape[1])
        places = torch.tensor([[0, 1], [7, 8], [126, 127]], device=device)
        asked = decode_attention.spread(row_of_two, keys, values, rows, places, cos, sin, *norms, 1e-6)
        q, k, v = decode_math.query_key_value(row_of_two, cos[places][:, :, None], sin[places][:, :, None], *norms, shape, 1e-6)
        written += keys[rows[:, None], :, places] - k, values[rows[:, None], :, places] - v, asked.transpose(1, 2) - q
        worst = max(worst, *((part.float().abs().max() / 4).item() for part in (got - expected, *written)))
    return worst


def draw_error(device: torch.device, dtype: torch.dtype) -> float:
    """The share of draws that differ, or the largest difference of their log-probabilities."""
    make = torch.Generator(device).manual_seed(0)
    rows, vocabulary = 64, 9001
    logits = 3 * torch.randn(rows, vocabulary, device=device, dtype=dtype, generator=make)
    seeds = torch.randint(0, 1 << 40, (rows,), device=device, generator=make)
    positions = torch.arange(rows, device=device)
    temperature = torch.linspace(0.5, 2, rows, device=device)
    greedy = (positions % 8 == 0).long()
    tokens, logprobs = decode_draw.draw(logits, seeds, positions, temperature, greedy)
    same, known = decode_math.draw(logits, seeds, positions + 1, temperature, greedy != 0)
    return max((tokens != same).float().mean().item(), (logprobs - known).abs()[tokens == same].max().item())


def between_error(device: torch.device, dtype: torch.dtype) -> float:
    """The largest difference in norms, sums and gates."""
    make = torch.Generator(device).manual_seed(0)
    x, more, weight = (torch.randn(*shape, device=device, dtype=dtype, generator=make) for shape in ((5, 96), (5, 96), (96,)))
    pairs = zip(
        [decode_kernels.norm(x, weight, 1e-6), *decode_kernels.add_norm(x, more, weight, 1e-6), decode_kernels.gated(x)],
        [decode_math.norm(x, weight, 1e-6), *decode_math.add_norm(x, more, weight, 1e-6), decode_math.gated(x)],
    )
    return max(((got - expected).float().abs().max() / 4).item() for got, expected in pairs)
