/**
 * Runs files of tests, each test in a child of its own. A test has passed when its function returned: a child that exits early, with any status,
 * has not. Imports are done before the repository is on the path, so that none of its files can stand in for the library's.
 */
export const pythonRunner = `
import sys
# Python puts the folder it runs in first
sys.path[:] = [each for each in sys.path if each not in ("", ".")]
import importlib.util, inspect, json, os, signal, unittest

paths = sys.argv[1:]
sys.argv = ["test"]
channel = os.dup(1)
quiet = os.open(os.devnull, os.O_RDWR)
for standard in (0, 1):
    os.dup2(quiet, standard)
root = os.getcwd()

def load(path):
    folder = os.path.dirname(os.path.join(root, path))
    for each in (root, folder):
        if each not in sys.path:
            sys.path.insert(0, each)
    name = os.path.splitext(path)[0].replace("/", ".")
    spec = importlib.util.spec_from_file_location(name, os.path.join(root, path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module

def tests_of(module):
    for name, value in list(vars(module).items()):
        if inspect.isclass(value) and issubclass(value, unittest.TestCase) and value.__module__ == module.__name__:
            for method in unittest.TestLoader().getTestCaseNames(value):
                yield "%s::%s" % (name, method), lambda value=value, method=method: run_case(value, method)
        elif name.startswith("test") and inspect.isfunction(value) and not inspect.signature(value).parameters:
            yield name, value

def run_case(value, method):
    result = unittest.TestResult()
    suite = unittest.TestLoader().suiteClass([value(method)])
    suite.run(result)
    if not result.wasSuccessful() or result.testsRun != 1 or result.skipped:
        raise AssertionError("".join(text for _, text in result.errors + result.failures) or method)

def in_child(work):
    # what code under test writes to the pipe without it is not read
    secret = os.urandom(16).hex()
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reader)
            os.close(channel)
            for answer in work():
                os.write(writer, (secret + answer + "\\n").encode())
        except BaseException as error:
            sys.stderr.write("%s: %s\\n" % (type(error).__name__, error))
            sys.stderr.flush()
        finally:
            os._exit(0)
    os.close(writer)
    data = b""
    while True:
        chunk = os.read(reader, 65536)
        if not chunk:
            break
        data += chunk
    os.close(reader)
    os.waitpid(pid, 0)
    lines = data.decode(errors="replace").split("\\n")[:-1]
    return [line[len(secret):] for line in lines if line.startswith(secret)]

def names(path):
    return [name for name, _ in tests_of(load(path))]

def run(path, wanted):
    for name, test in tests_of(load(path)):
        if name == wanted:
            test()
            yield "passed"

failed = False
for path in paths:
    found = in_child(lambda: names(path))
    failed = failed or not found
    for name in found:
        passed = in_child(lambda: run(path, name)) == ["passed"]
        failed = failed or not passed
        os.write(channel, (json.dumps({"test": path + "::" + name, "passed": passed}) + "\\n").encode())
sys.exit(1 if failed else 0)
`;

/** Prints results of \`node --test\`: names of suites and tests joined by \` > \`. Suites themselves, skipped tests and ones to do are left out. */
export const nodeReporter = `
import { relative } from "node:path";
export default async function* report(events) {
  const above = [];
  for await (const { type, data } of events) {
    if (type === "test:start") above.splice(data.nesting, above.length, data.name);
    if (type !== "test:pass" && type !== "test:fail") continue;
    if (data.details?.type === "suite" || data.skip !== undefined || data.todo !== undefined) continue;
    const file = data.file === undefined ? "" : relative(process.cwd(), data.file) + "::";
    const name = [...above.slice(0, data.nesting), data.name].join(" > ");
    yield JSON.stringify({ test: file + name, passed: type === "test:pass" }) + "\\n";
  }
}
`;
