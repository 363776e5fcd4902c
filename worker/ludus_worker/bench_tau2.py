"""τ²-bench, from a checkout of its repository: its own environments run the tools of agent and user, and its own evaluators give the reward.

What it needs beside (pydantic and others) has to be installed: `pip install <checkout>` does it. The model and the user are asked by Ludus.
"""

import importlib
import inspect
import json
import os
import sys
import threading

from bridge_loop import BadData, MissingPackage

lock = threading.Lock()
# what an evaluator of its own gives; a model judges NL_ASSERTION
scored = {"DB", "ENV_ASSERTION", "COMMUNICATE", "ACTION"}


def part(name):
    try:
        return importlib.import_module(f"tau2.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "tau2":
            raise MissingPackage(error.name) from error
        raise BadData(f"a τ²-bench without {error.name}") from error


def domains_of(folder):
    root = os.path.realpath(folder)
    data = os.path.join(root, "data")
    domains = os.path.join(data, "tau2", "domains")
    source = os.path.join(root, "src")
    for needed in (domains, os.path.join(source, "tau2")):
        if not os.path.isdir(needed):
            raise BadData(f"{folder} without {os.path.relpath(needed, root)}")
    with lock:
        os.environ["TAU2_DATA_DIR"] = data
        if source not in sys.path:
            sys.path.insert(0, source)
        package = importlib.import_module("tau2")
    found = os.path.dirname(os.path.realpath(package.__file__ or source))
    if found != os.path.realpath(os.path.join(source, "tau2")):
        raise BadData(f"{folder}, while this Python's tau2 is {found}")
    names = [name for name in sorted(os.listdir(domains)) if os.path.isfile(os.path.join(domains, name, "tasks.json"))]
    names = [name for name in names if name != "mock"] or names
    if not names:
        raise BadData(f"{domains} without a domain that has tasks.json")
    return names


def tasks_of(domain):
    """Of the split `base`, where the domain has splits."""
    get_tasks = part(f"domains.{domain}.environment").get_tasks
    if not inspect.signature(get_tasks).parameters:
        return get_tasks()
    try:
        return get_tasks("base")
    except (ValueError, KeyError, OSError):
        return get_tasks(None)


def basis_of(task):
    criteria = task.evaluation_criteria
    return {"DB"} if criteria is None else {str(getattr(each, "value", each)) for each in criteria.reward_basis}


def guidelines(folder, has_tools):
    names = ["simulation_guidelines_tools.md"] if has_tools else []
    for name in [*names, "simulation_guidelines.md"]:
        path = os.path.join(folder, "data", "tau2", "user_simulator", name)
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                return file.read()
    raise BadData(f"{folder} without data/tau2/user_simulator/simulation_guidelines.md")


def schema_of(tool):
    return tool.openai_schema["function"]


class Tau2Bench:
    @staticmethod
    def load(request):
        tasks, left_out = [], 0
        for domain in domains_of(request["folder"]):
            for task in tasks_of(domain):
                if not basis_of(task) <= scored:
                    left_out += 1
                    continue
                tasks.append({"id": f"{domain}/{task.id}", "text": str(task.user_scenario), "category": domain})
        if not tasks:
            raise BadData(f"{left_out} tasks whose reward needs a model as a judge, and no other")
        return {"tasks": tasks}

    def __init__(self, request):
        domains_of(request["folder"])
        domain, name = request["task"].split("/", 1)
        self.construct = part(f"domains.{domain}.environment").get_environment
        self.task = next(task for task in tasks_of(domain) if str(task.id) == name)
        self.message = part("data_model.message")
        self.env = self.construct()
        initial = self.task.initial_state
        self.trajectory = list(getattr(initial, "message_history", None) or [])
        self.env.set_state(
            initialization_data=getattr(initial, "initialization_data", None),
            initialization_actions=getattr(initial, "initialization_actions", None),
            message_history=self.trajectory,
        )
        user_tools = [schema_of(tool) for tool in self.user_tools()]
        told = f"{guidelines(request['folder'], bool(user_tools))}\n\n<scenario>\n{self.task.user_scenario}\n</scenario>"
        tools = [schema_of(tool) for tool in self.env.get_tools()]
        history = [self.wire(each) for each in self.trajectory]
        self.begun = {
            "policy": self.env.get_policy(),
            "tools": tools,
            "user": told,
            "userTools": user_tools,
            "history": history,
        }

    def wire(self, message):
        calls = [
            {"id": call.id, "name": call.name, "arguments": json.dumps(call.arguments)}
            for call in getattr(message, "tool_calls", None) or []
        ]
        wired = {"role": message.role, "content": message.content or "", "calls": calls}
        return {**wired, "id": message.id, "requestor": message.requestor} if message.role == "tool" else wired

    def user_tools(self):
        if self.env.user_tools is None:
            return []
        include = getattr(self.task, "user_tools", None)
        if include is not None and "include" in inspect.signature(self.env.get_user_tools).parameters:
            return self.env.get_user_tools(include=include)
        return self.env.get_user_tools()

    def do_say(self, request):
        """A message of agent or user; what its calls gave, in order."""
        role = request["role"]
        calls = [
            self.message.ToolCall(
                id=call["id"], name=call["name"], arguments=json.loads(call["arguments"]), requestor=role
            )
            for call in request["calls"]
        ]
        kind = self.message.AssistantMessage if role == "assistant" else self.message.UserMessage
        # a message has a text or calls
        self.trajectory.append(kind(role=role, content=None if calls else request["content"], tool_calls=calls or None))
        results = [self.env.get_response(call) for call in calls]
        self.trajectory.extend(results)
        return {"results": [{"content": each.content or "", "error": bool(each.error)} for each in results]}

    def do_score(self, request):
        criteria = self.task.evaluation_criteria
        if criteria is None:
            return {"reward": 1.0, "parts": {}}
        basis = basis_of(self.task)
        parts = {}
        if basis & {"DB", "ENV_ASSERTION"}:
            evaluator = part("evaluator.evaluator_env").EnvironmentEvaluator
            parts["env"] = evaluator.calculate_reward(
                environment_constructor=self.construct, task=self.task, full_trajectory=self.trajectory, solo_mode=False
            ).reward
        if "COMMUNICATE" in basis:
            evaluator = part("evaluator.evaluator_communicate").CommunicateEvaluator
            parts["communicate"] = evaluator.calculate_reward(task=self.task, full_trajectory=self.trajectory).reward
        if "ACTION" in basis:
            evaluator = part("evaluator.evaluator_action").ActionEvaluator
            parts["action"] = evaluator.calculate_reward(task=self.task, full_trajectory=self.trajectory).reward
        reward = 1.0
        for each in parts.values():
            reward *= each
        return {"reward": float(reward), "parts": {key: float(value) for key, value in parts.items()}}
