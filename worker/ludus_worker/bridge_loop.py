"""The other half of `PythonBridge`: requests and answers are lines of JSON on the standard streams.

Each request has a thread, so that one that hangs holds none of the others. A thread that still works for an episode when it is closed is
interrupted. Ends with its standard input.
"""

import contextlib
import ctypes
import importlib
import json
import os
import sys
import threading
import traceback


class MissingPackage(Exception):
    pass


class UnknownEnvironment(Exception):
    pass


class Refused(Exception):
    """What the policy did wrong: it is told, and the episode goes on."""


class BadData(Exception):
    """Files that are not what they should be."""


class GivenUp(BaseException):
    """Raised in a thread whose episode was closed meanwhile."""


def load(module, package):
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == module.split(".")[0]:
            raise MissingPackage(package) from error
        raise


def plain(value):
    """NumPy's numbers and arrays as JSON has them."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


class Workers:
    """Which thread works for which episode."""

    def __init__(self):
        self.lock = threading.Lock()
        self.threads = {}

    @contextlib.contextmanager
    def working(self, episode):
        ident = threading.get_ident()
        with self.lock:
            self.threads.setdefault(episode, set()).add(ident)
        try:
            yield
        finally:
            with self.lock:
                left = self.threads.get(episode, set())
                left.discard(ident)
                if not left:
                    self.threads.pop(episode, None)

    def give_up(self, episode):
        """A loop in Python ends with it; a call into C first has to return."""
        with self.lock:
            for ident in self.threads.get(episode, ()):
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(GivenUp))


def failure(error):
    kinds = {MissingPackage: "missing-package", UnknownEnvironment: "unknown-environment", BadData: "bad-data"}
    if type(error) in kinds:
        return {"kind": kinds[type(error)], "message": str(error)}
    last = "".join(traceback.format_exception(error)[-4:])
    return {"kind": "exception", "message": f"{type(error).__name__}: {error}\n{last}"}


def serve(answer):
    # whatever an environment prints must not be taken for an answer
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    lock = threading.Lock()
    workers = Workers()

    def answered(request):
        try:
            if request["op"] == "close":
                workers.give_up(request["episode"])
                return {"ok": answer(request)}
            with workers.working(request.get("episode")):
                return {"ok": answer(request)}
        except BaseException as error:
            return {"error": failure(error)}

    def run(request):
        reply = {"id": request["id"], **answered(request)}
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
