from __future__ import annotations

import logging
import traceback

log = logging.getLogger("ludus")


class LudusError(Exception):
    """What was got, what was expected and what to do; becomes the error of the same name in TypeScript."""

    def __init__(self, code: str, got: str, expected: str, hint: str | None = None):
        super().__init__(f"{code}: got {got}, expected {expected}.{'' if hint is None else ' ' + hint}")
        self.code, self.got, self.expected, self.hint = code, got, expected, hint


def unknown_weights(name: str, known: list[str]) -> LudusError:
    return LudusError(
        "unknown-weights", f'weights "{name}"', f"one of {', '.join(known)}", "Make them with engine.snapshot(name)."
    )


def weights_released(name: str) -> LudusError:
    return LudusError(
        "unknown-weights",
        f'weights "{name}", released while a sample was waiting for them',
        "weights that stay until their samples have ended",
        "Await the samples before engine.release({ weights }).",
    )


def details_of(name: str, error: Exception) -> dict[str, str]:
    """An error as the other side reads it; what was not expected is logged here with its trace."""
    if isinstance(error, LudusError):
        return {"code": error.code, "got": error.got, "expected": error.expected, "hint": error.hint}
    log.error("%s failed\n%s", name, "".join(traceback.format_exception(error)))
    got = f"{type(error).__name__}: {error}"
    return {"code": "worker-error", "got": got, "expected": f"{name.lower()}() to succeed"}
