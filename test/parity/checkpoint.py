"""The other side of checkpoint.parity.test.ts: reads request.json in a folder, leaves what transformers says beside it."""

import json
import os
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM


def write_numbers(path, tensor):
    path.write_bytes(tensor.detach().float().contiguous().numpy().tobytes())


def write_python_files(folder):
    """Every bit pattern of the 16-bit types, and random ones of the others."""
    all_halves = torch.arange(-32768, 32768).to(torch.int16)
    random_bits = torch.randint(-(2**31), 2**31 - 1, (64, 3), dtype=torch.int32)
    tensors = {
        "float16": all_halves.view(torch.float16),
        "bfloat16": all_halves.clone().view(torch.bfloat16).reshape(256, 256),
        "float32": random_bits.view(torch.float32),
        "float64": torch.randn(5, 7, dtype=torch.float64),
        "int64": torch.tensor([-5, 0, 2**24]),
        "scalar": torch.tensor(1.5),
    }
    save_file(tensors, folder / "python.safetensors", metadata={"format": "pt", "made": "by Python"})
    for name, tensor in tensors.items():
        write_numbers(folder / f"python.{name}.bin", tensor)


def read_ludus_file(folder):
    tensors = load_file(folder / "ludus.safetensors")
    for name, tensor in tensors.items():
        write_numbers(folder / f"ludus.{name}.bin", tensor)
    save_file(tensors, folder / "ludus-again.safetensors", metadata={"format": "pt"})
    return {name: list(tensor.shape) for name, tensor in tensors.items()}


def make_config(folder, fields):
    (folder / "config.json").write_text(json.dumps(fields))
    return AutoConfig.from_pretrained(folder)


def describe_model(folder, fields):
    config = make_config(folder, fields)
    model = AutoModelForCausalLM.from_config(config)
    tied = model.lm_head.weight is model.model.embed_tokens.weight
    shapes = [[name, list(tensor.shape)] for name, tensor in model.state_dict().items()]
    return {"shapes": shapes, "tied": tied, "config": config.to_dict()}


def write_rope(folder, index, case):
    config = make_config(folder, case["config"])
    model = AutoModelForCausalLM.from_config(config)
    positions = torch.arange(case["length"])[None]
    cos, sin = model.model.rotary_emb(torch.zeros(1), positions)
    half = cos.shape[-1] // 2
    write_numbers(folder / f"rope.{index}.cos.bin", cos[0, :, :half])
    write_numbers(folder / f"rope.{index}.sin.bin", sin[0, :, :half])


def write_shards(folder, fields):
    model = AutoModelForCausalLM.from_config(make_config(folder, fields)).to(torch.bfloat16)
    model.save_pretrained(folder / "shards", max_shard_size="20KB")
    names = list(model.state_dict())
    for index, name in enumerate(names):
        write_numbers(folder / f"shard.{index}.bin", model.state_dict()[name])
    return names


def compare_logits(folder, fields):
    """The folder that Ludus wrote, against the same weights in a model of the config it was parsed from."""
    loaded, report = AutoModelForCausalLM.from_pretrained(folder / "checkpoint", output_loading_info=True)
    original = AutoModelForCausalLM.from_config(make_config(folder, fields))
    weights = load_file(folder / "checkpoint" / "model.safetensors")
    original.load_state_dict(weights, strict=False)
    tokens = torch.tensor([[1, 2, 3, 4, 5, 6, 7]])
    with torch.no_grad():
        difference = (loaded(tokens).logits - original(tokens).logits).abs().max().item()
        spread = loaded(tokens).logits.std().item()
    missing, unexpected = list(report["missing_keys"]), list(report["unexpected_keys"])
    return {"missing": missing, "unexpected": unexpected, "difference": difference, "spread": spread}


def main(folder):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    request = json.loads((folder / "request.json").read_text())
    write_python_files(folder)
    for index, case in enumerate(request["ropes"]):
        write_rope(folder, index, case)
    response = {
        "ludusShapes": read_ludus_file(folder),
        "models": [describe_model(folder, fields) for fields in request["models"]],
        "shards": write_shards(folder, request["sharded"]),
        "logits": compare_logits(folder, request["checkpoint"]),
    }
    (folder / "response.json").write_text(json.dumps(response))


main(Path(sys.argv[1]))
