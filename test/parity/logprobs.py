"""What transformers makes of a saved folder: log-probabilities of token rows, and a greedy continuation.

    logprobs.py folder rows.json > out.json      rows: [[token, ...], ...]
"""

import json
import sys

import torch
from transformers import AutoModelForCausalLM

folder, rows = sys.argv[1], json.load(open(sys.argv[2]))
model, report = AutoModelForCausalLM.from_pretrained(
    folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True
)
model.eval()
found = []
with torch.no_grad():
    for tokens in rows:
        ids = torch.tensor([tokens])
        logprobs = torch.log_softmax(model(ids).logits[0, :-1].float(), -1)
        found.append([0.0, *logprobs.gather(1, ids[0, 1:, None])[:, 0].tolist()])
loading = {key: sorted(str(name) for name in names) for key, names in report.items() if names}
json.dump({"logprobs": found, "loading": loading}, sys.stdout)
