import { defined } from "../../defined.ts";
import { runJavaScriptTests } from "../../tool/sandbox/javascript-tests.ts";
import { runPythonTests } from "../../tool/sandbox/python-tests.ts";
import type { Box, Sandbox } from "../../tool/sandbox/sandbox.ts";
import { loadingJavaScript } from "./repository-javascript.ts";
import type { RepositoryCase, RepositoryLanguage } from "./repository-program.ts";
import { callOf } from "./repository-tasks.ts";

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

interface HiddenTests {
  readonly files: Readonly<Record<string, string>>;
  readonly language: RepositoryLanguage;
  readonly hidden: readonly RepositoryCase[];
}

/** Whether all hidden tests pass. They are one expression, whose values are compared outside: nothing that is expected enters the box. */
export async function passesHidden(
  { files, language, hidden }: HiddenTests,
  { sandbox, signal }: { sandbox: Sandbox | undefined; signal: AbortSignal },
): Promise<boolean> {
  const modules = [...new Set(hidden.map(({ module }) => module))];
  const expected = hidden.map((each) => each.expected);
  const test = (values: readonly string[]) => ({
    name: "hidden tests",
    expression: `[${values.join(", ")}]`,
    expected,
  });
  if (language === "python") {
    const values = hidden.map((each) => `modules[${JSON.stringify(each.module)}].${callOf(each)}`);
    const code = loadingCode(files, modules);
    const report = await runPythonTests({ code, tests: [test(values)], limits, ...defined({ sandbox }) }, signal);
    signal.throwIfAborted();
    return report.passed === 1;
  }
  // -0 is 0
  const values = hidden.map((each) => `repository(${JSON.stringify(`${each.module}.js`)}).${callOf(each)} + 0`);
  const level = sandbox?.level === "process" ? "process" : "namespace";
  const code = loadingJavaScript(files);
  const report = await runJavaScriptTests(
    { code, tests: [test(values)], limits: { timeoutMs: limits.timeoutMs }, level },
    signal,
  );
  signal.throwIfAborted();
  return report.passed === 1;
}

const maxFiles = 200;
const maxFileBytes = 1 << 16;

/** The source files of a box in which a shell was used, and which may hold anything. */
export async function sourceFiles(
  box: Box,
  language: RepositoryLanguage,
  signal: AbortSignal,
): Promise<Record<string, string>> {
  const args = [
    "-name",
    language === "python" ? "*.py" : "*.js",
    "-type",
    "f",
    "-size",
    `-${maxFileBytes}c`,
    "-print0",
  ];
  const ended = await box.exec("find", { args, signal });
  const paths = ended.stdout.split("\0").filter(Boolean).sort().slice(0, maxFiles);
  const files: Record<string, string> = {};
  for (const path of paths) {
    const bytes = await box.read(path.slice(2)).catch(() => undefined);
    if (bytes !== undefined) files[path.slice(2)] = new TextDecoder().decode(bytes);
  }
  return files;
}
