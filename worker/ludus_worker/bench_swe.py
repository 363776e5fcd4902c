"""SWE-bench's own script and grading of a task: its parsers of logs, and its rules of what is resolved."""

import importlib
import os
import tempfile

from bridge_loop import BadData, load


def part(name):
    load("swebench", "swebench")
    return importlib.import_module(f"swebench.harness.{name}")


class Grading:
    @staticmethod
    def load(request):
        part("grading")
        return {}

    def __init__(self, request):
        record = {"image": "", "version": "", **{key: value for key, value in request["record"].items() if value is not None}}
        parsers = part("log_parsers").PARSER_REGISTRY
        if record["log_parser"] not in parsers:
            raise BadData(f"{record['instance_id']} with the log parser {record['log_parser']!r}, which swebench has not")
        self.spec = part("utils").make_test_spec(record)
        self.begun = {"script": self.spec.eval_script}

    def do_grade(self, request):
        name = self.spec.instance_id
        prediction = {"instance_id": name, "model_name_or_path": "model", "model_patch": request["patch"]}
        handle, path = tempfile.mkstemp(suffix=".log")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(request["log"])
            report = part("grading").get_eval_report(self.spec, prediction, path, include_tests_status=True)
        finally:
            os.unlink(path)
        return {"report": report[name]}
