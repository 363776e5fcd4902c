from __future__ import annotations


class LudusError(Exception):
    """What was got, what was expected and what to do; becomes the error of the same name in TypeScript."""

    def __init__(self, code: str, got: str, expected: str, hint: str | None = None):
        super().__init__(f"{code}: got {got}, expected {expected}.{'' if hint is None else ' ' + hint}")
        self.code, self.got, self.expected, self.hint = code, got, expected, hint


def unknown_weights(name: str, known: list[str]) -> LudusError:
    return LudusError(
        "unknown-weights", f'weights "{name}"', f"one of {', '.join(known)}", "Make them with engine.snapshot(name)."
    )
