"""Stands in for τ-bench's environment: tools on a database, and a reward for the right one."""

import json

from tau_bench.envs.user import HumanUserSimulationEnv
from tau_bench.types import EnvResponse


class Env:
    def __init__(self, load, tools, tasks, wiki, task_index):
        self.load = load
        self.tools_map = {tool.get_info()["function"]["name"]: tool for tool in tools}
        self.tools_info = [tool.get_info() for tool in tools]
        self.terminate_tools = []
        self.tasks = tasks
        self.wiki = wiki
        self.user = HumanUserSimulationEnv()
        self.task = tasks[task_index]
        self.data, self.actions = load(), []

    def reset(self, task_index):
        self.task = self.tasks[task_index]
        self.data, self.actions = self.load(), []
        return self.user.reset(instruction=self.task.instruction)

    def step(self, action):
        self.actions.append(action)
        done = action.name in self.terminate_tools
        if action.name == "respond":
            observation = self.user.step(action.kwargs["content"])
            done = "###STOP###" in observation
        else:
            observation = self.invoke(self.data, action)
        return EnvResponse(observation, self.reward() if done else 0, done)

    def invoke(self, data, action):
        if action.name not in self.tools_map:
            return f"Unknown action {action.name}"
        try:
            return self.tools_map[action.name].invoke(data=data, **action.kwargs)
        except Exception as error:
            return f"Error: {error}"

    def reward(self):
        gold = self.load()
        for action in self.task.actions:
            self.invoke(gold, action)
        said = [each.kwargs["content"].lower().replace(",", "") for each in self.actions if each.name == "respond"]
        told = all(any(output.lower() in text for text in said) for output in self.task.outputs)
        return float(told and json.dumps(gold, sort_keys=True) == json.dumps(self.data, sort_keys=True))
