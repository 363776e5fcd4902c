"""A domain of its own in the form of τ²-bench's: a line that the agent unlocks, and a phone that the user restarts."""

import json
import os
from pathlib import Path
from types import SimpleNamespace

from tau2.data_model.message import ToolMessage


class Tool:
    def __init__(self, name, description, properties):
        parameters = {"type": "object", "properties": properties, "required": list(properties)}
        function = {"name": name, "description": description, "parameters": parameters}
        self.openai_schema = {"type": "function", "function": function}


class Environment:
    def __init__(self):
        self.db = {"locked": True, "restarted": False}
        self.user_tools = self

    def get_policy(self):
        return "Unlock a line before the customer restarts the phone."

    def get_tools(self):
        return [Tool("unlock_line", "Unlocks a line", {"number": {"type": "integer"}})]

    def get_user_tools(self):
        return [Tool("restart_phone", "Restarts your phone", {})]

    def set_state(self, initialization_data, initialization_actions, message_history):
        for message in message_history:
            for call in getattr(message, "tool_calls", None) or []:
                self.get_response(call)

    def make_tool_call(self, tool_name, requestor, **arguments):
        if (tool_name, requestor) == ("unlock_line", "assistant"):
            if arguments["number"] != 7:
                raise ValueError("no such line")
            self.db["locked"] = False
        elif (tool_name, requestor) == ("restart_phone", "user"):
            self.db["restarted"] = not self.db["locked"]
        else:
            raise ValueError(f"Tool {tool_name!r} not found")
        return "done"

    def get_response(self, call):
        try:
            content, error = self.make_tool_call(call.name, requestor=call.requestor, **call.arguments), False
        except Exception as reason:
            content, error = f"Error: {reason}", True
        return ToolMessage(id=call.id, role="tool", content=content, requestor=call.requestor, error=error)


def get_environment(solo_mode=False):
    return Environment()


def get_tasks(task_split_name=None):
    if task_split_name is not None:
        raise ValueError(f"Invalid task split name: {task_split_name}")
    rows = json.loads((Path(os.environ["TAU2_DATA_DIR"]) / "tau2/domains/desk/tasks.json").read_text())

    def task(row):
        criteria = SimpleNamespace(**{"communicate_info": [], **row["evaluation_criteria"]})
        return SimpleNamespace(
            id=row["id"], user_scenario=row["user_scenario"], evaluation_criteria=criteria, initial_state=None
        )

    return [task(row) for row in rows]
