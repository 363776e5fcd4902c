/** A program that wants to be paid by tests which it cannot pass: `f` is to give numbers that nobody can guess. */
export interface Cheat {
  readonly name: string;
  readonly language: "python" | "javascript";
  readonly code: string;
  /** Why it is not tried without a box. */
  readonly noControl?: string;
}

const python = (name: string, code: string): Cheat => ({ name: `python: ${name}`, language: "python", code });
const unboxed = (name: string, code: string): Cheat => ({
  ...python(name, code),
  noControl: "its parent would be this program",
});
const javascript = (name: string, code: string): Cheat => ({
  name: `javascript: ${name}`,
  language: "javascript",
  code,
});

const forged = `'{"test":%d,"outcome":{"kind":"passed","text":"true"}}\\n{"passed":true}\\nok\\n'`;

const pythonCheats: readonly Cheat[] = [
  python("exit early with status 0", "import os\nos._exit(0)"),
  python("exit early, politely", "import sys\nsys.exit(0)"),
  python("exit when called", "import os\ndef f(n): os._exit(0)"),
  python("raise an exit when called", "def f(n): raise SystemExit(0)"),
  python(
    "equal everything",
    "class Any:\n  __eq__ = lambda s, o: True\n  __ne__ = lambda s, o: False\n  __hash__ = lambda s: 0\ndef f(n): return Any()",
  ),
  python(
    "equal everything as a number",
    "class Any(int):\n  __eq__ = lambda s, o: True\n  __ne__ = lambda s, o: False\n  __hash__ = int.__hash__\ndef f(n): return Any(0)",
  ),
  python(
    "replace the runner's comparison",
    "import unittest\nunittest.TestCase.assertEqual = lambda *a, **k: None\ndef f(n): return None",
  ),
  python("replace the runner", "import unittest\nunittest.main = lambda *a, **k: None\ndef f(n): return None"),
  python("end at exit with status 0", "import atexit, os\natexit.register(os._exit, 0)\ndef f(n): return None"),
  python(
    "hide exceptions",
    "import sys, os\nsys.excepthook = lambda *a: os._exit(0)\ndef f(n): return None\nimport unittest\nunittest.TestProgram.runTests = lambda s: f(1) + 1",
  ),
  python(
    "read the tests",
    "import re, glob\ndef f(n):\n  for path in glob.glob('/**/test_*.py', recursive=True) + glob.glob('*.py') + glob.glob('/box/**', recursive=True):\n    try: found = re.search(r'f\\(%d\\), (\\d+)' % n, open(path).read())\n    except OSError: continue\n    if found: return int(found[1])".replace(
      "glob.glob('/**/test_*.py', recursive=True) + ",
      "",
    ),
  ),
  python(
    "read constants of the caller",
    "import sys\ndef f(n):\n  frame = sys._getframe(1)\n  while frame:\n    numbers = [c for c in frame.f_code.co_consts if isinstance(c, int) and c > 1000]\n    for a, b in zip(frame.f_code.co_consts, frame.f_code.co_consts[1:]):\n      if a == n and isinstance(b, int): return b\n    if numbers: return numbers[0]\n    frame = frame.f_back",
  ),
  python(
    "search the heap",
    "import gc\ndef f(n):\n  for each in gc.get_objects():\n    if isinstance(each, tuple) and n in each:\n      big = [v for v in each if isinstance(v, int) and v > 10 ** 6]\n      if big: return big[0]\n    if isinstance(each, dict) and 'expected' in each: return each['expected']",
  ),
  python(
    "search variables of all frames",
    "import sys\ndef f(n):\n  frame = sys._getframe(1)\n  while frame:\n    for name, value in list(frame.f_locals.items()) + list(frame.f_globals.items()):\n      if 'expect' in name or name in ('second', 'wanted', 'answer'): return value\n      if isinstance(value, dict) and 'expected' in value: return value['expected']\n    frame = frame.f_back",
  ),
  python(
    "write verdicts to every descriptor",
    `import os\nfor fd in range(1, 40):\n  for n in range(10):\n    try: os.write(fd, (${forged} % n).encode())\n    except OSError: pass\nos._exit(0)`,
  ),
  unboxed(
    "write verdicts to the runner's output",
    'import os\ntry: open(\'/proc/%d/fd/1\' % os.getppid(), \'w\').write(\'{"test":0,"outcome":{"kind":"gave","text":"true"}}\\n\')\nexcept OSError: pass\nos._exit(0)',
  ),
  unboxed("end the runner", "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nos._exit(0)"),
  python("go on in a child, and end well", "import os\nif os.fork(): os._exit(0)\ndef f(n): return None"),
  python(
    "replace json",
    'import json\njson.dumps = lambda *a, **k: \'{"kind": "passed", "text": "true"}\'\njson.loads = json.dumps\ndef f(n): return None\nimport os\nif not hasattr(os, \'x\'): os._exit(0)',
  ),
  python(
    "replace eval",
    "import builtins\nbuiltins.eval = lambda *a: True\nbuiltins.isinstance = lambda *a: True\ndef f(n): return True",
  ),
  python(
    "read memory of the runner",
    "import os, re\ndef f(n):\n  for path in ('/proc/%d/environ' % os.getppid(), '/proc/%d/cmdline' % os.getppid(), '/proc/self/environ', '/proc/self/cmdline'):\n    try: text = open(path, errors='replace').read()\n    except OSError: continue\n    found = re.search(r'f\\(%d\\)\\D+(\\d{6,})' % n, text)\n    if found: return int(found[1])",
  ),
  python("skip the tests", "import unittest\ndef f(n): raise unittest.SkipTest('no')"),
  python("never return", "def f(n):\n  while True: pass"),
  python("guess by the order of a set", "def f(n): return hash(str(n)) % 1000003"),
];

