"""One decode step over all slots, and prefill. Whole steps can be recorded as CUDA graphs.

B slots taking part, H query heads, G key/value heads, W width of a head, D width of the model, V vocabulary, n rows of a
prompt batch, L their padded length.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace

import torch
import torch.nn.functional as F
from torch import Tensor

from . import decode_attention, decode_draw, decode_kernels, decode_math
from .cache import SlotCache
from .decode_check import kernels_work
from .decode_weights import DecodeWeights, LayerWeights
from .model import Model


class SlotState:
    """The state of each slot on the device. A step advances tokens and positions; the rest is set by the sampler."""

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


#: From a layer's number and joint projection to what it attends to.
Attend = Callable[[int, LayerWeights, Tensor], "Tensor | None"]


def compiled(math: ModuleType) -> SimpleNamespace:
    names = ("norm", "add_norm", "gated", "query_key_value", "draw")
    return SimpleNamespace(**{name: torch.compile(getattr(math, name), dynamic=True) for name in names})


class Decoder:
    def __init__(self, model: Model, *, compile: bool, graphs: bool, attention: str = "auto"):
        config = model.config
        self.model, self.graphs_on = model, graphs
        self.shape = (config.num_attention_heads, config.num_key_value_heads, model.head_width)
        self.epsilon = config.rms_norm_eps

        self.device, self.dtype = model.options.device, model.options.dtype
        if attention == "auto":
            attention = "triton" if kernels_work(self.device, self.dtype, self.shape) else "sdpa"
        self.attention = attention
        self.is_triton = attention == "triton"
        self.math = decode_kernels if self.is_triton else compiled(decode_math) if compile else decode_math
        self.cos = self.sin = torch.empty(0)
        self.graphs: dict[tuple, tuple[torch.cuda.CUDAGraph | None, tuple[Tensor, Tensor, Tensor] | None]] = {}
        self.pool = None

    def reset(self, length: int) -> None:
        """After the cache was reallocated: new rope tables for its length, and no CUDA graph with the old addresses."""
        self.graphs.clear()
        # a memory pool is freed with the last graph in it
        self.pool = None
        # nothing is read past the context, and dynamic rope would change its frequencies for a longer sequence
        positions = torch.arange(length, device=self.device)[None].clamp(max=self.model.config.max_position_embeddings - 1)
        like = torch.empty(0, device=self.device, dtype=self.dtype)
        with torch.no_grad():
            self.cos, self.sin = (table[0] for table in self.model.inner.rotary_emb(like, positions))

    # -- a step

    @torch.no_grad()
    def step(self, weights: DecodeWeights, cache: SlotCache, state: SlotState, slots: int, length: int):
        """Computes the last token of the first slots and draws the next one: tokens, log-probabilities, logits."""
        if self.is_triton:
            # each slot reads its own length: one graph for all lengths
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
        positions = state.positions[:slots]
        x = F.embedding(state.tokens[:slots], weights.embedding)
        attend = self._step_attention(cache, positions, length)
        logits = F.linear(self._layers(weights, x, attend), weights.head)
        seeds, temperature, greedy = state.seeds[:slots], state.inverse_temperature[:slots], state.greedy[:slots]
        # the drawn token is number position + 1 of its sequence
        if self.is_triton:
            token, logprob = decode_draw.draw(logits, seeds, positions, temperature, greedy)
        else:
            token, logprob = self.math.draw(logits, seeds, positions + 1, temperature, greedy != 0)
        active = state.active[:slots] != 0
        state.tokens[:slots] = torch.where(active, token, state.tokens[:slots])
        # a slot whose sequence has ended is decoded until the next upload; the last position is never read
        state.positions[:slots] = torch.where(active, positions + 1, positions).clamp(max=cache.length - 1)
        return token, logprob, logits

    def _step_attention(self, cache: SlotCache, positions: Tensor, length: int) -> Attend:
        if self.is_triton:
            return lambda index, layer, joint: decode_attention.attend(
                *(joint, cache.keys[index], cache.values[index], positions, self.cos, self.sin),
                *(layer.query_norm, layer.key_norm, self.epsilon),
            )
        heads, groups, width = self.shape
        slots = len(positions)
        cos, sin = self.cos[positions][:, None], self.sin[positions][:, None]
        rows = torch.arange(slots, device=self.device)
        seen = (torch.arange(length, device=self.device)[None] <= positions[:, None])[:, None, None]

        def attend(index: int, layer: LayerWeights, joint: Tensor) -> Tensor:
            keys, values = cache.keys[index], cache.values[index]
            q, k, v = self._query_key_value(layer, joint, cos, sin)
            keys[rows, :, positions] = k
            values[rows, :, positions] = v
            # the queries of a group are rows of one product with its keys: nothing is repeated
            q = q.view(slots, groups, heads // groups, width)
            return self._attend(q, keys[:slots, :, :length], values[:slots, :, :length], seen).reshape(slots, heads * width)

        return attend

    def _attend(self, q: Tensor, keys: Tensor, values: Tensor, seen: Tensor) -> Tensor:
        if self.attention == "sdpa":
            return F.scaled_dot_product_attention(q, keys, values, attn_mask=seen)
        scores = (q @ keys.transpose(2, 3)).float() * self.shape[2] ** -0.5
        return scores.masked_fill(~seen, float("-inf")).softmax(-1).to(q.dtype) @ values

    def _query_key_value(self, layer: LayerWeights, joint: Tensor, cos: Tensor, sin: Tensor):
        return self.math.query_key_value(joint, cos, sin, layer.query_norm, layer.key_norm, self.shape, self.epsilon)

    def _layers(self, weights: DecodeWeights, x: Tensor, attend: Attend) -> Tensor | None:
        """All layers and the last norm; None where the last `attend` returns None, as in prefill."""
        math, epsilon = self.math, self.epsilon
        norms = [*(layer.input_norm for layer in weights.layers), weights.norm]
        normed = math.norm(x, norms[0], epsilon)
        for index, layer in enumerate(weights.layers):
            attended = attend(index, layer, F.linear(normed, layer.qkv, layer.qkv_bias))
            if attended is None:
                return None
            x, normed = math.add_norm(x, F.linear(attended, layer.output, layer.output_bias), layer.feed_norm, epsilon)
            inner = math.gated(F.linear(normed, layer.gate_up, layer.gate_up_bias))
            x, normed = math.add_norm(x, F.linear(inner, layer.down, layer.down_bias), norms[index + 1], epsilon)
        return normed

    # -- prefill

    @torch.no_grad()
    def prefill(self, weights: DecodeWeights, cache: SlotCache, slots: list[int], tokens: list[list[int]], starts: list[int]):
        """Prefills `tokens[i]` from position `starts[i]` on into slot `slots[i]`. Rows are padded to the longest of them."""
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

        def attend(index: int, layer: LayerWeights, joint: Tensor) -> Tensor | None:
            keys, values = cache.keys[index], cache.values[index]
            # padding writes past the row's tokens, where the next tokens overwrite it before it is read
            if self.is_triton:
                norms = layer.query_norm, layer.key_norm, self.epsilon
                q = decode_attention.spread(joint, keys, values, slot, positions, self.cos, self.sin, *norms)
            else:
                q, k, v = self._query_key_value(layer, joint, cos, sin)
                q = q.transpose(1, 2)
                keys[slot[:, None], :, positions] = k
                values[slot[:, None], :, positions] = v
            if index == last:
                return None
            k, v = keys[slot, :, :reach], values[slot, :, :reach]
            if is_fresh:
                attended = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=heads != groups)
            else:
                q = q.reshape(rows, groups, -1, width)
                attended = F.scaled_dot_product_attention(q, k, v, attn_mask=seen).reshape(rows, heads, length, width)
            return attended.transpose(1, 2).flatten(2)

        self._layers(weights, x, attend)
