"""Environments of Python libraries, for Ludus: requests and answers are lines of JSON on the standard streams.

    {"id": 1, "op": "start", "from": "gymnasium", "name": "FrozenLake-v1", "seed": 3, "options": {}, "episode": "e"}
    {"id": 1, "ok": {"say": "..."}}

Each request has a thread, so that an episode that hangs holds none of the others. Ends with its standard input.
"""

import os
import sys

# this folder has modules of common names
if sys.path and sys.path[0] == os.path.dirname(os.path.abspath(__file__)):
    sys.path.pop(0)

import contextlib
import importlib
import json
import re
import threading
import traceback


class MissingPackage(Exception):
    pass


class UnknownEnvironment(Exception):
    pass


class Refused(Exception):
    """What the policy did wrong: it is told, and the episode goes on."""


def load(module, package):
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == module.split(".")[0]:
            raise MissingPackage(package) from error
        raise


class ReasoningGym:
    """One question; the answer is scored by the generator that asked it."""

    @staticmethod
    def names():
        load("reasoning_gym", "reasoning-gym")
        return list(importlib.import_module("reasoning_gym.factory").DATASETS)

    def __init__(self, name, seed, options):
        library = load("reasoning_gym", "reasoning-gym")
        if name not in self.names():
            raise UnknownEnvironment(name)
        self.data = library.create_dataset(name, size=1, seed=seed, **options)
        self.entry = self.data[0]
        self.say = self.entry["question"]

    def step(self, answer):
        return {"say": "", "reward": float(self.data.score_answer(answer.strip(), self.entry)), "done": True}

    def close(self):
        pass


class Gymnasium:
    """Steps of a Gymnasium environment in words: numbers and JSON for actions, the text rendering where there is one."""

    @staticmethod
    def names():
        return sorted(load("gymnasium", "gymnasium").registry)

    def __init__(self, name, seed, options):
        gym = load("gymnasium", "gymnasium")
        try:
            found = gym.spec(name)
        except gym.error.Error as error:
            raise UnknownEnvironment(name) from error
        self.gym = gym
        try:
            self.env = gym.make(name, render_mode="ansi", **options)
            self.has_text = "ansi" in self.env.metadata.get("render_modes", [])
        except (TypeError, gym.error.Error):
            self.has_text = False
        if not self.has_text:
            self.env = gym.make(found, **options)
        observation, _ = self.env.reset(seed=seed)
        self.say = f"{self.told(observation)}\nAction: {self.described()}"

    def described(self):
        space = self.env.action_space
        spaces = self.gym.spaces
        if isinstance(space, spaces.Discrete):
            return f"a whole number from {space.start} to {space.start + space.n - 1}"
        return "text" if isinstance(space, spaces.Text) else f"JSON of {space}"

    def told(self, observation):
        text = observation if isinstance(observation, str) else json.dumps(plain(observation))
        if not self.has_text:
            return text
        # a coloured letter is where the player is
        drawn = re.sub(r"\x1b\[[0-9;]*m(.)\x1b\[0m", r"[\1]", self.env.render() or "")
        return f"{text}\n{re.sub(chr(27) + r'.[0-9;]*m', '', drawn).strip()}"

    def action(self, answer):
        space = self.env.action_space
        if isinstance(space, self.gym.spaces.Text):
            read = answer
        else:
            try:
                read = space.from_jsonable([json.loads(answer)])[0]
            except (ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError) as error:
                raise Refused(f"expected {self.described()}") from error
        if not space.contains(read):
            raise Refused(f"expected {self.described()}")
        return read

    def step(self, answer):
        observation, reward, terminated, truncated, _ = self.env.step(self.action(answer))
        return {"say": self.told(observation), "reward": float(reward), "done": bool(terminated or truncated)}

    def close(self):
        self.env.close()


class TextArena:
    """Games of one player; what is told is what was not told before."""

    @staticmethod
    def names():
        load("textarena", "textarena")
        return sorted(importlib.import_module("textarena.envs.registration").ENV_REGISTRY)

    def __init__(self, name, seed, options):
        arena = load("textarena", "textarena")
        if name not in self.names():
            raise UnknownEnvironment(name)
        self.env = arena.make(name, **options)
        # its games draw from the one generator of `random`
        with arena_lock:
            self.env.reset(num_players=1, seed=seed)
            _, self.told = self.env.get_observation()
        self.say = self.told

    def step(self, answer):
        with arena_lock:
            done, _ = self.env.step(answer)
            if done:
                rewards, _ = self.env.close()
                return {"say": "", "reward": float((rewards or {}).get(0, 0)), "done": True}
            _, text = self.env.get_observation()
        fresh = text[len(self.told) :] if text.startswith(self.told) else text
        self.told = text
        return {"say": fresh.strip(), "reward": 0.0, "done": False}

    def close(self):
        pass


arena_lock = threading.Lock()
sources = {"reasoning-gym": ReasoningGym, "gymnasium": Gymnasium, "textarena": TextArena}
episodes = {}


def plain(value):
    """NumPy's numbers and arrays as JSON has them."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


def answer(request):
    op = request["op"]
    if op == "ping":
        return {}
    if op == "list":
        return {"names": sources[request["from"]].names()}
    episode = request["episode"]
    if op == "start":
        made = sources[request["from"]](request["name"], request["seed"], request["options"])
        episodes[episode] = made
        return {"say": made.say}
    if op == "step":
        try:
            return episodes[episode].step(request["text"])
        except Refused as error:
            return {"say": f"Error: {error}", "reward": 0.0, "done": False}
    if op == "close":
        closed = episodes.pop(episode, None)
        if closed is not None:
            closed.close()
        return {}
    raise ValueError(f"unknown op {op}")


def main():
    # whatever an environment prints must not be taken for an answer
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    lock = threading.Lock()

    def run(request):
        reply = {"id": request["id"]}
        try:
            reply["ok"] = answer(request)
        except MissingPackage as error:
            reply["error"] = {"kind": "missing-package", "message": str(error)}
        except UnknownEnvironment as error:
            reply["error"] = {"kind": "unknown-environment", "message": str(error)}
        except BaseException as error:
            last = "".join(traceback.format_exception(error)[-4:])
            reply["error"] = {"kind": "exception", "message": f"{type(error).__name__}: {error}\n{last}"}
        try:
            line = json.dumps(reply, default=str, allow_nan=False)
        except ValueError as error:  # a reward or an observation that JSON has no number for
            line = json.dumps({"id": request["id"], "error": {"kind": "exception", "message": f"ValueError: {error}"}})
        with lock, contextlib.suppress(BrokenPipeError):
            out.write(line + "\n")
            out.flush()

    for line in sys.stdin:
        threading.Thread(target=run, args=(json.loads(line),), daemon=True).start()
    # threads that hang do not keep it
    os._exit(0)


if __name__ == "__main__":
    main()
