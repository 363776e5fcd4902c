"""Stands in for τ²-bench's messages, with the same names and fields."""

from dataclasses import dataclass


@dataclass
class ToolCall:
    id: str
    name: str
    arguments: dict
    requestor: str


@dataclass
class AssistantMessage:
    role: str
    content: str | None = None
    tool_calls: list | None = None


@dataclass
class UserMessage(AssistantMessage):
    pass


@dataclass
class ToolMessage:
    id: str
    role: str
    content: str
    requestor: str
    error: bool = False
