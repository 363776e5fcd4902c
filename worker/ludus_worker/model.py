"""The transformer that is trained: transformers' own modules with our attention, in whole or under PEFT's adapters."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from . import attention
from .errors import LudusError
from .families import check_family, family_differences, implementation_of, own, parsed
from .model_file import check_sizes, read_json


@dataclass
class Lora:
    rank: int
    alpha: float
    targets: list[str] = field(default_factory=list)


@dataclass
class ModelOptions:
    config: dict
    device: torch.device
    dtype: torch.dtype
    seed: int = 0
    lora: Lora | None = None
    checkpoint_activations: bool = False
    compile: bool = False


def read_config(folder: str) -> dict:
    path = Path(folder) / "config.json"
    if not path.exists():
        raise LudusError(
            "checkpoint-not-found",
            f'"{folder}"',
            "a folder with config.json and model.safetensors, where the worker runs",
            "A folder written by save() or by transformers' save_pretrained().",
        )
    return read_json(path)


def check_config(raw: dict) -> None:
    def refuse(what: str, expected: str) -> None:
        raise LudusError("unsupported-model", f"{what} = {json.dumps(raw.get(what))[:200]}", expected)

    if implementation_of(raw) != own:
        check_family(raw)
        return
    check_sizes(raw)
    rope = raw.get("rope_scaling") or raw.get("rope_parameters") or {}
    if (rope.get("rope_type") or rope.get("type")) == "longrope":
        original = rope.get("original_max_position_embeddings") or raw.get("original_max_position_embeddings")
        # what was sampled before the frequencies change would have another log-probability in training
        if original is None or raw.get("max_position_embeddings", original + 1) > original:
            expected = f"at most original_max_position_embeddings, {original}: longrope changes its frequencies beyond it"
            refuse("max_position_embeddings", expected)
    if raw.get("attention_dropout"):
        refuse("attention_dropout", "0: Ludus trains without dropout")


#: What a model computes depends on these. Token ids, dropout and the like may differ.
model_fields = (
    "vocab_size",
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "attention_bias",
    "mlp_bias",
    "rms_norm_eps",
    "max_position_embeddings",
    "tie_word_embeddings",
    "rope_parameters",
)


def differences(found: dict, wanted: dict) -> list[str]:
    """The fields in which two models differ, whichever version of transformers wrote their config.json."""
    if found.get("model_type") != wanted.get("model_type"):
        return ["model_type"]
    if implementation_of(wanted) != own:
        return family_differences(found, wanted)
    theirs, ours = parsed(found), parsed(wanted)
    return [name for name in model_fields if getattr(theirs, name, None) != getattr(ours, name, None)]


class Model:
    """One module with weights of its own; with LoRA, the frozen base that all adapters share."""

    #: Whose code computes it, as in `engine.info`.
    implementation = own

    def __init__(self, options: ModelOptions):
        from transformers import AutoModelForCausalLM

        self.options = options
        self.config = parsed(options.config)
        attention.register()
        with torch.device(options.device):
            self.causal = AutoModelForCausalLM.from_config(
                self.config, attn_implementation=attention.name, dtype=options.dtype
            )
        self.causal.train()
        self.peft = None
        if options.checkpoint_activations:
            self.causal.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        if options.compile:
            for layer in self.inner.layers:
                layer.compile()

    @property
    def inner(self) -> nn.Module:
        return self.causal.model

    @property
    def head(self) -> nn.Parameter:
        return self.causal.lm_head.weight

    @property
    def head_name(self) -> str:
        return "model.embed_tokens.weight" if self.config.tie_word_embeddings else "lm_head.weight"

    @property
    def head_width(self) -> int:
        return getattr(self.config, "head_dim", None) or self.config.hidden_size // self.config.num_attention_heads

    @property
    def context(self) -> int:
        return self.config.max_position_embeddings

    def hidden_states(self, tokens: Tensor, positions: Tensor, how: dict) -> Tensor:
        """`[tokens, width]` of packed rows; `how` tells attention where each begins."""
        return self.inner(input_ids=tokens[None], position_ids=positions[None], use_cache=False, **how).last_hidden_state[0]

    def imported(self, tensors: dict[str, Tensor], where: str) -> dict[str, Tensor]:
        """Tensors of model.safetensors under the names of `parameters()`."""
        return tensors

    def exported(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """The other way round."""
        return tensors

    @property
    def constants(self) -> dict[str, Tensor]:
        """Saved and never trained: nothing in the families of the own path."""
        return {}

    def set_constants(self, tensors: dict[str, Tensor]) -> None:
        """Takes them from among the tensors of a folder."""

    def parameters(self) -> dict[str, nn.Parameter]:
        """Under their Hugging Face names, without what is tied."""
        return dict(self.causal.named_parameters())

    def fuse(self) -> None:
        """Puts the weights of joint projections into one tensor, of which the modules then hold views: decoding needs no copy."""
        for layer in self.inner.layers:
            attn, mlp = layer.self_attn, layer.mlp
            join([attn.q_proj, attn.k_proj, attn.v_proj])
            join([mlp.gate_proj, mlp.up_proj])

    def add_adapters(self) -> None:
        from peft import LoraConfig, get_peft_model

        lora = self.options.lora
        torch.manual_seed(self.options.seed)
        self.lora_config = LoraConfig(
            r=lora.rank,
            lora_alpha=lora.alpha,
            lora_dropout=0.0,
            target_modules=lora.targets or "all-linear",
            task_type="CAUSAL_LM",
        )
        self.peft = get_peft_model(self.causal, self.lora_config, autocast_adapter_dtype=False)
        self.adapter_count = 1

    def new_adapter(self) -> str:
        name = f"set{self.adapter_count}"
        self.adapter_count += 1
        self.peft.add_adapter(name, self.lora_config)
        return name

    def adapter_parameters(self, adapter: str) -> dict[str, nn.Parameter]:
        """Under the names that PEFT saves them by."""
        part = f".{adapter}."
        return {
            name.replace(part, "."): parameter
            for name, parameter in self.peft.named_parameters()
            if part in name and "lora_" in name
        }

    def activate(self, adapter: str | None) -> None:
        if self.peft is None:
            return
        if adapter is None:
            self.peft.base_model.disable_adapter_layers()
        else:
            self.peft.base_model.enable_adapter_layers()
            self.peft.set_adapter(adapter)


@torch.no_grad()
def join(linears: list[nn.Linear]) -> None:
    for part in ("weight", "bias"):
        parameters = [getattr(linear, part) for linear in linears]
        if parameters[0] is None:
            continue
        together = torch.cat([parameter.data for parameter in parameters])
        for parameter, piece in zip(parameters, together.split([p.shape[0] for p in parameters])):
            parameter.data = piece


def joined(parameters: list[Tensor]) -> Tensor:
    """The tensor that `join` made, from its pieces."""
    first = parameters[0]
    rows = sum(p.shape[0] for p in parameters)
    return first.data.as_strided((rows, *first.shape[1:]), first.stride())
