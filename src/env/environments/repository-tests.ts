import { defined } from "../../defined.ts";
import { runPythonTests } from "../../tool/sandbox/python-tests.ts";
import type { Box, Sandbox } from "../../tool/sandbox/sandbox.ts";
import { callOf, type RepositoryCase } from "./repository-tasks.ts";

/** Runs the functions of `tests.py` and says which failed: for the tool of the tests, in the episode's box. */
export const visibleTestsProgram = `
import linecache, sys
try:
    import tests
except BaseException as error:
    print(f"{type(error).__name__}: {error}")
    sys.exit(1)
passed = total = 0
for name, test in list(vars(tests).items()):
    if not name.startswith("test_") or not callable(test):
        continue
    total += 1
    try:
        test()
        passed += 1
    except AssertionError:
        last = sys.exc_info()[2]
        while last.tb_next:
            last = last.tb_next
        line = linecache.getline(last.tb_frame.f_code.co_filename, last.tb_lineno).strip()
        claim = line[len("assert "):] if line.startswith("assert ") else line
        try:
            print(claim, "but it is", eval(claim.rsplit(" == ", 1)[0], last.tb_frame.f_globals))
        except Exception:
            print(claim, "failed")
    except Exception as error:
        print(f"{name}: {type(error).__name__}: {error}")
print(f"{passed} of {total} passed")
sys.exit(0 if passed == total else 1)
`;

/** Writes and imports the repository. */
function loadingCode(files: Readonly<Record<string, string>>, modules: readonly string[]): string {
  // a string of JSON is one of Python
  const text = JSON.stringify(JSON.stringify(files));
  return [
    "import json, os, sys",
    "sys.dont_write_bytecode = True",
    'root = os.path.join(os.getcwd(), "repository")',
    `for path, text in json.loads(${text}).items():`,
    "    os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)",
    '    with open(os.path.join(root, path), "w", encoding="utf-8") as file: file.write(text)',
    "sys.path.insert(0, root)",
    "import importlib",
    `modules = {name: importlib.import_module(name) for name in ${JSON.stringify(modules)}}`,
  ].join("\n");
}

// each call takes microseconds
const limits = { testMs: 2_000, timeoutMs: 10_000 };

/** Whether all hidden tests pass. They are one expression, whose values are compared outside: nothing that is expected enters the box. */
export async function passesHidden(
  files: Readonly<Record<string, string>>,
  hidden: readonly RepositoryCase[],
  { sandbox, signal }: { sandbox: Sandbox | undefined; signal: AbortSignal },
): Promise<boolean> {
  const modules = [...new Set(hidden.map(({ module }) => module))];
  const values = hidden.map((each) => `modules[${JSON.stringify(each.module)}].${callOf(each)}`);
  const test = {
    name: "hidden tests",
    expression: `[${values.join(", ")}]`,
    expected: hidden.map(({ expected }) => expected),
  };
  const code = loadingCode(files, modules);
  const { passed } = await runPythonTests({ code, tests: [test], limits, ...defined({ sandbox }) }, signal);
  signal.throwIfAborted();
  return passed === 1;
}

const maxFiles = 200;
const maxFileBytes = 1 << 16;

/** The Python files of a box in which a shell was used, and which may hold anything. */
export async function pythonFiles(box: Box, signal: AbortSignal): Promise<Record<string, string>> {
  const args = ["-name", "*.py", "-type", "f", "-size", `-${maxFileBytes}c`, "-print0"];
  const ended = await box.exec("find", { args, signal });
  const paths = ended.stdout.split("\0").filter(Boolean).sort().slice(0, maxFiles);
  const files: Record<string, string> = {};
  for (const path of paths) {
    const bytes = await box.read(path.slice(2)).catch(() => undefined);
    if (bytes !== undefined) files[path.slice(2)] = new TextDecoder().decode(bytes);
  }
  return files;
}
