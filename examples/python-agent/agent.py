"""An ordinary agent in Python: it tells how warm it is where somebody lives. It knows nothing of training."""

import json
import urllib.request

NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
TOOLS = [
    {"type": "function", "function": {"name": "city", "description": "Where somebody lives", "parameters": NAME}},
    {"type": "function", "function": {"name": "heat", "description": "How warm a city is", "parameters": NAME}},
]


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as response:
        return json.load(response)


def agent(question, world, base_url):
    messages = [{"role": "user", "content": question}]
    for _ in range(4):
        body = {"model": "guide", "messages": messages, "tools": TOOLS}
        message = post(f"{base_url}/chat/completions", body)["choices"][0]["message"]
        if not message.get("tool_calls"):
            return message["content"]
        messages.append(message)
        for call in message["tool_calls"]:
            name = json.loads(call["function"]["arguments"]).get("name")
            found = world.get(call["function"]["name"], {}).get(name, "nothing")
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": found})
    return ""
