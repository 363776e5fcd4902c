// The program inside the child process of `runJavaScriptTests`: a request on standard input, lines on file descriptor 3.
import { readFileSync, writeSync } from "node:fs";
import { Script } from "node:vm";
import { evaluateInRealm } from "./javascript-realm.ts";
import type { JavaScriptTestsLine, JavaScriptTestsRequest } from "./javascript-tests-lines.ts";

const { secret, code, expressions }: JavaScriptTestsRequest = JSON.parse(readFileSync(0, "utf8"));
const say = (line: JavaScriptTestsLine) => void writeSync(3, `${JSON.stringify({ secret, line })}\n`);
const script = compile();
if (script !== undefined) {
  for (const [test, expression] of expressions.entries()) {
    say({ kind: "started", test });
    say({ kind: "ended", test, outcome: await evaluateInRealm(script, expression) });
  }
  say({ kind: "finished" });
}
process.exit(0);

function compile(): Script | undefined {
  try {
    return new Script(code, { filename: "code.js" });
  } catch (error) {
    say({ kind: "not-compiled", message: String(error) });
    return undefined;
  }
}
