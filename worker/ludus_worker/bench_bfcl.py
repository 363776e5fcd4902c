"""BFCL's categories that are scored by running calls.

Multi-turn: the package bfcl-eval runs the calls and gives the verdict. Executable (`exec_*`): calls of the functions in
`executable_python_function.py`, which the repository of BFCL has in its history, and of which the package has no copy any more.
"""

import ast
import importlib
import importlib.util
import itertools
import json
import keyword
import os
import sys
import threading
import types

from bridge_loop import BadData, MissingPackage

lock = threading.Lock()
runs = itertools.count()
allowed_difference = 0.2


def written(call):
    """`name(key=value)`, as the package reads calls."""
    values = json.loads(call["arguments"])
    return f"{call['name']}({','.join(f'{key}={value!r}' for key, value in values.items())})"


def checked(calls):
    """Only a name and values may reach `eval`."""
    names = [name for call in calls for name in (call["name"], *json.loads(call["arguments"]))]
    return all(name.isidentifier() and not keyword.iskeyword(name) for name in names)


class MultiTurn:
    @staticmethod
    def load(request):
        part("multi_turn_checker")
        return {}

    def __init__(self, request):
        self.entry = request["entry"]
        self.answers = request["answers"]
        self.functions = set(request["functions"])
        self.checker = part("multi_turn_checker")
        self.utils = part("multi_turn_utils")
        # instances are kept by this name, for good
        self.name = f"ludus_{os.getpid()}_{next(runs)}"
        self.turns = [[] for _ in self.answers]
        self.category = self.entry["id"].rsplit("_", 1)[0]
        self.begun = {}

    def do_call(self, request):
        """Calls of one step of a turn; what each gave."""
        # the package evaluates whatever is no method of the services: `open` would be Python's own
        known = checked(request["calls"]) and all(call["name"] in self.functions for call in request["calls"])
        calls = [written(call) for call in request["calls"]] if known else ["unknown()"]
        self.turns[request["turn"]].append(calls)
        with lock:
            results, _ = self.utils.execute_multi_turn_func_call(
                calls,
                self.entry["initial_config"],
                self.entry["involved_classes"],
                self.name,
                self.entry["id"],
                long_context="long_context" in self.category or "composite" in self.category,
            )
        return {"results": results if known else [results[0] for _ in request["calls"]]}

    def do_score(self, request):
        with lock:
            verdict = self.checker.multi_turn_checker(self.turns, self.answers, self.entry, self.category, self.name)
            return {"valid": bool(verdict["valid"])}

    def close(self):
        """The package keeps what a run called to life in its module."""
        for name in [name for name in vars(self.utils) if name.startswith(self.name)]:
            vars(self.utils).pop(name, None)


def part(name):
    try:
        return importlib.import_module(f"bfcl_eval.eval_checker.multi_turn_eval.{name}")
    except ModuleNotFoundError as error:
        missing = (error.name or "").split(".")[0]
        raise MissingPackage("bfcl-eval" if missing == "bfcl_eval" else missing) from error


class Functions:
    """Runs calls and expected calls, and compares what they return."""

    @staticmethod
    def load(request):
        functions_of(request["folder"])
        return {}

    def __init__(self, request):
        self.functions = functions_of(request["folder"])
        self.begun = {}

    def do_score(self, request):
        calls, expected, kinds = request["calls"], request["expected"], request["types"]
        if len(calls) != len(expected) or not checked(calls):
            return {"valid": False}
        try:
            wanted = [result_of(self.functions, text) for text in expected]
        except Exception as error:
            raise BadData(f"an expected call that does not run ({type(error).__name__}: {error}): {expected}") from error
        given = []
        for call in calls:
            try:
                given.append(result_of(self.functions, written(call)))
            except Exception:
                return {"valid": False}
        left = list(given)
        for want, kind in zip(wanted, kinds, strict=True):
            at = next((i for i, have in enumerate(left) if is_match(have, want, kind)), None)
            if at is None:
                return {"valid": False}
            left.pop(at)
        return {"valid": True}


def functions_of(folder):
    path = os.path.join(folder, "executable_python_function.py")
    if not os.path.isfile(path):
        raise BadData(f"{folder} without executable_python_function.py, which has the functions that are called")
    with lock:
        name = f"ludus_bfcl_{abs(hash(os.path.realpath(path)))}"
        if name in sys.modules:
            return vars(sys.modules[name])
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        # it imports an exception for missing keys of web services
        for stub in ("bfcl", "bfcl.eval_checker", "bfcl.eval_checker.executable_eval"):
            sys.modules.setdefault(stub, types.ModuleType(stub))
        custom = types.ModuleType("bfcl.eval_checker.executable_eval.custom_exception")
        custom.NoAPIKeyError = type("NoAPIKeyError", (Exception,), {})
        sys.modules.setdefault(custom.__name__, custom)
        try:
            spec.loader.exec_module(module)
        except ModuleNotFoundError as error:
            raise MissingPackage(error.name) from error
        sys.modules[name] = module
        return vars(module)


def result_of(functions, text):
    """One call of a function by its name with plain values: nothing else of an expression is run."""
    call = ast.parse(text.strip(), mode="eval").body
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
        raise ValueError("no call")
    function = functions[call.func.id]
    if not isinstance(function, types.FunctionType) or function.__module__ != functions["__name__"]:
        raise ValueError(f"no function {call.func.id}")
    values = [ast.literal_eval(each) for each in call.args]
    named = {each.arg: ast.literal_eval(each.value) for each in call.keywords}
    result = function(*values, **named)
    return list(result) if isinstance(result, tuple) else result


def is_match(have, want, kind):
    if kind == "exact_match":
        return bool(have == want)
    if kind == "real_time_match":
        numbers = all(type(each) in (int, float) for each in (have, want))
        return numbers and want * (1 - allowed_difference) <= have <= want * (1 + allowed_difference)
    if type(have) is not type(want):
        return False
    if isinstance(have, dict):
        return set(have) == set(want)
    return not isinstance(have, list) or len(have) == len(want)
