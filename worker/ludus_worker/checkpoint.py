"""Hugging Face folders, the same as the embedded engine's. At the top is the model alone, with LoRA PEFT's adapter files, because
vLLM loads every *.safetensors there as weights; what an exact resume needs is in training/. Folders of earlier versions have that
at the top."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from .errors import LudusError
from . import shared_weights
from .model_file import model_file, model_shards, read_json
from .weight_set import WeightSet, value_head_name

training_folder = "training"
state_file = "ludus.json"
value_head_file = "value_head.safetensors"
policy = "policy"


def set_file(name: str, part: str) -> str:
    return f"{part}.{quote(name, safe='!*()' + chr(39))}.safetensors"


def gathered(weights: WeightSet, parts: dict[str, Tensor]) -> dict[str, Tensor]:
    """Whole tensors in float32 on the host; takes all processes."""
    group = weights.group
    whole = {name: group.gathered(part, weights.parameters[name]) for name, part in parts.items()}
    return {name: tensor.detach().float().cpu().contiguous() for name, tensor in whole.items()}


def save(
    directory: str,
    config: dict,
    tokenizer_files: dict[str, str],
    sets: list[WeightSet],
    with_optimizer: bool = True,
    shared: shared_weights.Exporter | None = None,
) -> None:
    for weights in sets:
        if weights.gradients is not None:
            raise LudusError(
                "gradient-pending",
                f'a gradient of "{weights.name}" that no step has used',
                "none",
                "Call step() first: a checkpoint holds weights and optimizer, not half a step.",
            )
    group = sets[0].group
    target = Path(directory).resolve()
    partial = target.parent / f".{target.name}.{os.getpid()}.partial"
    is_writer = group.rank == 0
    try:
        if is_writer:
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
        fill(partial if is_writer else None, config, tokenizer_files, sets, with_optimizer, shared)
        if is_writer:
            put_in_place(partial, target)
    except OSError as problem:
        shutil.rmtree(partial, ignore_errors=True)
        hint = "Nothing was changed: what had this name is as it was before."
        raise LudusError("checkpoint-not-written", str(problem), directory, hint) from problem
    group.barrier()


def fill(
    directory: Path | None,
    config: dict,
    tokenizer_files: dict[str, str],
    sets: list[WeightSet],
    with_optimizer: bool = True,
    shared: shared_weights.Exporter | None = None,
) -> None:
    if directory is not None:
        (directory / training_folder).mkdir()
        # newer folders say "dtype", and would be read in that one
        other = {name: value for name, value in config.items() if name != "dtype"}
        write_json(directory / "config.json", {**other, "torch_dtype": "float32"})
        tokens = {key: config.get(key) for key in ("bos_token_id", "eos_token_id", "pad_token_id")}
        write_json(directory / "generation_config.json", {"_from_model_config": True, **tokens})
        for name, content in tokenizer_files.items():
            (directory / name).write_text(content, encoding="utf-8")
    described = []
    for weights in sets:
        parts = {"weights": weights.masters}
        is_trained = weights.trainable and with_optimizer
        if is_trained:
            parts |= {"first-moments": weights.moments("exp_avg"), "second-moments": weights.moments("exp_avg_sq")}
        if shared is not None and directory is not None and weights.name == policy:
            write_json(directory / shared_weights.file_name, shared.publish(parts.pop("weights")))
        for part, tensors in parts.items():
            whole = gathered(weights, tensors)
            if directory is None:
                continue
            if part == "weights" and weights.name == policy:
                write_policy(directory, weights, whole)
            else:
                write_tensors(directory / training_folder / set_file(weights.name, part), whole)
        entry = {"name": weights.name, "version": weights.version}
        described.append({**entry, "steps": weights.steps} if is_trained else entry)
    if directory is not None:
        has_values = sets[0].value is not None
        write_json(directory / training_folder / state_file, {"format": 1, "valueHead": has_values, "sets": described})


def write_policy(directory: Path, weights: WeightSet, whole: dict[str, Tensor]) -> None:
    if weights.model.options.lora is not None:
        write_adapter(directory, weights, whole)
    else:
        write_tensors(directory / "model.safetensors", weights.model.exported(without_value_head(whole)))
    if value_head_name in whole:
        write_tensors(directory / training_folder / value_head_file, {value_head_name: whole[value_head_name]})


def write_adapter(directory: Path, weights: WeightSet, whole: dict[str, Tensor]) -> None:
    """What PEFT's from_pretrained reads."""
    write_tensors(directory / "adapter_model.safetensors", without_value_head(whole))
    weights.model.lora_config.save_pretrained(str(directory))


