"""Weights for another worker of the same machine, in GPU memory (CUDA IPC). The folder of such a policy has, in place of tensors, a file
that says where they are."""

from __future__ import annotations

import base64
import math
import uuid
from pathlib import Path

import torch
from torch import Tensor
from torch.multiprocessing.reductions import rebuild_cuda_tensor, reduce_tensor

from .errors import LudusError
from .model_file import read_json

file_name = "shared.json"
#: Of what `rebuild_cuda_tensor` takes, after the tensor's own shape: what is known to the process that has the memory.
parts = ("handle", "size", "offset", "ref_counter", "ref_counter_offset", "event", "event_sync")


class Exporter:
    """A copy of the policy in one piece of memory, at the same place as long as the engine lives. It is a copy because a sampler that was
    away may read while the weights change: only `publish` writes it, and whoever publishes waits for those who read."""

    def __init__(self, share=None) -> None:
        self.id = uuid.uuid4().hex
        self.share = share or share_on_cuda
        self.flat: Tensor | None = None
        self.memory: dict = {}

    @torch.no_grad()
    def publish(self, tensors: dict[str, Tensor]) -> dict:
        places, total = {}, 0
        for name, tensor in tensors.items():
            places[name] = {"at": total, "shape": list(tensor.shape)}
            total += tensor.numel()
        device = next(iter(tensors.values())).device
        if self.flat is None:
            self.flat = torch.empty(total, dtype=torch.float32, device=device)
            self.memory = self.share(self.flat)
        views = views_of(self.flat, places)
        torch._foreach_copy_([views[name] for name in tensors], list(tensors.values()))
        finish(device)
        return {"format": 1, "id": self.id, "total": total, "tensors": places, "memory": self.memory}


def is_in(directory: str) -> bool:
    return (Path(directory) / file_name).exists()


#: The last that was opened: opening takes longer than copying a small model.
opened: dict[str, Tensor] = {}


def read(directory: str, open_memory=None) -> dict[str, Tensor]:
    """Tensors as they are in the other process, which must not change them before they were copied."""
    path = Path(directory) / file_name
    found = read_json(path)
    try:
        key, total, places = str(found["id"]), int(found["total"]), found["tensors"]
        inside = [0 <= place["at"] and place["at"] + math.prod(place["shape"]) <= total for place in places.values()]
        if found["format"] != 1 or not all(inside):
            raise ValueError("tensors outside of the memory")
        if key not in opened:
            flat = (open_memory or open_on_cuda)(found["memory"], total)
            opened.clear()
            opened[key] = flat
        return views_of(opened[key], places)
    except LudusError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as problem:
        raise LudusError("bad-model-folder", f"{path}: {problem!r}", "what save(..., shared) wrote") from problem
    except RuntimeError as problem:
        raise not_reachable(str(problem).splitlines()[0]) from problem


def views_of(flat: Tensor, places: dict) -> dict[str, Tensor]:
    return {
        name: flat[place["at"] : place["at"] + math.prod(place["shape"])].view(place["shape"])
        for name, place in places.items()
    }


def finish(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def share_on_cuda(flat: Tensor) -> dict:
    _, arguments = reduce_tensor(flat)
    *_, handle, size, offset, _requires_grad, ref_counter, ref_offset, event, event_sync = arguments
    values = (handle, size, offset, ref_counter, ref_offset, event, event_sync)
    return {"device": device_id(flat.device.index)} | {name: encoded(value) for name, value in zip(parts, values)}


def open_on_cuda(memory: dict, total: int) -> Tensor:
    if not torch.cuda.is_available():
        raise not_reachable("a worker without a GPU")
    indices = [index for index in range(torch.cuda.device_count()) if device_id(index) == memory["device"]]
    if not indices:
        raise not_reachable(f"a worker that does not see GPU {memory['device']}")
    handle, size, offset, ref_counter, ref_offset, event, event_sync = (decoded(memory[name]) for name in parts)
    return rebuild_cuda_tensor(
        Tensor, (total,), (1,), 0, torch.UntypedStorage, torch.float32, indices[0],
        handle, size, offset, False, ref_counter, ref_offset, event, event_sync,
    )  # fmt: skip


def device_id(index: int) -> str:
    """The same in every process, whichever GPUs it sees."""
    return str(torch.cuda.get_device_properties(index).uuid)


def encoded(value):
    return {"bytes": base64.b64encode(value).decode("ascii")} if isinstance(value, bytes) else value


def decoded(value):
    return base64.b64decode(value["bytes"]) if isinstance(value, dict) else value


def not_reachable(got: str) -> LudusError:
    return LudusError(
        "weights-not-shared", got, "a worker on the same machine as the trainer, that sees its GPU",
        'Start both with the same CUDA_VISIBLE_DEVICES, or use torchSampler({ weights: "files" }).',
    )  # fmt: skip
