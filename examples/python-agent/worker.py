"""Runs the agent on tasks that come as lines of JSON, many at once, and posts how well each attempt went."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor

from agent import agent, post


def attempt(task):
    said = agent(task["question"], task["world"], task["url"])
    post(task["rewardUrl"], {"reward": 1 if said == task["answer"] else 0})


def tell(done):
    if done.exception() is not None:
        print(done.exception(), file=sys.stderr)


with ThreadPoolExecutor(32) as pool:
    for line in sys.stdin:
        pool.submit(attempt, json.loads(line)).add_done_callback(tell)
