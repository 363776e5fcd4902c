"""Everything behind the service: named weights, training, sampling, checkpoints. Runs on one thread."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch

from . import checkpoint, shared_weights
from .active_request import ActiveRequest, Request
from .attention import choose as choose_attention
from .cache import SlotCache
from .checkpoint import policy
from .decode_weights import DecodeWeights
from .decoder import Decoder
from .distributed import Group
from .draws import initialise
from .errors import LudusError, unknown_weights
from .families import described, implementation_of, own
from .head import Head
from .head_kernels import kernels_work as head_kernels_work
from .model import Lora, Model, ModelOptions, check_config, differences, read_config
from .packing import TokenBatch, default_budget
from .sampler import Sampler
from .training import Trainer
from .transformers_check import check_numbers
from .transformers_head import AutogradHead
from .transformers_model import TransformersModel
from .transformers_sampler import TransformersSampler
from .weight_set import StepOptions, WeightSet

log = logging.getLogger("ludus")


@dataclass
class EngineOptions:
    config: dict | None = None
    folder: str = ""
    value_head: bool | None = None
    seed: int = 0
    device: str = ""
    dtype: str = ""
    threads: int = 0
    lora: Lora | None = None
    checkpoint_activations: bool = False
    compile: bool | None = None
    micro_batch_tokens: int = 0
    max_rows: int = 0
    max_cache_bytes: int = 0
    tokenizer_files: dict[str, str] = field(default_factory=dict)
    token_bytes: list[bytes] | None = None
    #: For tests: read results one step late on the CPU too, as on a GPU.
    run_ahead: bool | None = None
    attention: str = "auto"


def choose_device(name: str) -> torch.device:
    if name == "":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    device = torch.device(name)
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise LudusError("no-device", f'device "{name}"', "a machine with a CUDA GPU", 'Use device: "cpu".')
        index = int(os.environ.get("LOCAL_RANK", "0")) if device.index is None else device.index
        device = torch.device("cuda", index)
        torch.cuda.set_device(device)
        # cuDNN builds a plan for every new shape of masked attention, and prompts of agents have a new shape each time
        torch.backends.cuda.enable_cudnn_sdp(False)
    return device


class Engine:
    def __init__(self, options: EngineOptions):
        self.options = options
        self.raw_config = read_config(options.folder) if options.config is None else options.config
        check_config(self.raw_config)
        if options.threads > 0:
            torch.set_num_threads(options.threads)
        # some containers turn TF32 on by an environment variable, and then float32 has ten bits
        torch.set_float32_matmul_precision("highest")
        self.device = choose_device(options.device)
        is_cuda = self.device.type == "cuda"
        self.dtype = getattr(torch, options.dtype or ("bfloat16" if is_cuda else "float32"))
        self.compile = is_cuda if options.compile is None else options.compile
        self.group = Group()
        saved = checkpoint.read_state(options.folder) if options.folder else None
        self.has_values = bool(saved and saved["valueHead"]) if options.value_head is None else options.value_head
        self.sets: dict[str, WeightSet] = {}
        self.decode_weights: dict[str, DecodeWeights] = {}
        self.exporter: shared_weights.Exporter | None = None
        self.implementation = implementation_of(self.raw_config)
        first = self._open_policy()
        self.vocabulary, self.context = first.model.config.vocab_size, first.model.context
        if self.implementation == own:
            self._use_own(first)
        else:
            self._use_transformers(first.model)

    def _use_own(self, first: WeightSet) -> None:
        model, options, is_cuda = first.model, self.options, self.device.type == "cuda"
        config = model.config
        heads = (config.num_attention_heads, config.num_key_value_heads)
        ways = choose_attention(self.device, self.dtype, model.head_width, *heads)
        budget = options.micro_batch_tokens or self._pack_tokens(first)
        head = Head(self.compile, fused=head_kernels_work(self.device, self.dtype))
        records = not options.checkpoint_activations and options.lora is None
        self.trainer = Trainer(self.group, self.device, budget, head, ways, records_passes=records)
        decoder = Decoder(model, compile=self.compile, graphs=is_cuda, attention=options.attention)
        cache = SlotCache(
            config.num_hidden_layers, heads[1], model.head_width, self.device, self.dtype, self._cache_bytes()
        )
        ahead = is_cuda if options.run_ahead is None else options.run_ahead
        self.sampler = Sampler(decoder, cache, self._decode_weights, self.context, options.max_rows or 512, ahead)

    def _use_transformers(self, model: TransformersModel) -> None:
        log.info("%s is computed by transformers: slower than the families that Ludus computes itself", type(model.causal).__name__)
        budget = self.options.micro_batch_tokens or (1 << 14 if self.device.type == "cuda" else 1 << 12)
        self.trainer = Trainer(self.group, self.device, budget, AutogradHead(), ("rows", "rows"), padded=True)
        sizes = (self.context, self.options.max_rows or 512, self._cache_bytes(), check_numbers(model))
        self.sampler = TransformersSampler(lambda name: self.sets.get(name), self.device, *sizes)

    def _cache_bytes(self) -> int:
        if self.options.max_cache_bytes > 0:
            return self.options.max_cache_bytes
        if self.device.type == "cuda":
            return int(0.3 * torch.cuda.mem_get_info(self.device)[0])
        return 1 << 31

    def _pack_tokens(self, weights: WeightSet) -> int:
        if self.device.type != "cuda":
            return 1 << 12
        # moments, gradients and their sums are still to come, and the head's logits
        to_come = 16 * sum(p.numel() for p in weights.masters.values()) + (4 << 30)
        free = torch.cuda.mem_get_info(self.device)[0] - self._cache_bytes() - to_come
        model = weights.model
        checkpointed = self.options.checkpoint_activations
        return default_budget(model.config, model.head_width, self.dtype.itemsize, free=free, is_checkpointed=checkpointed)

    # -- weights

    def _model(self) -> Model:
        options = self.options
        sharded = self.group.size > 1
        kind = Model if self.implementation == own else TransformersModel
        if sharded and kind is TransformersModel:
            raise LudusError(
                "unsupported-model", f"{self.group.size} processes for {described(self.raw_config)}",
                "one process: only Llama, Qwen2 and Qwen3 are sharded",
                "Leave `processes` out. `lora` and `checkpointActivations` need less memory.",
            )  # fmt: skip
        model = kind(
            ModelOptions(
                config=self.raw_config,
                device=self.device,
                dtype=self.dtype,
                seed=options.seed,
                lora=options.lora,
                checkpoint_activations=options.checkpoint_activations,
                compile=self.compile and not sharded,
            )
        )
        if policy in self.sets:
            model.set_constants(self.sets[policy].model.constants)
        return model

    def _finish_model(self, model: Model) -> None:
        """Once its weights are there: adapters, then one tensor for joint projections or shards."""
        if self.options.lora is not None:
            model.add_adapters()
        if self.group.size > 1:
            model.inner.layers.float()
            self.group.shard_layers(model.inner.layers, self.device, self.dtype)
        elif self.options.lora is None:
            model.fuse()

    def _open_policy(self) -> WeightSet:
        options = self.options
        model = self._model()
        base = {name: parameter.data for name, parameter in model.parameters().items()}
        is_fresh = options.folder == ""
        if is_fresh and self.implementation == own:
            initialise(list(base.items()), self.raw_config.get("initializer_range", 0.02), options.seed)
        elif not is_fresh and options.lora is not None:
            saved = model.imported(checkpoint.read_weights(options.folder, policy, lora=False), options.folder)
            model.set_constants(saved)
            for name, tensor in saved.items():
                if name in base:
                    base[name].copy_(tensor)
        self._finish_model(model)
        adapter = None if options.lora is None else "default"
        first = WeightSet(policy, model, self.group, adapter=adapter, value_head=self.has_values, trainable=True)
        self.sets[policy] = first
        if self.group.size > 1:
            self._decode_weights(policy)
        if not is_fresh and options.lora is None:
            self._restore(options.folder)
        return first

    def _make_set(self, name: str, *, trainable: bool, with_adapter: bool) -> WeightSet:
        model = self.sets[policy].model
        adapter = None
        if self.options.lora is None:
            model = self._model()
            self._finish_model(model)
        elif with_adapter:
            adapter = model.new_adapter()
        return WeightSet(name, model, self.group, adapter=adapter, value_head=self.has_values, trainable=trainable)

    def _keep(self, weights: WeightSet) -> None:
        self._forget(weights.name)
        self.sets[weights.name] = weights
        if self.group.size > 1:
            # gathering weights takes all processes, so it is not left to the first sample
            self._decode_weights(weights.name)

    def _restore(self, directory: str, fresh_optimizer: bool = False) -> None:
        """Reads and checks everything before anything is replaced."""
        saved = checkpoint.read_sets(directory, self.sets[policy], fresh_optimizer)
        names = [part.name for part in saved]
        for name in [name for name in self.sets if name not in names]:
            self._forget(name)
        for part in saved:
            known = self.sets.get(part.name)
            if known is None or known.trainable != part.trainable or (known.adapter is not None) != part.has_adapter:
                known = self._make_set(part.name, trainable=part.trainable, with_adapter=part.has_adapter)
                self._keep(known)
            known.restore(part.version, part.steps, part.weights, part.first_moments, part.second_moments)
        if shared_weights.is_in(directory):
            # the trainer goes on once it is told that they were loaded
            shared_weights.finish(self.device)
        # in the order they were saved
        self.sets = {name: self.sets[name] for name in names}

    def _set(self, name: str) -> WeightSet:
        found = self.sets.get(name or policy)
        if found is None:
            raise unknown_weights(name, list(self.sets))
        return found

    def _forget(self, name: str) -> None:
        weights = self.sets.pop(name, None)
        if weights is None:
            return
        self.trainer.forget(weights)
        self.sampler.weights_gone(name)
        known = self.decode_weights.pop(name, None)
        if known is not None:
            self.sampler.decoder.forget(known)

    def _changed(self, name: str) -> None:
        self.trainer.drop_graphs(self.sets[name])
        self.sampler.weights_changed(name)
        if name in self.decode_weights:
            self.decode_weights[name].refresh()

    def _decode_weights(self, name: str) -> tuple[DecodeWeights, int] | None:
        weights = self.sets.get(name)
        if weights is None:
            return None
        if name not in self.decode_weights:
            self.decode_weights[name] = DecodeWeights(weights)
        return self.decode_weights[name], weights.version

    # -- what the service asks for

    @property
    def policy_version(self) -> int:
        return self.sets[policy].version

    @cached_property
    def parameters(self) -> int:
        """Counted once: every reply carries it, and a walk over all tensors took a tenth of a step of short rollouts."""
        value = self.sets[policy].value
        return sum(p.numel() for p in self.sets[policy].model.causal.parameters()) + (0 if value is None else value.numel())

    def sample(self, request: Request, finish, is_checked: bool = False) -> ActiveRequest:
        """Queues a request; `finish` gets it when it is complete, or an error."""
        if not is_checked:
            self._check_tokens(np.asarray(request.tokens))
        self._set(request.weights)
        active = ActiveRequest(request, finish, None if self.options.token_bytes is None else self._token_bytes)
        self.sampler.add(active)
        return active

    def can_read(self, tokens: np.ndarray) -> bool:
        return tokens.size == 0 or (tokens.min() >= 0 and tokens.max() < self.vocabulary)

    def _token_bytes(self, token: int) -> bytes:
        known = self.options.token_bytes
        return known[token] if token < len(known) else b""

    def forward(self, id: int, rows: TokenBatch, weights: str, temperature: float, alternatives: int, deferred: bool):
        self._check_tokens(rows.tokens)
        if rows.candidates is not None:
            self._check_tokens(rows.candidates)
        return self.trainer.forward(id, rows, self._set(weights), temperature, alternatives, deferred)

    def backward(self, id: int, derivatives: dict[str, np.ndarray | None]) -> None:
        self.trainer.backward(id, derivatives)

    def step(self, weights: str, options: StepOptions) -> tuple[float, bool, bool]:
        found = self._set(weights)
        self.sampler.drain()
        report = found.step(options)
        if report[1]:
            self._changed(found.name)
        return report

    def snapshot(self, name: str, source: str, trainable: bool) -> None:
        if name == policy or (source or policy) not in self.sets:
            raise LudusError(
                "bad-snapshot",
                f'a snapshot "{name}" of "{source or policy}"',
                f"a new name, and a source among {', '.join(self.sets)}",
            )
        origin = self.sets[source or policy]
        # the frozen copy of an adapter that was never trained is the base with adapters off
        with_adapter = trainable or (origin.adapter is not None and origin.steps > 0)
        copy = self._make_set(name, trainable=trainable, with_adapter=with_adapter)
        copy.copy_from(origin)
        self._keep(copy)

    def release(self, weights: str, rollout: str, forwards: list[int]) -> None:
        if weights == policy:
            raise LudusError("bad-release", "the policy", "a snapshot", "close() ends the engine.")
        if rollout:
            self.sampler.release(rollout)
        if weights:
            self._forget(weights)
        self.trainer.release(forwards)

    def save(self, directory: str, adapter_only: bool, weights_only: bool = False, shared: bool = False) -> None:
        sets = list(self.sets.values())
        if not adapter_only:
            kept = sets[:1] if weights_only else sets
            known = (directory, self.raw_config, self.options.tokenizer_files, kept, not weights_only)
            checkpoint.save(*known, self._exporter() if shared and weights_only else None)
            return
        if self.options.lora is None:
            raise LudusError("no-adapter", "full weights", "an engine made with `lora`")
        folder = checkpoint.Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        whole = checkpoint.gathered(sets[0], sets[0].masters)
        if self.group.rank == 0:
            checkpoint.write_adapter(folder, sets[0], whole)

    def _exporter(self) -> shared_weights.Exporter | None:
        """None where tensors have to be written: not on a GPU, several processes, adapters, or names that differ from the folder's."""
        can_share = self.device.type == "cuda" and self.group.size == 1 and self.options.lora is None
        if can_share and self.implementation == own and self.exporter is None:
            self.exporter = shared_weights.Exporter()
        return self.exporter

    def load(self, directory: str, fresh_optimizer: bool = False) -> None:
        different = differences(read_config(directory), self.raw_config)
        if different:
            raise LudusError(
                "other-model",
                f'a model in "{directory}" that differs in {", ".join(different)}',
                "the model this engine was made with",
                "Make a new engine with torch({ folder }).",
            )
        self.sampler.drain()
        self._restore(directory, fresh_optimizer)
        for name in self.sets:
            self._changed(name)

    def _check_tokens(self, tokens: np.ndarray) -> None:
        # an index out of range on a GPU ends the process
        if not self.can_read(tokens):
            bad = next(int(t) for t in tokens.ravel() if not 0 <= t < self.vocabulary)
            raise LudusError(
                "token-out-of-range", f"token {bad}", f"a whole number from 0 to {self.vocabulary - 1}"
            )
