"""The other side of model.parity.test.ts.

    model.py make FOLDER    makes the models of request.json, and says what transformers and torch compute with them
    model.py check FOLDER   loads the folders that Ludus saved, says what they compute, and saves them again
"""

import json
import os
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import torch
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer


def make_model(folder, case):
    """Random weights, large enough that attention is far from uniform; norms around 1."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(case["config"]))
    model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            mean = 1 if name.endswith("norm.weight") else 0
            parameter.copy_(mean + 0.2 * torch.randn_like(parameter))
    options = {"max_shard_size": "40KB"} if case["sharded"] else {}
    model.to(getattr(torch, case["dtype"])).save_pretrained(folder, **options)
    # not the model at hand: its rope frequencies may have been rounded with the weights
    return load_model(folder)


def load_model(folder):
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")


def token_statistics(model, tokens, temperature):
    """Of each token but the first: its log-probability, and the entropy of the distribution it came from."""
    ids = torch.tensor([tokens])
    logits = model(ids, use_cache=False).logits[0, :-1] / temperature
    logprobs = torch.log_softmax(logits, -1)
    chosen = logprobs.gather(-1, ids[0, 1:, None])[:, 0]
    return chosen, -(logprobs.exp() * logprobs).sum(-1)


def backward(model, case):
    """One row at a time, so that nothing is padded; returns the numbers of each row."""
    model.zero_grad()
    numbers = []
    for row in case["rows"]:
        logprobs, entropies = token_statistics(model, row["tokens"], case["temperature"])
        loss = (logprobs * torch.tensor(row["logprobDerivatives"])[1:]).sum()
        loss = loss + (entropies * torch.tensor(row["entropyDerivatives"])[1:]).sum()
        loss.backward()
        numbers.append((logprobs.detach(), entropies.detach()))
    return numbers


def make_optimizer(model, options):
    matrices = [parameter for parameter in model.parameters() if parameter.dim() > 1]
    others = [parameter for parameter in model.parameters() if parameter.dim() <= 1]
    groups = [
        {"params": matrices, "weight_decay": options["weightDecay"]},
        {"params": others, "weight_decay": 0},
    ]
    betas = (options["beta1"], options["beta2"])
    return torch.optim.AdamW(groups, lr=options["learningRate"], betas=betas, eps=options["epsilon"])


def train(model, case, answer):
    optimizer = make_optimizer(model, case["optimizer"])
    for step, limit in enumerate(case["gradientLimits"]):
        numbers = backward(model, case)
        for b, (logprobs, entropies) in enumerate(numbers):
            answer[f"{step}.logprobs.{b}"] = logprobs
            answer[f"{step}.entropies.{b}"] = entropies
        for name, parameter in model.named_parameters():
            answer[f"{step}.gradient.{name}"] = parameter.grad.clone()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
        answer[f"{step}.norm"] = norm.reshape(1)
        optimizer.step()
        for name, parameter in model.named_parameters():
            answer[f"{step}.weights.{name}"] = parameter.detach().clone()


def continue_greedily(model, case, answer):
    """The most probable continuations, and how far the best token was ahead of the second at each position."""
    for p, prompt in enumerate(case["prompts"]):
        output = model.generate(
            torch.tensor([prompt]),
            attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
            do_sample=False,
            max_new_tokens=case["newTokens"],
            output_scores=True,
            return_dict_in_generate=True,
        )
        best = torch.stack(output.scores)[:, 0].topk(2).values
        answer[f"greedy.{p}"] = output.sequences[0, len(prompt) :].clone()
        answer[f"lead.{p}"] = (best[:, 0] - best[:, 1]).clone()


def make(folder, request):
    for index, case in enumerate(request["cases"]):
        model = make_model(folder / str(index), case)
        answer = {}
        with torch.no_grad():
            continue_greedily(model, case, answer)
        train(model, case, answer)
        save_file(answer, folder / f"{index}.safetensors")


def check(folder, request):
    texts = []
    for index, case in enumerate(request["cases"]):
        saved = folder / f"{index}-ludus"
        model = load_model(saved)
        answer = {}
        with torch.no_grad():
            for b, row in enumerate(case["rows"]):
                answer[f"logprobs.{b}"], _ = token_statistics(model, row["tokens"], case["temperature"])
        save_file(answer, folder / f"{index}-check.safetensors")
        tokenizer = AutoTokenizer.from_pretrained(saved)
        texts.append([tokenizer.encode(text) for text in request["texts"]])
        model.save_pretrained(folder / f"{index}-again")
    (folder / "texts.json").write_text(json.dumps(texts))


def main(mode, folder):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    request = json.loads((folder / "request.json").read_text())
    {"make": make, "check": check}[mode](folder, request)


main(sys.argv[1], Path(sys.argv[2]))
