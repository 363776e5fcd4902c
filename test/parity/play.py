"""An exported model and its chat template in transformers.

    play.py play folder job.json           plays the tasks of src/cli/fixtures/rooms-config.ts greedily, with its tool
    play.py templates folder job.json      renders conversations: [{ "tokenizer", "template", "conversations": [...] }]
"""

import json
import re
import sys

mode, folder = sys.argv[1], sys.argv[2]
job = json.load(open(sys.argv[3]))


def play():
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    # several threads are slower than one for so small a model
    torch.set_num_threads(1)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)

    def said(messages):
        ids = tokenizer.apply_chat_template(messages, tools=job["tools"], add_generation_prompt=True, return_dict=False)
        with torch.no_grad():
            out = model.generate(torch.tensor([ids]), max_new_tokens=job["turnTokens"], do_sample=False)
        return ids, tokenizer.decode(out[0, len(ids) :], skip_special_tokens=True)

    def episode(task):
        messages, prompts = list(task["messages"]), []
        for _ in range(job["turns"]):
            ids, text = said(messages)
            prompts.append(ids)
            if text.startswith("="):
                return text[1:].strip(), prompts
            call = re.fullmatch(r"look (.*)", text)
            if call is None:
                return None, prompts
            room = call[1]
            function = {"name": "look", "arguments": {"room": room}}
            messages.append({"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": function}]})
            found = f"a {task['item']}" if room == task["room"] else "dust"
            messages.append({"role": "tool", "name": "look", "content": found})
        return None, prompts

    played = [episode(task) for task in job["tasks"]]
    return {"answers": [answer for answer, _ in played], "prompts": [prompts for _, prompts in played]}


def templates():
    from transformers import AutoTokenizer

    found = []
    for part in job:
        tokenizer = AutoTokenizer.from_pretrained(f"{folder}/{part['tokenizer']}")
        tokenizer.chat_template = part["template"]
        found.append(
            [
                tokenizer.apply_chat_template(
                    each["messages"], tools=each["tools"] or None, add_generation_prompt=True, return_dict=False
                )
                for each in part["conversations"]
            ]
        )
    return found


json.dump({"play": play, "templates": templates}[mode](), sys.stdout)
