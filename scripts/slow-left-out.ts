import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** What makes the program that a variable names. */
const setups: Readonly<Record<string, string>> = {
  LUDUS_AGENTS: "scripts/setup-agents.sh",
  LUDUS_BROWSER: "scripts/setup-browser.sh",
  LUDUS_ENVIRONMENTS: "scripts/setup-environments.sh",
  LUDUS_LLAMA_CPP_PYTHON: "scripts/setup-llama-cpp.sh",
  LUDUS_PYTHON: "scripts/setup-python.sh",
  LUDUS_TINKER_PYTHON: "scripts/setup-tinker.sh",
  LUDUS_VLLM_PYTHON: "scripts/setup-vllm.sh",
};

export function slowSuites(root: string): string[] {
  return globSync("{src,test}/**/*.slow.test.ts", { cwd: root }).sort();
}

/** One line on slow suites that run only with a variable that is not set, all or in part; empty where there are none. */
export function slowLeftOut(root: string, env: Readonly<Record<string, string | undefined>>): string {
  const lacking = Object.keys(setups).filter((variable) => !env[variable]);
  const suitesOf = new Map<string, string[]>();
  for (const suite of slowSuites(root)) {
    const text = readFileSync(join(root, suite), "utf8");
    const variable = lacking.find((name) => new RegExp(`process\\.env\\.${name}\\b`).test(text));
    if (variable !== undefined) suitesOf.set(variable, [...(suitesOf.get(variable) ?? []), suite]);
  }
  const parts = [...suitesOf].map(
    ([variable, suites]) => `${suites.join(", ")} (${variable} is not set; ${setups[variable]})`,
  );
  return parts.length === 0 ? "" : `Left out, or a part of it: ${parts.join("; ")}.`;
}