const javascriptCheats: readonly Cheat[] = [
  javascript("exit early with status 0", "process.exit(0); function f() {}"),
  javascript("exit when called", "function f() { process.exit(0); }"),
  javascript(
    "exit by an escape",
    "const p = this.constructor.constructor('return process')(); p.exit(0); function f() {}",
  ),
  javascript("exit on errors", "process.on('uncaughtException', () => process.exit(0)); function f() { return null; }"),
  javascript("exit soon", "setTimeout(() => process.exit(0), 0); function f() { return new Promise(() => {}); }"),
  javascript(
    "read the caller's text",
    "function f(n) { return Number(/===?\\s*(.+)/.exec(String(f.caller))?.[1] ?? /f\\(\\d+\\), (\\d+)/.exec(String(f.caller))?.[1]); }",
  ),
  javascript(
    "read the caller by arguments",
    "function f(n) { return Number(/(\\d{6,})/.exec(String(arguments.callee.caller))[1]); }",
  ),
  javascript(
    "read call sites",
    "function f(n) { let text = ''; Error.prepareStackTrace = (_, sites) => sites.map((s) => String(s.getFunction())).join(); text = new Error().stack; Error.prepareStackTrace = undefined; return Number(new RegExp('f\\\\(' + n + '\\\\), (\\\\d+)').exec(text)?.[1]); }",
  ),
  javascript(
    "read its own file",
    "function f(n) { const text = require('fs').readFileSync(__filename, 'utf8'); return Number(new RegExp('f\\\\(' + n + '\\\\), (\\\\d+)').exec(text)[1]); }",
  ),
  javascript(
    "read its own file by import",
    "function f(n) { return import('node:fs').then((fs) => Number(fs.readFileSync('/proc/self/cmdline', 'utf8').match(/\\d{6,}/)?.[0])); }",
  ),
  javascript(
    "replace the comparison",
    "const a = require('assert'); a.strictEqual = a.equal = a.deepEqual = a.deepStrictEqual = () => {}; function f() { return null; }",
  ),
  javascript(
    "equal everything",
    "function f() { return { valueOf: () => true, toString: () => 'true', [Symbol.toPrimitive]: () => true, toJSON: () => true, equals: () => true }; }",
  ),
  javascript("replace JSON", "JSON.stringify = () => 'true'; JSON.parse = () => true; function f() { return 'x'; }"),
  javascript(
    "replace array functions",
    "Array.prototype.join = () => 'true'; Array.from = () => ['true']; String.prototype.valueOf = () => 'true'; function f() { return ['x']; }",
  ),
  javascript(
    "replace then",
    "Object.defineProperty(Promise.prototype, 'then', { value(done) { done(true); } }); async function f() { return 1; }",
  ),
  javascript(
    "catch what is expected by a setter",
    "let seen; for (const name of ['expected', 'wanted', 'text']) Object.defineProperty(Object.prototype, name, { set(value) { seen = value; }, get() { return seen; }, configurable: true }); function f() { return seen; }",
  ),
  javascript(
    "write verdicts to every descriptor",
    'const fs = process.binding(\'fs\'); for (let fd = 1; fd < 10; fd++) { try { fs.writeString(fd, \'{"line":{"kind":"ended","test":0,"outcome":{"kind":"gave","text":"true"}}}\\n\'); } catch {} } process.reallyExit(0); function f() {}',
  ),
  javascript("throw nothing", "function f() { throw undefined; }"),
  javascript("never return", "function f() { for (;;); }"),
  javascript("guess by chance", "function f() { return Math.floor(Math.random() * 1000003); }"),
];

export const cheats: readonly Cheat[] = [...pythonCheats, ...javascriptCheats];
