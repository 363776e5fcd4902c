"""τ-bench, from a checkout of its repository: its own environment holds the database, runs the tools and gives the reward.

The model and the user are asked by Ludus, so that nothing here calls an API: `litellm`, which the package imports for that, may be missing.
"""

import importlib
import importlib.util
import json
import os
import sys
import threading
import types

from bridge_loop import BadData

lock = threading.Lock()


def package_of(folder):
    """Imports `tau_bench` from the folder, once; a process has one checkout."""
    root = os.path.realpath(folder)
    envs = os.path.join(root, "tau_bench", "envs")
    if not os.path.isdir(envs):
        raise BadData(f"{folder} without tau_bench/envs")
    with lock:
        if "litellm" not in sys.modules and importlib.util.find_spec("litellm") is None:
            sys.modules["litellm"] = types.ModuleType("litellm")
            sys.modules["litellm"].__getattr__ = lambda name: refuse
        if root not in sys.path:
            sys.path.insert(0, root)
        package = importlib.import_module("tau_bench.envs")
    if os.path.realpath(os.path.dirname(package.__file__)) != os.path.realpath(envs):
        raise BadData(f"{folder}, while this process already has τ-bench from {package.__file__}")
    domains = [
        name for name in sorted(os.listdir(envs)) if os.path.isfile(os.path.join(envs, name, "tasks_test.py"))
    ]
    if not domains:
        raise BadData(f"{envs} without a domain that has tasks_test.py")
    return package, domains


def refuse(*args, **options):
    raise RuntimeError("τ-bench asks a model by itself; here Ludus asks it")


def environment(package, domain, index):
    return package.get_env(domain, user_strategy="human", user_model="", task_split="test", task_index=index)


class Relay:
    """The user of the environment: says what Ludus got from whoever plays the user."""

    def __init__(self):
        self.next = ""

    def reset(self, instruction=None):
        return self.next

    def step(self, content):
        return self.next

    def get_total_cost(self):
        return 0


def user_prompt(instruction):
    simulation = importlib.import_module("tau_bench.envs.user").LLMUserSimulationEnv
    return simulation.build_system_prompt(object.__new__(simulation), instruction)


class TauBench:
    @staticmethod
    def load(request):
        package, domains = package_of(request["folder"])
        tasks = []
        for domain in domains:
            for index, task in enumerate(environment(package, domain, 0).tasks):
                tasks.append({"id": f"{domain}/{index}", "text": task.instruction, "category": domain})
        return {"tasks": tasks}

    def __init__(self, request):
        package, _ = package_of(request["folder"])
        domain, index = request["task"].rsplit("/", 1)
        self.env = environment(package, domain, int(index))
        self.env.user = self.user = Relay()
        self.env.reset(task_index=int(index))
        self.action = importlib.import_module("tau_bench.types").Action
        instruction = self.env.task.instruction
        tools = [tool["function"] for tool in self.env.tools_info]
        self.begun = {"policy": self.env.wiki, "tools": tools, "user": user_prompt(instruction)}

    def stepped(self, name, options):
        response = self.env.step(self.action(name=name, kwargs=options))
        return {"content": str(response.observation), "done": bool(response.done), "reward": float(response.reward)}

    def do_say(self, request):
        self.user.next = request["reply"]
        return self.stepped("respond", {"content": request["content"]})

    def do_call(self, request):
        options = json.loads(request["arguments"])
        if not isinstance(options, dict):
            raise ValueError("arguments that are no object")
        if request["name"] == "respond":
            # what is said is no tool: the user has not been asked
            return {"content": "Unknown action respond", "done": False, "reward": 0.0}
        return self.stepped(request["name"], options)
