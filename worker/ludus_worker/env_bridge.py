"""Environments of Python libraries, for Ludus, by the protocol of `bridge_loop.py`.

    {"id": 1, "op": "start", "from": "gymnasium", "name": "FrozenLake-v1", "seed": 3, "options": {}, "episode": "e"}
    {"id": 1, "ok": {"say": "..."}}
"""

import os
import sys

from bridge_loop import Refused, UnknownEnvironment, load, plain, serve
from env_verifiers import Verifiers

# this folder has modules of common names
if sys.path and sys.path[0] == os.path.dirname(os.path.abspath(__file__)):
    sys.path.pop(0)

import contextlib
import functools
import importlib
import json
import random
import re
import threading


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
        draw_apart()
        load("textarena", "textarena")
        return sorted(importlib.import_module("textarena.envs.registration").ENV_REGISTRY)

    def __init__(self, name, seed, options):
        draw_apart()
        arena = load("textarena", "textarena")
        if name not in self.names():
            raise UnknownEnvironment(name)
        self.random = random.Random(seed)
        self.env = arena.make(name, **options)
        with drawing_from(self.random):
            self.env.reset(num_players=1, seed=seed)
            _, self.told = self.env.get_observation()
        self.say = self.told

    def step(self, answer):
        with drawing_from(self.random):
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


sources = {"reasoning-gym": ReasoningGym, "gymnasium": Gymnasium, "textarena": TextArena, "verifiers": Verifiers}
episodes = {}


# TextArena's games draw from the one generator of `random`: here each episode has its own, so that none waits for another
drawer = threading.local()


@contextlib.contextmanager
def drawing_from(generator):
    drawer.generator = generator
    try:
        yield
    finally:
        drawer.generator = None


@functools.cache
def draw_apart():
    """Functions of `random` draw from the generator of the thread, where it has one. Before a library takes them over by name."""
    for name in random.__all__:
        shared = getattr(random, name)
        if getattr(shared, "__self__", None) is not random._inst:
            continue

        def draw(*args, _name=name, _shared=shared, **options):
            generator = getattr(drawer, "generator", None)
            return (_shared if generator is None else getattr(generator, _name))(*args, **options)

        setattr(random, name, draw)


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


if __name__ == "__main__":
    serve(answer)
