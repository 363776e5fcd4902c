"""Drawing a token from the logits of each slot in two Triton kernels that read them once: the same draw as `decoder.draw`.

B slots, V vocabulary. Logits are summed in blocks, and blocks are gathered in chunks, each with a maximum of its own.
"""

from __future__ import annotations

import torch
from torch import Tensor

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

block = 128
chunk_blocks = 32

if triton is not None:

    @triton.jit
    def _sum_blocks(logits, inverse_temperature, sums, peaks, best, vocabulary, chunks,
                    blocks: tl.constexpr, block: tl.constexpr):  # fmt: skip
        slot, chunk = tl.program_id(0), tl.program_id(1)
        index = chunk * blocks * block + tl.arange(0, blocks)[:, None] * block + tl.arange(0, block)[None]
        at = logits + slot.to(tl.int64) * vocabulary + index
        scaled = tl.load(at, mask=index < vocabulary, other=float("-inf")).to(tl.float32)
        scaled = scaled * tl.load(inverse_temperature + slot)
        peak = tl.max(tl.max(scaled, 1), 0)
        # by comparison: on some GPUs the indices that `tl.max` returns of few numbers over many threads are wrong
        place = tl.min(tl.min(tl.where(scaled == peak, index, 2147483647), 1), 0)
        parts = tl.sum(tl.exp(scaled - peak), 1)
        tl.store(sums + (slot * chunks + chunk) * blocks + tl.arange(0, blocks), parts)
        tl.store(peaks + slot * chunks + chunk, peak)
        tl.store(best + slot * chunks + chunk, place)

    @triton.jit
    def _mix(a, b):
        word = 0xFFFFFFFF
        inner = ((b + 0x9E3779B9) & word) * 0x85EBCA6B & word
        h = ((a ^ inner) * 0xC2B2AE35 & word) ^ b
        h = (h ^ (h >> 16)) * 0x85EBCA6B & word
        h = (h ^ (h >> 13)) * 0xC2B2AE35 & word
        return h ^ (h >> 16)

    @triton.jit
    def _draw(logits, inverse_temperature, seeds, positions, greedy, sums, peaks, best, tokens, logprobs, vocabulary, chunks,
              blocks: tl.constexpr, block: tl.constexpr, padded: tl.constexpr):  # fmt: skip
        slot = tl.program_id(0)
        number = tl.arange(0, padded)
        is_block = number < chunks * blocks
        # of each block's chunk; every chunk begins inside the vocabulary, so its maximum is finite
        peak = tl.load(peaks + slot * chunks + number // blocks, mask=is_block, other=float("-inf"))
        top = tl.max(peak, 0)
        top_block = tl.min(tl.where(peak == top, number, 2147483647), 0)
        sum_ = tl.load(sums + slot * chunks * blocks + number, mask=is_block, other=0.0) * tl.exp(peak - top)
        running = tl.cumsum(sum_.to(tl.float64), 0)
        total = tl.max(running, 0)

        word = 0xFFFFFFFF
        seed, position = tl.load(seeds + slot), tl.load(positions + slot) + 1
        low = _mix(seed & word, position & word)
        high = _mix((low ^ (seed >> 32)) & word, ((position >> 32) ^ 0x51ED270B) & word)
        uniform = ((high << 21) + (_mix(high, low) >> 11)).to(tl.float64) / 9007199254740992.0

        goal = uniform * total
        chosen = tl.minimum(tl.sum((running <= goal).to(tl.int32), 0), chunks * blocks - 1)
        rest = goal - tl.sum(tl.where(number < chosen, sum_.to(tl.float64), 0.0), 0)
        inside = chosen * block + tl.arange(0, block)
        row = logits + slot.to(tl.int64) * vocabulary
        scaled = tl.load(row + inside, mask=inside < vocabulary, other=float("-inf")).to(tl.float32)
        scaled = scaled * tl.load(inverse_temperature + slot)
        parts = tl.cumsum(tl.exp(scaled - top).to(tl.float64), 0)
        place = tl.minimum(tl.sum((parts <= rest).to(tl.int32), 0), block - 1)
        drawn_at = tl.sum(tl.where(tl.arange(0, block) == place, scaled, 0.0), 0)
        # rounding may lead past the last possible token: then, and when greedy, the most probable one
        use_best = (tl.load(greedy + slot) != 0) | (drawn_at == float("-inf"))
        best_token = tl.load(best + slot * chunks + tl.minimum(top_block // blocks, chunks - 1))
        # of logits that are not numbers, any token of the vocabulary
        token = tl.minimum(tl.where(use_best, best_token, chosen * block + place), vocabulary - 1)
        logit = tl.where(use_best, top, drawn_at)
        tl.store(tokens + slot, token.to(tl.int64))
        tl.store(logprobs + slot, logit - top - tl.log(total).to(tl.float32))


def draw(logits: Tensor, seeds: Tensor, positions: Tensor, inverse_temperature: Tensor, greedy: Tensor) -> tuple[Tensor, Tensor]:
    """`logits` [B, V]; `positions` are those of the tokens before. A token of each row, and its log-probability."""
    slots, vocabulary = logits.shape
    chunks = triton.cdiv(vocabulary, chunk_blocks * block)
    new = lambda *shape, dtype: torch.empty(*shape, device=logits.device, dtype=dtype)  # noqa: E731
    sums = new(slots, chunks * chunk_blocks, dtype=torch.float32)
    peaks, best = new(slots, chunks, dtype=torch.float32), new(slots, chunks, dtype=torch.int32)
    tokens, logprobs = new(slots, dtype=torch.long), new(slots, dtype=torch.float32)
    _sum_blocks[(slots, chunks)](
        logits, inverse_temperature, sums, peaks, best, vocabulary, chunks, blocks=chunk_blocks, block=block, num_warps=4
    )
    _draw[(slots,)](
        logits, inverse_temperature, seeds, positions, greedy, sums, peaks, best, tokens, logprobs, vocabulary, chunks,
        blocks=chunk_blocks, block=block, padded=triton.next_power_of_2(chunks * chunk_blocks), num_warps=8,
    )  # fmt: skip
    return tokens, logprobs
