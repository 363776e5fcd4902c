"""One decoding step over all slots, and the computation of prompts. The pieces around attention can be compiled, and whole
steps recorded as CUDA graphs.

B slots taking part, H query heads, G key/value heads, W width of a head, D width of the model, V vocabulary, n rows of a
prompt batch, L their padded length.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from . import decode_attention
from .cache import SlotCache, round_up
from .decode_weights import DecodeWeights, LayerWeights
from .draws import uniforms
from .model import Model

#: The vocabulary is summed in blocks of this size, so that drawing a token looks into one block alone.
block = 128


def norm(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    wide = x.float()
    return weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + epsilon)).to(x.dtype)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


def query_key_value(x, cos, sin, input_norm, qkv, qkv_bias, query_norm, key_norm, shape, epsilon):
    """`[…, D]` to queries `[…, H, W]`, keys and values `[…, G, W]`."""
    heads, groups, width = shape
    joint = F.linear(norm(x, input_norm, epsilon), qkv, qkv_bias)
    q, k, v = joint.split([heads * width, groups * width, groups * width], -1)
    q, k, v = (part.unflatten(-1, (-1, width)) for part in (q, k, v))
    if query_norm is not None:
        q, k = norm(q, query_norm, epsilon), norm(k, key_norm, epsilon)
    return rotate(q, cos, sin), rotate(k, cos, sin), v


def after_attention(x, attended, output, output_bias, feed_norm, gate_up, gate_up_bias, down, down_bias, epsilon):
    x = x + F.linear(attended, output, output_bias)
    gate, up = F.linear(norm(x, feed_norm, epsilon), gate_up, gate_up_bias).chunk(2, -1)
    return x + F.linear(F.silu(gate) * up, down, down_bias)


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
    token = torch.where(use_best, best_token, chosen * block + place)[:, 0]
    logit = torch.where(use_best, top[:, None], drawn_at)[:, 0]
    return token, logit - top - running[:, -1].log().float()


class SlotState:
    """What the device knows of each slot. Tokens and positions move on by themselves; the rest is set from outside."""

    def __init__(self, slots: int, device: torch.device):
        self.host = torch.zeros(5, slots, dtype=torch.long, pin_memory=device.type == "cuda")
        self.numbers = self.host.to(device)
        self.host_temperature = torch.ones(slots, pin_memory=device.type == "cuda")
        self.inverse_temperature = self.host_temperature.to(device)
        self.tokens, self.positions, self.seeds, self.greedy, self.active = self.numbers

    def upload(self) -> None:
        # the copies are not awaited, so the host must not change its side before the device has read it: see Sampler
        self.numbers.copy_(self.host, non_blocking=True)
        self.inverse_temperature.copy_(self.host_temperature, non_blocking=True)


class Decoder:
    def __init__(self, model: Model, *, compile: bool, graphs: bool, attention: str = "auto"):
        config = model.config
        self.model, self.graphs_on = model, graphs
        self.shape = (config.num_attention_heads, config.num_key_value_heads, model.head_width)
        self.epsilon = config.rms_norm_eps

        def wrap(function, **how):
            return torch.compile(function, **how) if compile else function

        # steps come in few sizes, prompts in any
        self.step_pieces = (wrap(query_key_value), wrap(after_attention))
        self.prompt_pieces = (wrap(query_key_value, dynamic=True), wrap(after_attention, dynamic=True))
        self.draw, self.norm = wrap(draw), wrap(norm)
        if compile:
            torch._dynamo.config.cache_size_limit = max(64, torch._dynamo.config.cache_size_limit)
        self.device, self.dtype = model.options.device, model.options.dtype
        heads, groups, width = self.shape
        if attention == "auto":
            attention = "triton" if decode_attention.works(self.device, self.dtype, width, heads, groups) else "sdpa"
        self.attention = attention
        self.cos = self.sin = torch.empty(0)
        self.graphs: dict[tuple, tuple[torch.cuda.CUDAGraph | None, tuple[Tensor, Tensor, Tensor] | None]] = {}
        self.pool = None

    def reset(self, length: int) -> None:
        """After the cache has moved: rotations for its length, and no graph that knows the old addresses."""
        self.graphs.clear()
        # a pool is gone with the last graph in it
        self.pool = None
        positions = torch.arange(length, device=self.device)[None]
        like = torch.empty(0, device=self.device, dtype=self.dtype)
        with torch.no_grad():
            self.cos, self.sin = (table[0] for table in self.model.inner.rotary_emb(like, positions))

    # -- a step

    @torch.no_grad()
    def step(self, weights: DecodeWeights, cache: SlotCache, state: SlotState, slots: int, length: int):
        """Computes the last token of the first slots and draws the next one: tokens, log-probabilities, logits."""
        if self.attention == "triton":
            # each slot reads what it has: one graph for all lengths
            length = cache.length
        if not self.graphs_on:
            return self._step(weights, cache, state, slots, length)
        key = (id(weights), slots, length)
        if key not in self.graphs:
            # compiles, tunes and allocates; the next step of this size is recorded
            self.graphs[key] = (None, None)
            return self._step(weights, cache, state, slots, length)
        graph, out = self.graphs[key]
        if graph is None:
            graph = torch.cuda.CUDAGraph()
            self.pool = self.pool or torch.cuda.graph_pool_handle()
            with torch.cuda.graph(graph, pool=self.pool):
                out = self._step(weights, cache, state, slots, length)
            self.graphs[key] = (graph, out)
        graph.replay()
        return out

    def forget(self, weights: DecodeWeights) -> None:
        self.graphs = {key: graph for key, graph in self.graphs.items() if key[0] != id(weights)}
        if all(graph is None for graph, _ in self.graphs.values()):
            self.pool = None

    def _step(self, weights: DecodeWeights, cache: SlotCache, state: SlotState, slots: int, length: int):
        heads, groups, width = self.shape
        positions = state.positions[:slots]
        x = F.embedding(state.tokens[:slots], weights.embedding)
        cos, sin = self.cos[positions][:, None], self.sin[positions][:, None]
        rows = torch.arange(slots, device=self.device)
        seen = (torch.arange(length, device=self.device)[None] <= positions[:, None])[:, None, None]
        for layer, keys, values in zip(weights.layers, cache.keys, cache.values):
            q, k, v = self._before(self.step_pieces[0], layer, x, cos, sin)
            if self.attention == "triton":
                attended = decode_attention.attend(q, k, v, keys, values, positions)
            else:
                keys[rows, :, positions] = k
                values[rows, :, positions] = v
                # the queries of a group are rows of one product with its keys: nothing is repeated
                q = q.view(slots, groups, heads // groups, width)
                attended = self._attend(q, keys[:slots, :, :length], values[:slots, :, :length], seen)
            x = self._after(self.step_pieces[1], layer, x, attended.reshape(slots, heads * width))
        logits = F.linear(self.norm(x, weights.norm, self.epsilon), weights.head)
        # the drawn token is number position + 1 of its sequence
        next_position = positions + 1
        token, logprob = self.draw(
            logits, state.seeds[:slots], next_position, state.inverse_temperature[:slots], state.greedy[:slots] != 0
        )
        active = state.active[:slots] != 0
        state.tokens[:slots] = torch.where(active, token, state.tokens[:slots])
        # a slot whose sequence has ended goes on until it is told; the last position never holds anything that counts
        state.positions[:slots] = torch.where(active, next_position, positions).clamp(max=cache.length - 1)
        return token, logprob, logits

    def _attend(self, q: Tensor, keys: Tensor, values: Tensor, seen: Tensor) -> Tensor:
        if self.attention == "sdpa":
            return F.scaled_dot_product_attention(q, keys, values, attn_mask=seen)
        scores = (q @ keys.transpose(2, 3)).float() * self.shape[2] ** -0.5
        return scores.masked_fill(~seen, float("-inf")).softmax(-1).to(q.dtype) @ values

    def _before(self, piece, layer: LayerWeights, x: Tensor, cos: Tensor, sin: Tensor):
        names = ("input_norm", "qkv", "qkv_bias", "query_norm", "key_norm")
        return piece(x, cos, sin, *(getattr(layer, n) for n in names), self.shape, self.epsilon)

    def _after(self, piece, layer: LayerWeights, x: Tensor, attended: Tensor) -> Tensor:
        names = ("output", "output_bias", "feed_norm", "gate_up", "gate_up_bias", "down", "down_bias")
        return piece(x, attended, *(getattr(layer, n) for n in names), self.epsilon)

    # -- prompts

    @torch.no_grad()
    def prefill(self, weights: DecodeWeights, cache: SlotCache, slots: list[int], tokens: list[list[int]], starts: list[int]):
        """Computes `tokens[i]` from position `starts[i]` on into slot `slots[i]`. Rows are padded to the longest of them."""
        heads, groups, width = self.shape
        length = max(len(row) for row in tokens)
        padded = torch.tensor([row + [0] * (length - len(row)) for row in tokens], device=self.device)
        slot = torch.tensor(slots, device=self.device)
        positions = torch.tensor(starts, device=self.device)[:, None] + torch.arange(length, device=self.device)
        is_fresh = max(starts) == 0
        reach = max(starts) + length
        rows = len(slots)
        if not is_fresh:
            # the queries of a group are rows of one product with its keys, each with the same mask
            seen = torch.arange(reach, device=self.device) <= positions[:, :, None]
            seen = seen[:, None].expand(-1, heads // groups, -1, -1).reshape(rows, 1, -1, reach)
        x = F.embedding(padded, weights.embedding)
        cos, sin = self.cos[positions][:, :, None], self.sin[positions][:, :, None]
        last = len(weights.layers) - 1
        for index, (layer, keys, values) in enumerate(zip(weights.layers, cache.keys, cache.values)):
            q, k, v = self._before(self.prompt_pieces[0], layer, x, cos, sin)
            # what padding writes lies past the row's tokens and is overwritten before it is ever read
            keys[slot[:, None], :, positions] = k
            values[slot[:, None], :, positions] = v
            if index == last:
                return
            q = q.transpose(1, 2)
            if is_fresh:
                k, v = k.transpose(1, 2), v.transpose(1, 2)
                attended = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=heads != groups)
            else:
                k, v = keys[slot, :, :reach], values[slot, :, :reach]
                q = q.reshape(rows, groups, -1, width)
                attended = F.scaled_dot_product_attention(q, k, v, attn_mask=seen).view(rows, heads, length, width)
            x = self._after(self.prompt_pieces[1], layer, x, attended.transpose(1, 2).flatten(2))
