"""One process, or several under torchrun: layers sharded with FSDP2, the rest the same everywhere."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.tensor import DTensor


def local(tensor: Tensor) -> Tensor:
    """The part of a sharded tensor that this process holds."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def whole(tensor: Tensor) -> Tensor:
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


class Group:
    """The processes that compute together."""

    def __init__(self) -> None:
        self.size = int(os.environ.get("WORLD_SIZE", "1"))
        self.rank = int(os.environ.get("RANK", "0"))
        if self.size > 1 and not dist.is_initialized():
            dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")

    def shard_layers(self, layers: nn.ModuleList, device: torch.device, dtype: torch.dtype) -> None:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

        mesh = init_device_mesh(device.type, (self.size,))
        # float32 shards are the master weights; each layer is gathered in the dtype that computes
        policy = MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=torch.float32)
        for layer in layers:
            # said outright: a layer left gathered would go on with old weights after a step or a load
            fully_shard(layer, mesh=mesh, mp_policy=policy, reshard_after_forward=True)

    def sum_everywhere(self, tensor: Tensor) -> Tensor:
        if self.size > 1:
            dist.all_reduce(tensor)
        return tensor

    def own_sum(self, gradient: Tensor) -> Tensor:
        """This process' part of a gradient; FSDP averages over the processes, and we want the sum."""
        return gradient.to_local() * self.size if isinstance(gradient, DTensor) else gradient

    def gradient_norm(
        self, gradients: dict[str, Tensor], parameters: dict[str, nn.Parameter], square_sum: Callable[[list[Tensor]], Tensor]
    ) -> float:
        """Sums what is not sharded over the processes, and gives the global norm."""
        first = next(iter(gradients.values()))
        lists: dict[bool, list[Tensor]] = {True: [], False: []}
        for name, gradient in gradients.items():
            sharded = isinstance(parameters[name], DTensor)
            if not sharded:
                self.sum_everywhere(gradient)
            lists[sharded].append(gradient)
        zero = torch.zeros((), dtype=torch.float64, device=first.device)
        squares = {sharded: square_sum(some) if some else zero.clone() for sharded, some in lists.items()}
        return (self.sum_everywhere(squares[True]) + squares[False]).sqrt().item()

    def gathered(self, part: Tensor, like: Tensor) -> Tensor:
        """The whole of which every process holds such a part."""
        if not isinstance(like, DTensor):
            return part
        spread = DTensor.from_local(part, like.device_mesh, like.placements, shape=like.shape, stride=like.stride())
        return spread.full_tensor()

    def shard(self, tensor: Tensor, like: Tensor) -> Tensor:
        """This process' part of a whole, cut as `like` is."""
        if not isinstance(like, DTensor):
            return tensor
        pieces = torch.chunk(tensor, self.size, 0)
        return pieces[self.rank] if self.rank < len(pieces) else tensor[:0]

    def share(self, secret: str) -> str:
        """The first process' value, everywhere."""
        values = [secret]
        dist.broadcast_object_list(values, device=torch.device("cpu"))
        return values[0]

    def gather(self, value: str) -> list[str]:
        if self.size == 1:
            return [value]
        values = [""] * self.size
        dist.all_gather_object(values, value)
        return values

    def own_host(self) -> str:
        """Loopback where all processes are on one machine."""
        if int(os.environ.get("LOCAL_WORLD_SIZE", "1")) == self.size:
            return "127.0.0.1"
        return socket.gethostbyname(socket.gethostname())

    def barrier(self) -> None:
        if self.size > 1:
            dist.barrier()
