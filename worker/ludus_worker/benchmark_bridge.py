"""Benchmarks whose tools, games and scorers are Python, for Ludus, by the protocol of `bridge_loop.py`.

    {"id": 1, "op": "load", "kind": "tau-bench", "folder": "tau-bench"}
    {"id": 2, "op": "start", "kind": "tau-bench", "folder": "tau-bench", "task": "retail/0", "episode": "e"}
    {"id": 3, "op": "do", "what": "call", "episode": "e", "name": "think", "arguments": "{}"}
"""

import os
import sys

import bench_alfworld
import bench_bfcl
import bench_swe
import bench_tau
import bench_tau2
from bridge_loop import serve

# this folder has modules of common names
if sys.path and sys.path[0] == os.path.dirname(os.path.abspath(__file__)):
    sys.path.pop(0)

kinds = {
    "alfworld": bench_alfworld.Game,
    "bfcl-exec": bench_bfcl.Functions,
    "bfcl-multi-turn": bench_bfcl.MultiTurn,
    "swe-bench": bench_swe.Grading,
    "tau-bench": bench_tau.TauBench,
    "tau2-bench": bench_tau2.Tau2Bench,
}
episodes = {}


def answer(request):
    op = request["op"]
    if op == "ping":
        return {}
    if op == "load":
        return kinds[request["kind"]].load(request)
    if op == "start":
        made = kinds[request["kind"]](request)
        episodes[request["episode"]] = made
        return made.begun
    if op == "do":
        return getattr(episodes[request["episode"]], f"do_{request['what']}")(request)
    if op == "close":
        closed = episodes.pop(request["episode"], None)
        if closed is not None and hasattr(closed, "close"):
            closed.close()
        return {}
    raise ValueError(f"unknown op {op}")


if __name__ == "__main__":
    serve(answer)
