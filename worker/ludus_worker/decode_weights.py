"""The weights of a set as decoding reads them: joint projections in one tensor, adapters merged, shards gathered."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .distributed import whole
from .model import joined
from .weight_set import WeightSet


@dataclass
class LayerWeights:
    input_norm: Tensor
    qkv: Tensor
    qkv_bias: Tensor | None
    query_norm: Tensor | None
    key_norm: Tensor | None
    output: Tensor
    output_bias: Tensor | None
    feed_norm: Tensor
    gate_up: Tensor
    gate_up_bias: Tensor | None
    down: Tensor
    down_bias: Tensor | None


class DecodeWeights:
    """Views of the set's own tensors where possible, so that a step needs no copy; else copies, which `refresh` makes anew."""

    def __init__(self, weights: WeightSet):
        self.weights = weights
        model = weights.model
        self.is_view = model.options.lora is None and weights.group.size == 1
        self.embedding = model.inner.embed_tokens.weight.data
        self.norm = model.inner.norm.weight.data
        self.head = model.head.data
        self.layers = [self._layer(layer) for layer in model.inner.layers]

    @torch.no_grad()
    def refresh(self) -> None:
        """Writes changed weights into the same memory: CUDA graphs go on reading it."""
        if self.is_view:
            return
        for layer, old in zip(self.weights.model.inner.layers, self.layers):
            for name, tensor in vars(self._layer(layer)).items():
                if tensor is not None and tensor.data_ptr() != getattr(old, name).data_ptr():
                    getattr(old, name).copy_(tensor)

    @torch.no_grad()
    def _layer(self, layer: nn.Module) -> LayerWeights:
        attn, mlp = layer.self_attn, layer.mlp
        qkv, gate_up = [attn.q_proj, attn.k_proj, attn.v_proj], [mlp.gate_proj, mlp.up_proj]
        dtype = self.weights.model.options.dtype

        def plain(parameter: Tensor | None) -> Tensor | None:
            return None if parameter is None else whole(parameter).data.to(dtype)

        def norm(name: str) -> Tensor | None:
            module = getattr(attn, name, None)
            return None if module is None else plain(module.weight)

        return LayerWeights(
            input_norm=plain(layer.input_layernorm.weight),
            qkv=self._together(qkv),
            qkv_bias=self._biases(qkv),
            query_norm=norm("q_norm"),
            key_norm=norm("k_norm"),
            output=self._weight(attn.o_proj),
            output_bias=plain(base(attn.o_proj).bias),
            feed_norm=plain(layer.post_attention_layernorm.weight),
            gate_up=self._together(gate_up),
            gate_up_bias=self._biases(gate_up),
            down=self._weight(mlp.down_proj),
            down_bias=plain(base(mlp.down_proj).bias),
        )

    def _together(self, linears: list[nn.Module]) -> Tensor:
        if self.is_view:
            return joined([linear.weight for linear in linears])
        return torch.cat([self._weight(linear) for linear in linears])

    def _biases(self, linears: list[nn.Module]) -> Tensor | None:
        biases = [base(linear).bias for linear in linears]
        if biases[0] is None:
            return None
        if self.is_view:
            return joined(biases)
        return torch.cat([whole(bias).data.to(self.weights.model.options.dtype) for bias in biases])

    def _weight(self, linear: nn.Module) -> Tensor:
        weight = whole(base(linear).weight).data.to(self.weights.model.options.dtype)
        adapter = self.weights.adapter
        if adapter is None or adapter not in getattr(linear, "lora_A", {}):
            return weight
        a, b = whole(linear.lora_A[adapter].weight), whole(linear.lora_B[adapter].weight)
        return (weight.float() + linear.scaling[adapter] * (b.float() @ a.float())).to(weight.dtype)


def base(linear: nn.Module) -> nn.Module:
    return getattr(linear, "base_layer", linear)
