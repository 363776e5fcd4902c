"""SWE-bench's own grading of a log of tests: its parsers, and its rules of what is resolved."""

import importlib
import os
import tempfile

from bridge_loop import load


class Grading:
    @staticmethod
    def load(request):
        package = load("swebench", "swebench")
        importlib.import_module("swebench.harness.grading")
        return {"version": getattr(package, "__version__", "")}

    def __init__(self, request):
        self.request = request
        self.begun = {}

    def do_grade(self, request):
        grading = importlib.import_module("swebench.harness.grading")
        types = importlib.import_module("swebench.types")
        task = request["task"]
        spec = types.TestSpec(
            instance_id=task["id"],
            image="",
            eval_script_list=[],
            repo=task["repository"],
            version=task.get("version", ""),
            FAIL_TO_PASS=task["failToPass"],
            PASS_TO_PASS=task["passToPass"],
            log_parser=request["parser"],
            eval_type=request["evalType"],
        )
        prediction = {"instance_id": task["id"], "model_name_or_path": "model", "model_patch": request["patch"]}
        handle, path = tempfile.mkstemp(suffix=".log")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(request["log"])
            report = grading.get_eval_report(spec, prediction, path, include_tests_status=True)
        finally:
            os.unlink(path)
        return {"report": report[task["id"]]}