def without_value_head(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """What other programs know: the value head is Ludus' alone."""
    return {name: tensor for name, tensor in tensors.items() if name != value_head_name}


def put_in_place(partial: Path, target: Path) -> None:
    """A kill leaves the old folder or the new one; between the two renames the old one under its other name."""
    old = partial.with_suffix(".old")
    if target.exists():
        target.rename(old)
    partial.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n")


def write_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    save_file(tensors, path, metadata={"format": "pt"})
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def own_folder(directory: str) -> Path:
    """Where in a saved folder the state of training is."""
    folder = Path(directory)
    return folder if (folder / state_file).exists() else folder / training_folder


def read_state(directory: str) -> dict:
    path = own_folder(directory) / state_file
    if not path.exists():
        return {"valueHead": False, "sets": [{"name": policy, "version": 0}]}
    return read_json(path)


def read_tensors(path: Path) -> dict[str, Tensor]:
    if not path.exists():
        raise LudusError("checkpoint-not-found", f'"{path}"', "a safetensors file")
    try:
        return load_file(path)
    except SafetensorError as problem:
        raise LudusError("bad-model-folder", f"{path}: {problem}", "a whole safetensors file") from problem


def read_model(directory: Path) -> dict[str, Tensor]:
    """model.safetensors, or the shards that its index names."""
    index = directory / "model.safetensors.index.json"
    if (directory / "model.safetensors").exists() or not index.exists():
        return read_tensors(model_file(directory, "model.safetensors"))
    found = read_json(index).get("weight_map")
    if not isinstance(found, dict) or not all(isinstance(shard, str) for shard in found.values()):
        raise LudusError("bad-model-folder", f"{index} without a weight_map of names", "the shard of every tensor")
    shards = sorted(set(found.values()))
    if len(shards) > model_shards:
        raise LudusError("bad-model-folder", f"{index} with {len(shards)} shards", f"at most {model_shards}")
    # all of them before the first is read
    files = [model_file(directory, shard) for shard in shards]
    return {name: tensor for file in files for name, tensor in read_tensors(file).items()}


def read_weights(directory: str, name: str, lora: bool) -> dict[str, Tensor]:
    folder, own = Path(directory), own_folder(directory)
    if name != policy:
        return read_tensors(own / set_file(name, "weights"))
    if shared_weights.is_in(directory):
        return shared_weights.read(directory)
    tensors = read_tensors(folder / "adapter_model.safetensors") if lora else read_model(folder)
    head = own / value_head_file
    return tensors | (read_tensors(head) if head.exists() else {})


@dataclass
class SavedSet:
    name: str
    version: int
    steps: int | None
    trainable: bool
    has_adapter: bool
    weights: dict[str, Tensor]
    first_moments: dict[str, Tensor] | None = None
    second_moments: dict[str, Tensor] | None = None


def read_sets(directory: str, like: WeightSet, fresh_optimizer: bool = False) -> list[SavedSet]:
    return [read_set(directory, entry, like) for entry in fresh(read_state(directory)["sets"], fresh_optimizer)]


def fresh(entries: list[dict], fresh_optimizer: bool) -> list[dict]:
    """Entries of sets as if no step had been made: moments are not read then."""
    return [{**entry, "steps": 0} if fresh_optimizer and "steps" in entry else entry for entry in entries]


def read_set(directory: str, entry: dict, like: WeightSet) -> SavedSet:
    name, steps = entry["name"], entry.get("steps")
    is_lora = like.model.options.lora is not None
    weights = read_weights(directory, name, is_lora)
    if name == policy and not is_lora:
        head = {value_head_name: weights[value_head_name]} if value_head_name in weights else {}
        weights = like.model.imported(without_value_head(weights), directory) | head
    has_adapter = is_lora and any("lora_" in key for key in weights)
    for key, parameter in like.parameters.items():
        if (key == value_head_name and key not in weights) or (is_lora and not has_adapter):
            continue
        if key not in weights or weights[key].shape != parameter.shape:
            got = f"{key} with shape {list(weights[key].shape)}" if key in weights else f"no {key}"
            raise LudusError("other-model", f'{got} in "{directory}"', f"{list(parameter.shape)}, as in this engine")
    saved = SavedSet(name, entry["version"], steps, name == policy or steps is not None, has_adapter, weights)
    if steps:
        own = own_folder(directory)
        saved.first_moments = read_tensors(own / set_file(name, "first-moments"))
        saved.second_moments = read_tensors(own / set_file(name, "second-moments"))
    return saved
