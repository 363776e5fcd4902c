"""A model of any other family: computed by transformers' own forward, in training on rows padded to one length, in sampling with its cache."""

from __future__ import annotations

import contextlib
import inspect

import torch
from torch import Tensor, nn

from .errors import LudusError
from .families import context_of, described, dropouts, parsed, transformers, unsupported
from .model import Model, ModelOptions


class TransformersModel(Model):
    implementation = transformers

    def __init__(self, options: ModelOptions):
        from transformers import AutoModelForCausalLM
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()
        self.options = options
        self.config = trained_config(options.config)
        torch.manual_seed(options.seed)
        with torch.device(options.device):
            self.causal = AutoModelForCausalLM.from_config(self.config, dtype=options.dtype, trust_remote_code=False)
        self.peft = None
        self.causal.eval()
        if options.checkpoint_activations:
            self.causal.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        self.takes_positions = "position_ids" in inspect.signature(self.inner.forward).parameters
        self._check_shape()

    def _check_shape(self) -> None:
        name = described(self.options.config)
        if self.inner is self.causal or self.causal.get_output_embeddings() is None:
            raise unsupported(name, "a body and a head over the vocabulary", "Choose another model.")
        if "past_key_values" not in inspect.signature(self.causal.forward).parameters:
            raise unsupported(f"{name}, whose forward takes no KV cache", "attention with a KV cache", "Choose another model.")

    @property
    def inner(self) -> nn.Module:
        return self.causal.base_model

    @property
    def head(self) -> FamilyHead:
        return FamilyHead(self)

    @property
    def context(self) -> int:
        return context_of(self.options.config, self.config)

    def fuse(self) -> None:
        """Nothing: transformers computes with the projections as they are."""

    def add_adapters(self) -> None:
        super().add_adapters()
        self.causal.eval()

    # -- names of saved tensors

    @property
    def constants(self) -> dict[str, Tensor]:
        """Saved and never trained, such as the biases by which DeepSeek balances its experts."""
        saved = self.causal.state_dict().keys()
        return {name: buffer for name, buffer in self.causal.named_buffers() if name in saved}

    @torch.no_grad()
    def set_constants(self, tensors: dict[str, Tensor]) -> None:
        for name, buffer in self.constants.items():
            if name in tensors:
                # in the precision of the file: transformers too keeps them apart from the dtype that computes
                buffer.data = tensors[name].to(device=buffer.device, copy=True)

    def imported(self, tensors: dict[str, Tensor], where: str) -> dict[str, Tensor]:
        """Transformers renames, joins and splits what it reads: experts, for one, are a tensor each in files and one tensor in the model."""
        kind = type(self.causal)
        with quiet():
            found, report = kind.from_pretrained(
                None, config=parsed(self.options.config), state_dict=tensors, dtype=torch.float32,
                ignore_mismatched_sizes=True, output_loading_info=True,
            )  # fmt: skip
        problems = [f"no {name}" for name in sorted(report["missing_keys"])]
        problems += [f"{name} with shape {list(theirs)}" for name, theirs, *_ in sorted(report["mismatched_keys"])]
        if problems:
            raise LudusError("other-model", f'{", ".join(problems[:3])} in "{where}"', f"the tensors of {kind.__name__}")
        converted = dict(found.named_parameters()) | dict(found.named_buffers())
        return {name: tensor.detach() for name, tensor in converted.items()}

    def exported(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        from transformers.core_model_loading import revert_weight_conversion

        constants = {name: buffer.cpu() for name, buffer in self.constants.items()}
        saved = revert_weight_conversion(self.causal, {**tensors, **constants})
        # experts come as pieces of one tensor, which a safetensors file cannot hold
        return {name: tensor.clone(memory_format=torch.contiguous_format) for name, tensor in saved.items()}

    # -- computing

    def hidden_states(self, tokens: Tensor, positions: Tensor, how: dict) -> Tensor:
        """Rows one after the other, as they came; computed side by side, padded on the right and masked."""
        lengths = torch.tensor(how["lengths"], device=tokens.device)
        padded = nn.utils.rnn.pad_sequence(tokens.split(how["lengths"]), batch_first=True)
        places = torch.arange(padded.shape[1], device=tokens.device).expand_as(padded)
        mask = places < lengths[:, None]
        with self._checkpointing():
            out = self.inner(padded, attention_mask=mask.long(), use_cache=False, **self.at(places))
        return out.last_hidden_state[mask]

    def at(self, positions: Tensor) -> dict[str, Tensor]:
        # families without position ids derive positions from the mask
        return {"position_ids": positions} if self.takes_positions else {}

    @contextlib.contextmanager
    def _checkpointing(self):
        """Only here: with checkpoints, transformers' layers drop the KV cache. Dropout and jitter of routers stay off."""
        from transformers.modeling_layers import GradientCheckpointingLayer

        layers = [m for m in self.causal.modules() if isinstance(m, GradientCheckpointingLayer)]
        wanted = self.options.checkpoint_activations and torch.is_grad_enabled()
        for layer in layers:
            layer.training = wanted
        try:
            yield
        finally:
            for layer in layers:
                layer.training = False

    @torch.no_grad()
    def extend(self, tokens: Tensor, mask: Tensor, positions: Tensor, cache) -> None:
        """Adds tokens to a cache; nothing is predicted."""
        self.inner(tokens, attention_mask=mask, past_key_values=cache, use_cache=True, **self.at(positions))

    @torch.no_grad()
    def next_logits(self, tokens: Tensor, mask: Tensor, positions: Tensor, cache) -> Tensor:
        """`[rows, vocabulary]` after one more token `[rows, 1]` of each row."""
        out = self.causal(tokens, attention_mask=mask, past_key_values=cache, use_cache=True, **self.at(positions))
        return out.logits[:, -1]


@contextlib.contextmanager
def quiet():
    """What transformers would warn of is refused here, in an error."""
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(before)


def trained_config(raw: dict):
    """Without dropout, and without the outputs of routers, which only a loss of transformers' own would use."""
    config = parsed(raw)
    for name in dropouts(config):
        setattr(config, name, 0.0)
    if getattr(config, "output_router_logits", False):
        config.output_router_logits = False
    return config


def known_states(states: Tensor):
    """What the body would have returned; attentions, experts and the like, of which families have different ones, are None."""
    from transformers.modeling_outputs import BaseModelOutputWithPast

    class KnownStates(BaseModelOutputWithPast):
        def __getattr__(self, name: str) -> None:
            if name.startswith("__"):
                raise AttributeError(name)

    return KnownStates(last_hidden_state=states)


class FamilyHead:
    """From states to logits in the family's own way: bias, scale, soft cap. Stands where the own path has the weight of `lm_head`.

    Its parameters get their gradients from autograd, so nobody else computes one for it.
    """

    requires_grad = False

    def __init__(self, model: TransformersModel):
        self.model = model

    def detach(self) -> FamilyHead:
        return self

    @property
    def vocabulary(self) -> int:
        return self.model.config.vocab_size

    def __call__(self, states: Tensor) -> Tensor:
        """`[n, width]` to `[n, vocabulary]`: transformers' forward of the whole model, with these states in place of the body's."""
        inner, causal = self.model.inner, self.model.causal
        known = known_states(states[None])
        inner.forward = lambda *_, **__: known
        try:
            unread = torch.zeros(1, states.shape[0], dtype=torch.long, device=states.device)
            return causal(unread, use_cache=False).logits[0]
        finally:
            del inner.forward
