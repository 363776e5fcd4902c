"""Named weights: the policy, its frozen snapshots, further trainable sets; each with gradient and optimizer of its own."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from . import multi_tensor
from .distributed import Group, local
from .errors import LudusError
from .model import Model

value_head_name = "value_head.weight"


@dataclass
class StepOptions:
    learning_rate: float
    weight_decay: float = 0.0
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    max_gradient_norm: float | None = None


class WeightSet:
    def __init__(self, name: str, model: Model, group: Group, *, adapter: str | None, value_head: bool, trainable: bool):
        self.name, self.model, self.group, self.adapter, self.trainable = name, model, group, adapter, trainable
        self.version = 0
        self.steps = 0
        width, device = model.config.hidden_size, model.options.device
        self.value = nn.Parameter(torch.zeros(1, width, device=device)) if value_head else None
        if model.options.lora is None:
            self.parameters = model.parameters()
        else:
            self.parameters = model.adapter_parameters(adapter) if adapter is not None else {}
            for parameter in self.parameters.values():
                parameter.data = parameter.data.to(model.options.dtype)
        if self.value is not None:
            self.parameters[value_head_name] = self.value
        for parameter in self.parameters.values():
            parameter.requires_grad_(trainable)
        #: Of this process, float32: the parameter itself where it is float32 already, or never trained.
        self.masters = {
            name: values if values.dtype == torch.float32 or not trainable else values.float()
            for name, values in ((name, local(p).data) for name, p in self.parameters.items())
        }
        #: As autograd gave them after one pack, float32 once there are sums.
        self.gradients: dict[str, Tensor] | None = None
        self.optimizer: torch.optim.AdamW | None = None
        computed = [local(p).data for p in self.parameters.values()]
        #: Kernels over all tensors at once, or PyTorch's functions.
        self.fused = trainable and multi_tensor.kernels_work(device) and multi_tensor.usable([*computed, *self.masters.values()])

    def activate(self) -> None:
        self.model.activate(self.adapter)
        if self.adapter is not None:
            for parameter in self.parameters.values():
                parameter.requires_grad_(self.trainable)

    @torch.no_grad()
    def copy_from(self, other: WeightSet) -> None:
        for name, master in self.masters.items():
            # an adapter that is off has no tensors: the copy stays as PEFT makes it, which changes nothing
            if name in other.masters:
                master.copy_(other.masters[name])
        self.write_parameters()
        self.version = other.version

    @torch.no_grad()
    def write_parameters(self) -> None:
        """Rounds the float32 weights into those that compute, where they differ."""
        pairs = [(local(self.parameters[name]).data, master) for name, master in self.masters.items()]
        pairs = [(parameter, master) for parameter, master in pairs if parameter.data_ptr() != master.data_ptr()]
        if pairs:
            torch._foreach_copy_([p for p, _ in pairs], [m for _, m in pairs])

    @torch.no_grad()
    def fold(self, extra: dict[str, Tensor]) -> None:
        """Adds the gradient of one pack, which is complete, to what has accumulated: sums are float32."""
        self._add(self._merged(extra, self._taken()))

    @torch.no_grad()
    def fold_copies(self, of_head: dict[str, Tensor], of_body: dict[str, Tensor]) -> None:
        """The same with tensors that are somebody else's and will be written again."""
        parts, known = self._merged(of_head, of_body), self.gradients or {}
        new = {name: tensor for name, tensor in parts.items() if name not in known}
        copies = [torch.empty_like(tensor) for tensor in new.values()]
        if copies:
            torch._foreach_copy_(copies, list(new.values()))
        self._add(parts | dict(zip(new, copies)))

    @property
    def _arithmetic(self) -> multi_tensor.Kernels | multi_tensor.Plain:
        return multi_tensor.Kernels() if self.fused else multi_tensor.Plain()

    def _merged(self, of_head: dict[str, Tensor], of_body: dict[str, Tensor]) -> dict[str, Tensor]:
        """A head that is also the embedding has a part in both. Sums take the place of the head's."""
        shared = [name for name in of_head if name in of_body]
        sums = self._arithmetic.add([of_head[name] for name in shared], [of_body[name] for name in shared]) if shared else []
        return of_head | of_body | dict(zip(shared, sums))

    def _add(self, parts: dict[str, Tensor]) -> None:
        """All at once: memory is taken before anything is added, so that a pack that does not fit leaves no part of it."""
        gradients = self.gradients if self.gradients is not None else {}
        arithmetic = self._arithmetic
        known = [name for name in parts if name in gradients]
        sums = arithmetic.add([gradients[name] for name in known], [parts[name] for name in known])
        self.gradients = gradients | parts | dict(zip(known, sums))

    def _taken(self) -> dict[str, Tensor]:
        """What autograd left at the parameters, which then have none."""
        taken = {name: self.group.own_sum(p.grad) for name, p in self.parameters.items() if p.grad is not None}
        self.drop_partial()
        return taken

    def drop_partial(self) -> None:
        for parameter in self.parameters.values():
            parameter.grad = None

    def check_trainable(self) -> None:
        if not self.trainable:
            raise LudusError(
                "frozen-weights",
                f'training of "{self.name}"',
                "trainable weights",
                "Make them with snapshot(name, { trainable: true }).",
            )

    @torch.no_grad()
    def step(self, options: StepOptions) -> tuple[float, bool, bool]:
        """Norm before clipping, whether it was applied, whether it was clipped."""
        self.check_trainable()
        if self.gradients is None:
            raise LudusError(
                "no-gradient",
                "a step without a gradient",
                "at least one backward() with a non-zero derivative since the last step",
                "Skip the step when every advantage is zero.",
            )
        gradients = {
            name: self.gradients[name] if name in self.gradients else torch.zeros_like(master)
            for name, master in self.masters.items()
        }
        if self.group.size > 1:
            gradients = {name: gradient.float() for name, gradient in gradients.items()}  # they are summed over the processes
        self.gradients = None
        arithmetic = multi_tensor.Kernels() if self.fused else multi_tensor.Plain()
        norm = self.group.gradient_norm(gradients, self.parameters, arithmetic.square_sum)
        if norm != norm or norm == float("inf"):
            return norm, False, False
        limit = options.max_gradient_norm
        clipped = limit is not None and norm > limit
        (self._apply_fused if self.fused else self._apply)(options, gradients, limit / (norm + 1e-6) if clipped else 1.0)
        self.steps += 1
        self.version += 1
        return norm, True, clipped

    def _apply(self, options: StepOptions, gradients: dict[str, Tensor], scale: float) -> None:
        gradients = {name: gradient.float() for name, gradient in gradients.items()}
        if scale != 1:
            torch._foreach_mul_(list(gradients.values()), scale)
        optimizer = self.prepared_optimizer()
        for parameters in optimizer.param_groups:
            decay = options.weight_decay if parameters["decays"] else 0.0
            parameters.update(lr=options.learning_rate, weight_decay=decay, eps=options.epsilon)
            parameters["betas"] = (options.beta1, options.beta2)
        for name, master in self.masters.items():
            master.grad = gradients[name]
        optimizer.step()
        for master in self.masters.values():
            master.grad = None
        self.write_parameters()

    def _apply_fused(self, options: StepOptions, gradients: dict[str, Tensor], scale: float) -> None:
        """Clips, steps and writes the parameters in one launch."""
        states = self.prepared_optimizer().state
        masters = list(self.masters.values())
        step = multi_tensor.AdamWStep(
            options.learning_rate, options.weight_decay, options.beta1, options.beta2, options.epsilon, self.steps + 1, scale
        )
        multi_tensor.adamw(
            step,
            masters,
            [gradients[name] for name in self.masters],
            [states[master]["exp_avg"] for master in masters],
            [states[master]["exp_avg_sq"] for master in masters],
            [local(self.parameters[name]).data for name in self.masters],
        )

    def prepared_optimizer(self) -> torch.optim.AdamW:
        if self.optimizer is None:
            # decoupled decay touches matrices only; a shard of a matrix has as many axes as the matrix
            matrices = [m for m in self.masters.values() if m.dim() > 1]
            others = [m for m in self.masters.values() if m.dim() <= 1]
            groups = [{"params": matrices, "decays": True}, {"params": others, "decays": False}]
            is_cuda = self.model.options.device.type == "cuda"
            self.optimizer = torch.optim.AdamW([g for g in groups if g["params"]], lr=0.0, fused=is_cuda or None)
            for master in self.masters.values():
                self.optimizer.state[master] = {
                    "step": torch.tensor(float(self.steps), device=master.device if is_cuda else "cpu"),
                    "exp_avg": torch.zeros_like(master),
                    "exp_avg_sq": torch.zeros_like(master),
                }
        return self.optimizer

    def moments(self, which: str) -> dict[str, Tensor]:
        """`exp_avg` or `exp_avg_sq`, of this process."""
        if self.optimizer is None:
            return {name: torch.zeros_like(master) for name, master in self.masters.items()}
        return {name: self.optimizer.state[master][which] for name, master in self.masters.items()}

    @torch.no_grad()
    def restore(self, version: int, steps: int | None, weights: dict, first: dict | None, second: dict | None) -> None:
        for name, master in self.masters.items():
            if name in weights:
                master.copy_(self.group.shard(weights[name], self.parameters[name]))
            else:
                master.zero_()  # a model made by others has no value head yet
        self.write_parameters()
        self.model.set_constants(weights)
        self.version, self.steps, self.gradients, self.optimizer = version, steps or 0, None, None
        if steps:
            states = self.prepared_optimizer().state
            for name, master in self.masters.items():
                for which, loaded in (("exp_avg", first), ("exp_avg_sq", second)):
                    states[master][which].copy_(self.group.shard(loaded[name], self.parameters[name]))
