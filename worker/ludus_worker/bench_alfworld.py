"""ALFWorld's text games, in TextWorld with ALFWorld's own names for things."""

import os
import threading

from bridge_loop import BadData, load

lock = threading.Lock()


class Game:
    @staticmethod
    def load(request):
        load("textworld", "textworld")
        load("alfworld", "alfworld")
        return {}

    def __init__(self, request):
        textworld = load("textworld", "textworld")
        load("alfworld", "alfworld")
        path = os.path.join(request["folder"], request["task"])
        if not os.path.isfile(path):
            raise BadData(f"no file {path}")
        # parsing a game is not made for several threads
        with lock:
            wanted = textworld.EnvInfos(won=True, admissible_commands=True, feedback=True)
            self.env = textworld.start(path, wanted, wrappers=[demangler()])
            state = self.env.reset()
        self.begun = self.told(state)

    def told(self, state):
        return {"say": state.feedback.strip(), "commands": sorted(state.admissible_commands or [])}

    def do_act(self, request):
        state, _, done = self.env.step(request["command"])
        return {**self.told(state), "won": bool(state.won), "done": bool(done)}

    def close(self):
        self.env.close()


def demangler():
    from alfworld.agents.environment.alfred_tw_env import AlfredDemangler

    return AlfredDemangler()
