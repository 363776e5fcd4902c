"""One decode step over all slots, and prefill, together or apart. Whole steps can be recorded as CUDA graphs.

B slots taking part, H query heads, G key/value heads, W width of a head, D width of the model, V vocabulary, N tokens to
prefill, n rows of a prompt batch, L their padded length.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from . import decode_attention, decode_draw, decode_kernels, decode_math, prefill_batch
from .cache import SlotCache
from .decode_check import kernels_work
from .decode_weights import DecodeWeights, LayerWeights
from .model import Model
from .prefill_batch import PrefillBatch, PrefillInput
from .slot_state import SlotState

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
        self.tile_tokens = decode_attention.tile_tokens(*self.shape[:2])
        self.cos = self.sin = torch.empty(0)
        #: Logits of all slots, and the tokens to prefill in a recorded step: one memory for all graphs.
        self.logits = torch.empty(0)
        self.prefill_input = torch.empty(0)
        #: None: run once, to be recorded the next time.
        self.graphs: dict[tuple, torch.cuda.CUDAGraph | None] = {}
        self.pool = None

    def reset(self, slots: int, length: int) -> None:
        """After the cache was reallocated: new rope tables for its length, and no CUDA graph with the old addresses."""
        self.graphs.clear()
        # a memory pool is freed with the last graph in it
        self.pool = None
        # nothing is read past the context, and dynamic rope would change its frequencies for a longer sequence
        positions = torch.arange(length, device=self.device)[None].clamp(max=self.model.config.max_position_embeddings - 1)
        like = torch.empty(0, device=self.device, dtype=self.dtype)
        with torch.no_grad():
            self.cos, self.sin = (table[0] for table in self.model.inner.rotary_emb(like, positions))
        if self.logits.shape[0] < slots:
            self.logits = torch.empty(slots, self.model.config.vocab_size, device=self.device, dtype=self.dtype)
        if self.graphs_on and len(self.prefill_input) == 0:
            largest = prefill_batch.sizes[-1]
            self.prefill_input = torch.empty(4 * largest, device=self.device, dtype=torch.int32)

    # -- a step

    @torch.no_grad()
    def step(
        self,
        weights: DecodeWeights,
        cache: SlotCache,
        state: SlotState,
        slots: int,
        length: int,
        owner: int = 1,
        prefill: PrefillBatch | None = None,
    ) -> Tensor:
        """Computes the last token of an owner's sequences among the first slots and draws the next one, into the state and its
        result; with kernels, prefills other slots in the same pass. Returns the logits."""
        if self.is_triton:
            # each slot reads its own length: one graph for all lengths
            length = cache.length
        size, given = 0, None
        if prefill is not None:
            flat = prefill.flat(self.tile_tokens)
            size = flat.size
            packed = flat.on_device(self.device, size, size // 4)
            if self.graphs_on:
                packed = self.prefill_input[: len(packed)].copy_(packed)
            given = PrefillInput.of(packed, size, size // 4)
        if not self.graphs_on:
            return self._step(weights, cache, state, slots, length, owner, given)
        key = (id(weights), slots, length, owner, size)
        if key not in self.graphs:
            # compiles, tunes and allocates; the next step of this size is recorded
            self.graphs[key] = None
            return self._step(weights, cache, state, slots, length, owner, given)
        graph = self.graphs[key]
        if graph is None:
            graph = torch.cuda.CUDAGraph()
            self.pool = self.pool or torch.cuda.graph_pool_handle()
            with torch.cuda.graph(graph, pool=self.pool):
                self._step(weights, cache, state, slots, length, owner, given)
            self.graphs[key] = graph
        graph.replay()
        return self.logits[:slots]

    def can_mix(self, prefill: PrefillBatch) -> bool:
        """Whether a decode step can prefill this besides."""
        return self.is_triton and prefill.flat(self.tile_tokens).size is not None

    def forget(self, weights: DecodeWeights) -> None:
        self.graphs = {key: graph for key, graph in self.graphs.items() if key[0] != id(weights)}
        if all(graph is None for graph in self.graphs.values()):
            self.pool = None

    def _step(self, weights, cache, state: SlotState, slots: int, length: int, owner: int, prefill: PrefillInput | None) -> Tensor:
        positions = state.positions[:slots]
        tokens = state.tokens[:slots] if prefill is None else torch.cat([state.tokens[:slots], prefill.tokens])
        x = F.embedding(tokens, weights.embedding)
        if self.is_triton:
            attend = self._kernel_attention(len(weights.layers) - 1, cache, state, slots, owner, prefill)
        else:
            attend = self._step_attention(cache, positions, length)
        logits = torch.mm(self._layers(weights, x, attend), weights.head.T, out=self.logits[:slots])
        seeds, temperature, greedy = state.seeds[:slots], state.inverse_temperature[:slots], state.greedy[:slots]
        # the drawn token is number position + 1 of its sequence
        if self.is_triton:
            token, logprob = decode_draw.draw(logits, seeds, positions, temperature, greedy)
        else:
            token, logprob = self.math.draw(logits, seeds, positions + 1, temperature, greedy != 0)
        state.advance(slots, owner, token, logprob, kernel=self.is_triton)
        return logits

    def _kernel_attention(
        self, last: int, cache: SlotCache, state: SlotState | None, slots: int, owner: int, prefill: PrefillInput | None
    ) -> Attend:
        """Over the slots of a decode step, then over tokens to prefill, of which the last layer only writes keys and values."""
        width = self.shape[0] * self.shape[2]

        def attend(index: int, layer: LayerWeights, joint: Tensor) -> Tensor | None:
            keys, values, norms = cache.keys[index], cache.values[index], (layer.query_norm, layer.key_norm, self.epsilon)
            rows = slots if index == last else len(joint)
            out = torch.empty(rows, width, device=joint.device, dtype=joint.dtype)
            if slots > 0:
                decode_attention.attend(
                    *(joint[:slots], keys, values, state.positions, self.cos, self.sin, *norms),
                    *(state.owners, owner, out[:slots]),
                )
            if prefill is not None:
                places = prefill.slots, prefill.positions, self.cos, self.sin
                queries = decode_attention.spread(joint[slots:], keys, values, *places, *norms)
                if index < last:
                    decode_attention.attend_tiles(queries, keys, values, prefill.tiles, out[slots:])
            return out if rows > 0 else None

        return attend

    def _step_attention(self, cache: SlotCache, positions: Tensor, length: int) -> Attend:
        """Without kernels."""
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
        """All layers and the last norm, of the rows that the last `attend` returns; None where it returns None, as in prefill."""
        math, epsilon = self.math, self.epsilon
        norms = [*(layer.input_norm for layer in weights.layers), weights.norm]
        normed = math.norm(x, norms[0], epsilon)
        for index, layer in enumerate(weights.layers):
            attended = attend(index, layer, F.linear(normed, layer.qkv, layer.qkv_bias))
            if attended is None:
                return None
            x = x[: len(attended)]
            x, normed = math.add_norm(x, F.linear(attended, layer.output, layer.output_bias), layer.feed_norm, epsilon)
            inner = math.gated(F.linear(normed, layer.gate_up, layer.gate_up_bias))
            x, normed = math.add_norm(x, F.linear(inner, layer.down, layer.down_bias), norms[index + 1], epsilon)
        return normed

    # -- prefill

    @torch.no_grad()
    def prefill(self, weights: DecodeWeights, cache: SlotCache, batch: PrefillBatch) -> None:
        if not self.is_triton:
            return self._prefill_padded(weights, cache, batch.slots, batch.rows, batch.starts)
        flat = batch.flat(self.tile_tokens)
        size, tiles = len(flat.tokens), len(flat.tiles)
        given = PrefillInput.of(flat.on_device(self.device, size, tiles), size, tiles)
        attend = self._kernel_attention(len(weights.layers) - 1, cache, None, 0, 0, given)
        self._layers(weights, F.embedding(given.tokens, weights.embedding), attend)

    def _prefill_padded(self, weights: DecodeWeights, cache: SlotCache, slots, tokens: list[np.ndarray], starts: list[int]) -> None:
        """Without kernels: rows are padded to the longest of them."""
        heads, groups, width = self.shape
        length = max(len(row) for row in tokens)
        filled = np.zeros((len(tokens), length), np.int64)
        for row, known in zip(filled, tokens):
            row[: len(known)] = known
        padded = torch.from_numpy(filled).to(self.device)
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
