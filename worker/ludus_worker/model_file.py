"""Files of a model folder, which may be anybody's: bounded, and of this very folder. The bounds are those of src/bounds.ts."""

from __future__ import annotations

import json
from pathlib import Path

from .errors import LudusError

json_depth = 128
model_file_bytes = 128 * 2**20
model_layers = 1024
model_rope_numbers = 2**28
model_shards = 4096
model_width = 2**20
vocabulary = 2**22


def model_file(directory: Path, name: str) -> Path:
    """Hugging Face's cache links to the blobs beside its snapshots; that is the same download."""
    path = directory / name
    if not isinstance(name, str) or name in ("", ".", "..") or any(sign in name for sign in "/\\\0"):
        raise outside(directory, f"the name {json.dumps(name)[:200]}")
    if not path.exists():
        raise LudusError("checkpoint-not-found", f'"{path}"', "the file that the folder speaks of")
    real, folder = path.resolve(), directory.resolve()
    homes = [folder, folder.parent.parent / "blobs"] if folder.parent.name == "snapshots" else [folder]
    if real.parent not in homes:
        raise outside(directory, f"{path}, which leads to {real}")
    if not real.is_file():
        raise unreadable(path, "it is no file")
    return real


def outside(directory: Path, got: str) -> LudusError:
    return LudusError(
        "bad-model-folder", f"{got} in {directory}", "a file of the same folder",
        "A folder from elsewhere must not make a program read other files. Copy the file into the folder if it is yours.",
    )


def unreadable(path: Path, why: object) -> LudusError:
    return LudusError("bad-model-folder", f"{path}: {str(why)[:500]}", "a readable JSON file")


def read_json(path: Path) -> dict:
    real = model_file(path.parent, path.name)
    if real.stat().st_size > model_file_bytes:
        raise unreadable(path, f"it has {real.stat().st_size} bytes")
    try:
        text = real.read_text(encoding="utf-8")
        if is_too_deep(text):
            raise ValueError(f"it is nested deeper than {json_depth} levels")
        value = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise unreadable(path, problem) from problem
    if not isinstance(value, dict):
        raise unreadable(path, "it holds no object")
    return value


def is_too_deep(text: str) -> bool:
    depth, in_string, escaped = 0, False, False
    for sign in text:
        if escaped:
            escaped = False
        elif in_string:
            escaped, in_string = sign == "\\", sign != '"'
        elif sign == '"':
            in_string = True
        elif sign in "[{":
            depth += 1
            if depth > json_depth:
                return True
        elif sign in "]}":
            depth -= 1
    return False


largest = {
    "vocab_size": vocabulary,
    "hidden_size": model_width,
    "intermediate_size": model_width,
    "num_hidden_layers": model_layers,
    "num_attention_heads": model_width,
    "num_key_value_heads": model_width,
    "head_dim": model_width,
    "max_position_embeddings": model_rope_numbers,
    "num_experts": model_width,
    "num_local_experts": model_width,
    "n_routed_experts": model_width,
    "moe_intermediate_size": model_width,
}
required_sizes = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")


def check_sizes(raw: dict, required: tuple[str, ...] = required_sizes) -> None:
    """Memory is taken by these numbers before any weight is read."""

    def refuse(name: str, expected: str) -> None:
        raise LudusError("bad-model-config", f"{name} = {json.dumps(raw.get(name))[:200]} in config.json", expected)

    for name, most in largest.items():
        value = raw.get(name)
        if value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
            refuse(name, "a whole number above 0")
        if value > most:
            refuse(name, f"at most {most}")
    for name in required:
        if raw.get(name) is None:
            refuse(name, "a whole number above 0")
    for name in ("rope_scaling", "rope_parameters"):
        if raw.get(name) is not None and not isinstance(raw[name], dict):
            refuse(name, "an object")
    if raw.get("hidden_size") is None or raw.get("num_attention_heads") is None:
        return
    if raw["hidden_size"] // raw["num_attention_heads"] == 0 and raw.get("head_dim") is None:
        refuse("num_attention_heads", f"at most hidden_size, {raw['hidden_size']}")
    head_width = raw.get("head_dim") or raw["hidden_size"] // raw["num_attention_heads"]
    if (raw.get("max_position_embeddings") or 0) * head_width > model_rope_numbers:
        refuse("max_position_embeddings", f"at most {model_rope_numbers // head_width}")
