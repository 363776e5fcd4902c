"""What llama.cpp and gguf's reader find in files that Ludus exported. Reads a job as JSON, writes what was found as JSON."""

import json
import sys

import gguf
import llama_cpp
from llama_cpp.llama_chat_format import Jinja2ChatFormatter

F32 = 0


def play(case):
    model = llama_cpp.Llama(
        model_path=case["model"],
        lora_path=case.get("adapter"),
        n_ctx=case["context"],
        n_threads=1,
        n_threads_batch=1,
        # as in training: nothing is rounded between layers or in the cache
        type_k=F32,
        type_v=F32,
        verbose=False,
    )
    generated = []
    for prompt in case["prompts"]:
        model.reset()
        model.eval(prompt)
        tokens = []
        for _ in range(case["tokens"]):
            token = model.sample(temp=0.0)
            tokens.append(token)
            if token == model.token_eos():
                break
            model.eval([token])
        generated.append(tokens)
    found = {
        "generated": generated,
        "eos": model.token_eos(),
        "encoded": [model.tokenize(text.encode(), add_bos=True, special=False) for text in case.get("texts", [])],
        "special": [model.tokenize(text.encode(), add_bos=True, special=True) for text in case.get("texts", [])],
    }
    if "messages" in case:
        formatter = Jinja2ChatFormatter(model.metadata["tokenizer.chat_template"], eos_token="", bos_token="")
        prompt = formatter(messages=case["messages"], tools=case.get("tools")).prompt
        found["prompt"] = model.tokenize(prompt.encode(), add_bos=True, special=True)
    model.close()
    return found


def read(path):
    """A second reader: the format's own package."""
    reader = gguf.GGUFReader(path)
    return {tensor.name: [int(axis) for axis in tensor.shape][::-1] for tensor in reader.tensors}


job = json.load(open(sys.argv[1], encoding="utf-8"))
json.dump([{**play(case), "tensors": read(case["model"])} for case in job], sys.stdout)
