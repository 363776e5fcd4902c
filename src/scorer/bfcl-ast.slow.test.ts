import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { type BfclAnswer, type BfclFunction, bfclMatches, bfclName } from "./bfcl-ast.ts";
import { type PythonValue, parsePythonJson } from "./python-json.ts";

// Runs where LUDUS_ENVIRONMENTS names a Python with bfcl-eval, as scripts/setup-environments.sh makes it: its records, and its verdicts on calls
// made of them.
const python = process.env.LUDUS_ENVIRONMENTS;

const script = `
import json, random, sys, types
from pathlib import Path
fake = types.ModuleType("bfcl_eval.constants.model_config")
class Names(dict):
    def __missing__(self, key): return types.SimpleNamespace(underscore_to_dot=True)
fake.MODEL_CONFIG_MAPPING = Names()
sys.modules["bfcl_eval.constants.model_config"] = fake
import bfcl_eval
from bfcl_eval.constants.enums import Language
from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker
data = Path(bfcl_eval.__file__).parent / "data"
rng = random.Random(5)
odd = ["", "x", 0, 1, -2.5, True, None, [], ["x"], {}, {"a": 1}]

def first(options):
    options = [option for option in options if option != ""]
    return rng.choice(options) if options else None

def plain(value):
    if isinstance(value, dict):
        chosen = {key: first(inner) if isinstance(inner, list) else inner for key, inner in value.items()}
        return {key: inner for key, inner in chosen.items() if inner is not None}
    if isinstance(value, list): return [plain(item) if isinstance(item, dict) else item for item in value]
    return value

def call_of(truth):
    (name, params), = truth.items()
    chosen = {key: plain(first(options)) for key, options in params.items() if "" not in options or rng.random() < 0.5}
    return {name.replace(".", "_"): {key: value for key, value in chosen.items() if value is not None}}

def changed(calls):
    calls = json.loads(json.dumps(calls))
    kind = rng.randrange(6)
    if kind == 0: return calls[1:]
    if kind == 1: return calls[::-1]
    if kind == 2: return calls + calls[:1]
    call = rng.choice(calls)
    (name, params), = call.items()
    if kind == 3: params["not_there"] = 1
    elif params:
        key = rng.choice(sorted(params))
        value = params[key]
        if kind == 4: params[key] = rng.choice(odd)
        elif isinstance(value, str): params[key] = rng.choice([value.upper(), value + ".", " " + value, value + "z"])
        elif isinstance(value, int): params[key] = rng.choice([float(value), str(value), value + 1])
        elif isinstance(value, list): params[key] = rng.choice([value[::-1], value + value[:1], [str(v) for v in value]])
        else: del params[key]
    return calls

for category in ["simple_python", "multiple", "parallel", "parallel_multiple", "live_simple", "live_multiple", "live_parallel", "live_parallel_multiple"]:
    name = f"BFCL_v4_{category}.json"
    rows = [json.loads(line) for line in open(data / name)]
    answers = {row["id"]: row["ground_truth"] for row in map(json.loads, open(data / "possible_answer" / name))}
    for row in rows:
        truth = answers[row["id"]]
        right = [call_of(one) for one in truth]
        for calls in [right] + [changed(right) for _ in range(4)]:
            try: valid = ast_checker(row["function"], calls, truth, Language.PYTHON, category, "fake")["valid"]
            except Exception as error: valid = type(error).__name__
            print(json.dumps({"category": category, "functions": row["function"], "truth": truth, "calls": calls, "valid": valid}))
`;

interface Case {
  readonly category: string;
  readonly functions: readonly BfclFunction[];
  readonly truth: readonly BfclAnswer[];
  readonly calls: readonly Readonly<Record<string, Readonly<Record<string, PythonValue>>>>[];
  readonly valid: boolean | string;
}

test.skipIf(python === undefined)(
  "verdicts are those of bfcl-eval, on its own records and changed calls",
  { timeout: 300_000 },
  () => {
    const { stdout, stderr, status } = spawnSync(python!, ["-c", script], { encoding: "utf8", maxBuffer: 2 ** 30 });
    expect(status, stderr).toBe(0);
    const cases = stdout
      .trim()
      .split("\n")
      .map((line) => parsePythonJson(line) as unknown as Case);
    const counts = { right: 0, wrong: 0, thrown: 0 };
    const different: unknown[] = [];
    for (const { category, functions, truth, calls, valid } of cases) {
      const said = calls.map((call) => {
        const [[name, args]] = Object.entries(call);
        return { name: bfclName(name), arguments: args };
      });
      const ours = bfclMatches(functions, said, truth, category);
      // calls that make the released code throw are wrong
      counts[typeof valid === "string" ? "thrown" : valid ? "right" : "wrong"]++;
      if (ours !== (valid === true)) different.push({ category, calls, truth, valid, ours });
    }
    expect(different.slice(0, 3)).toEqual([]);
    expect(counts.right).toBeGreaterThan(2_000);
    expect(counts.wrong).toBeGreaterThan(2_000);
  },
);
