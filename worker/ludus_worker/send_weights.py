"""Broadcasts the weights of a folder over NCCL, as rank 0, to a server that joined the same group (vLLM's weight transfer).

Reads commands from standard input, a line of JSON each, and answers with a line: {"ok": ...} or {"error": "..."}. Tensors go one by
one in the order that `describe` gave; the other ranks receive them in that order. Written against vLLM 0.32; not tried with a GPU.
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors import safe_open


class Group(Protocol):
    """The ranks that weights are sent to."""

    def identify(self) -> bytes: ...
    def join(self, world_size: int) -> None: ...
    def broadcast(self, tensor: torch.Tensor) -> None: ...
    def wait(self) -> None: ...


class NcclGroup:
    """By an id that is handed over outside: all ranks enter at once, and begin with an all-reduce of one number."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.id: bytes | None = None
        self.communicator: Any = None

    def identify(self) -> bytes:
        self.id = torch.cuda.nccl.unique_id()
        return self.id

    def join(self, world_size: int) -> None:
        if self.id is None:
            raise RuntimeError("identify comes before join")
        with torch.cuda.device(self.device):
            self.communicator = torch.cuda.nccl.init_rank(world_size, self.id, 0)
            torch.cuda.nccl.all_reduce([torch.zeros(1, device=self.device)], comms=[self.communicator])
            self.wait()

    def broadcast(self, tensor: torch.Tensor) -> None:
        with torch.cuda.device(self.device):
            torch.cuda.nccl.broadcast([tensor], root=0, comms=[self.communicator])

    def wait(self) -> None:
        torch.cuda.synchronize(self.device)


def files_of(directory: Path) -> list[Path]:
    """The model's own files: what is beside the top level is not the model."""
    index = directory / "model.safetensors.index.json"
    if not index.exists():
        return [directory / "model.safetensors"]
    names = sorted(set(json.loads(index.read_text())["weight_map"].values()))
    if any(Path(name).name != name for name in names):
        raise ValueError("a file of the index is not in the folder")
    return [directory / name for name in names]


class Sender:
    def __init__(self, group: Group, device: torch.device, dtype: torch.dtype) -> None:
        self.group = group
        self.device = device
        self.dtype = dtype

    def describe(self, directory: Path) -> dict[str, list[Any]]:
        names, shapes = [], []
        for file in files_of(directory):
            with safe_open(file, framework="pt") as tensors:
                for name in sorted(tensors.keys()):
                    names.append(name)
                    shapes.append(list(tensors.get_slice(name).get_shape()))
        dtype_names = [str(self.dtype).removeprefix("torch.")] * len(names)
        return {"names": names, "dtype_names": dtype_names, "shapes": shapes}

    def tensors(self, directory: Path) -> Iterator[torch.Tensor]:
        for file in files_of(directory):
            with safe_open(file, framework="pt") as tensors:
                for name in sorted(tensors.keys()):
                    yield tensors.get_tensor(name).to(device=self.device, dtype=self.dtype).contiguous()

    def send(self, directory: Path) -> None:
        kept = []
        for tensor in self.tensors(directory):
            # until the broadcast is done its memory must not be given to another tensor
            kept.append(tensor)
            self.group.broadcast(tensor)
            if sum(each.nbytes for each in kept) > 1 << 30:
                self.group.wait()
                kept.clear()
        self.group.wait()

    def answer(self, command: dict[str, Any]) -> Any:
        match command["do"]:
            case "identify":
                return base64.b64encode(bytes(self.group.identify())).decode("ascii")
            case "join":
                return self.group.join(int(command["world_size"]))
            case "describe":
                return self.describe(Path(command["directory"]))
            case "send":
                return self.send(Path(command["directory"]))
            case other:
                raise ValueError(f"unknown command {other!r}")


def serve(sender: Sender, lines: Iterator[str], write: Any) -> None:
    for line in lines:
        try:
            reply = {"ok": sender.answer(json.loads(line))}
        except Exception as error:  # noqa: BLE001 - every failure is told
            reply = {"error": f"{type(error).__name__}: {error}"}
        write(json.dumps(reply) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--dtype", choices=["bfloat16", "float32"], default="bfloat16")
    arguments = parser.parse_args()
    device = torch.device(arguments.device)
    sender = Sender(NcclGroup(device), device, getattr(torch, arguments.dtype))

    def write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    serve(sender, sys.stdin, write)


if __name__ == "__main__":
    main()
