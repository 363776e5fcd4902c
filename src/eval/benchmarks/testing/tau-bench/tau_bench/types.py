"""Stands in for τ-bench's types, with the same names."""

from dataclasses import dataclass, field


@dataclass
class Action:
    name: str
    kwargs: dict


@dataclass
class Task:
    user_id: str
    actions: list
    instruction: str
    outputs: list = field(default_factory=list)


@dataclass
class EnvResponse:
    observation: str
    reward: float
    done: bool
