"""Whether the Triton kernels of decoding work on this device: they are compared with plain PyTorch."""

from __future__ import annotations

import logging
from functools import lru_cache

import numpy as np
import torch
import torch.nn.functional as F

from . import decode_attention, decode_draw, decode_kernels, decode_math, slot_state
from .decode_attention import tile_tokens
from .prefill_batch import FlatPrefill, PrefillBatch, PrefillInput
from .slot_state import SlotState

log = logging.getLogger("ludus")


@lru_cache
def kernels_work(device: torch.device, dtype: torch.dtype, shape: tuple[int, int, int]) -> bool:
    """`shape`: query heads, key/value heads, width of a head."""
    width = shape[2]
    if decode_attention.triton is None or device.type != "cuda" or width < 16 or width & (width - 1):
        return False
    try:
        errors = (
            *(attention_error(device, dtype, shape), draw_error(device, dtype), between_error(device, dtype)),
            *(copy_error(device, dtype), advance_error(device)),
        )
    except Exception as problem:  # a compiler that fails has no class of its own
        log.warning("no decoding kernels here (%s); PyTorch's are used instead", str(problem).split("\n")[0])
        return False
    if max(errors) < 5e-2:
        return True
    log.warning("decoding kernels are off by %.3g, %.3g, %.3g, %.3g and %.3g here; PyTorch's are used instead", *errors)
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
        # three rows of different lengths, none, some and many tokens of which are cached
        lengths, starts = (5, 1, 70), (0, 20, 30)
        flat = FlatPrefill.of(PrefillBatch([2, 0, 3], [np.zeros(n, np.int32) for n in lengths], starts), tile_tokens(heads, groups))
        size, tiles = len(flat.tokens) + 3, len(flat.tiles) + 2
        given = PrefillInput.of(flat.on_device(device, size, tiles), size, tiles)
        tokens = noise(size, joint.shape[1])
        asked = decode_attention.spread(tokens, keys, values, given.slots, given.positions, cos, sin, *norms, 1e-6)
        seen_by = torch.zeros(size, heads * width, device=device, dtype=dtype)
        decode_attention.attend_tiles(asked, keys, values, given.tiles, seen_by)
        first = 0
        for slot, n, start in zip((2, 0, 3), lengths, starts):
            part, place = slice(first, first + n), slice(start, start + n)
            first += n
            q, k, v = decode_math.query_key_value(tokens[part], cos[place][:, None], sin[place][:, None], *norms, shape, 1e-6)
            written += keys[slot, :, place].transpose(0, 1) - k, values[slot, :, place].transpose(0, 1) - v, asked[part] - q
            past = [x[slot : slot + 1, :, : start + n] for x in (keys, values)]
            mask = torch.ones(n, start + n, device=device, dtype=torch.bool).tril(start)
            known = F.scaled_dot_product_attention(q.transpose(0, 1)[None], *past, attn_mask=mask, enable_gqa=heads != groups)
            written += (seen_by[part] - known[0].transpose(0, 1).flatten(1),)
        worst = max(worst, *((part.float().abs().max() / 4).item() for part in (got - expected, *written)))
    return worst


def copy_error(device: torch.device, dtype: torch.dtype) -> float:
    """Whether a copied prefix differs, or anything else has changed."""
    caches = [torch.randn(4, 2, 40, 16, device=device).to(dtype) for _ in range(3)]
    expected = [cache.clone() for cache in caches]
    copies = torch.tensor([[0, 1, 33], [0, 3, 1], [2, 2, 0]], device=device)
    for source, target, length in copies.tolist():
        for cache in expected:
            cache[target, :, :length] = cache[source, :, :length]
    places = torch.tensor([cache.data_ptr() for cache in caches], device=device)
    decode_attention.copy_slots(places, copies, (2, 40, 16), dtype)
    return float(not all(torch.equal(got, known) for got, known in zip(caches, expected)))


def advance_error(device: torch.device) -> float:
    """Whether the kernel leaves another state or result than plain PyTorch."""
    states = [SlotState(300, device) for _ in range(2)]
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 3, (len(slot_state.fields), 300))
    token, logprob = torch.from_numpy(rng.integers(0, 3, 300)).to(device), torch.randn(300, device=device)
    for kernel, state in enumerate(states):
        state.write(np.arange(300), numbers, np.ones(300))
        state.advance(290, 1, token[:290], logprob[:290], kernel=bool(kernel))
    return float(not (torch.equal(states[0].numbers, states[1].numbers) and torch.equal(states[0].result, states[1].result)))


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
