import {
  type Expression,
  importsOf,
  type Program,
  type ProgramFunction,
  type ProgramModule,
  type RepositoryCase,
  type Statement,
} from "./repository-program.ts";

/** JavaScript of the same programs, as CommonJS. `//` is written with `Math.floor`; `%` has the sign of its left side. */
export function writeJavaScript(program: Program, module: ProgramModule, words: ReadonlyMap<string, string>): string {
  // by name: the place of a function tells nothing
  const sorted = [...module.functions].sort((one, other) => (one.name < other.name ? -1 : 1));
  const imports = [...importsOf(program, module)].map(
    ([from, names]) => `const { ${names.join(", ")} } = require("./${from}.js");`,
  );
  const functions = sorted.map((each) => writeFunction(each, words.get(each.name)));
  const exported = `module.exports = { ${sorted.map(({ name }) => name).join(", ")} };`;
  return `${[...(imports.length > 0 ? [imports.join("\n")] : []), ...functions, exported].join("\n\n")}\n`;
}

function writeFunction({ name, params, body }: ProgramFunction, said: string | undefined): string {
  const lines = [...(said === undefined ? [] : [`// ${said}`]), ...body.flatMap(writeStatement)];
  return [`function ${name}(${params.join(", ")}) {`, ...lines.map((line) => `  ${line}`), "}"].join("\n");
}

function writeStatement(statement: Statement): string[] {
  switch (statement.kind) {
    case "return":
      return [`return ${write(statement.value)};`];
    case "assign":
      return [`let ${statement.name} = ${write(statement.value)};`];
    case "guard": {
      const { left, op, right, value } = statement;
      const comparison = { "==": "===", "!=": "!==" }[op as string] ?? op;
      return [`if (${write(left)} ${comparison} ${write(right)}) {`, `  return ${write(value)};`, "}"];
    }
    case "loop": {
      const { name, from, to, sum, value } = statement;
      const head = `for (let ${name} = ${write(from)}; ${name} < ${write(to)}; ${name}++) {`;
      return [head, `  ${sum} = ${sum} + ${writeInner(value)};`, "}"];
    }
    default:
      return statement satisfies never;
  }
}

const library: Readonly<Record<string, string>> = { min: "Math.min", max: "Math.max" };

function write(expression: Expression): string {
  switch (expression.kind) {
    case "number":
      return String(expression.value);
    case "name":
      return expression.name;
    case "binary": {
      const [left, right] = [writeInner(expression.left), writeInner(expression.right)];
      return expression.op === "//" ? `Math.floor(${left} / ${right})` : `${left} ${expression.op} ${right}`;
    }
    case "call":
      return `${library[expression.name] ?? expression.name}(${expression.args.map(write).join(", ")})`;
    default:
      return expression satisfies never;
  }
}

const writeInner = (expression: Expression) =>
  expression.kind === "binary" && expression.op !== "//" ? `(${write(expression)})` : write(expression);

export function writeJavaScriptTests(visible: readonly RepositoryCase[]): string {
  const tests = visible.map(
    ({ name, args, expected }, index) =>
      `exports.test_${index + 1} = () => assert.equal(${name}(${args.join(", ")}), ${expected});`,
  );
  const imports = [...new Set(visible.map((each) => `const { ${each.name} } = require("./${each.module}.js");`))];
  return `${[['const assert = require("node:assert");', ...imports].join("\n"), ...tests].join("\n\n")}\n`;
}

/** Runs the functions of `tests.js` and says which failed: for the tool of the tests, in the episode's box. */
export const visibleJavaScriptTests = `
const { resolve } = require("node:path");
let tests;
try {
  tests = require(resolve("tests.js"));
} catch (error) {
  console.log(\`\${error?.name}: \${String(error?.message).split("\\n")[0]}\`);
  process.exit(1);
}
let [passed, total] = [0, 0];
for (const [name, test] of Object.entries(tests)) {
  if (!name.startsWith("test_") || typeof test !== "function") continue;
  total += 1;
  try {
    test();
    passed += 1;
  } catch (error) {
    const [, claim, expected] = /assert\\.equal\\((.*), (-?\\d+)\\)/.exec(test.toString()) ?? [];
    if (error?.code !== "ERR_ASSERTION" || claim === undefined) console.log(\`\${name}: \${error?.name}: \${error?.message}\`);
    else console.log(\`\${claim} == \${expected} but it is \${error.actual}\`);
  }
}
console.log(\`\${passed} of \${total} passed\`);
process.exit(passed === total ? 0 : 1);
`;

/** Loads the repository with a `require` of its own, for `runJavaScriptTests`, where there are no files. */
export function loadingJavaScript(files: Readonly<Record<string, string>>): string {
  return `const repository = ((files) => {
  const loaded = new Map();
  const find = (from, name) => {
    const parts = from.split("/").slice(0, -1);
    for (const part of name.split("/")) part === ".." ? parts.pop() : part !== "." && parts.push(part);
    const path = parts.join("/");
    return [path, path + ".js", path + "/index.js"].find((each) => Object.hasOwn(files, each));
  };
  const load = (path) => {
    if (loaded.has(path)) return loaded.get(path).exports;
    const module = { exports: {} };
    loaded.set(path, module);
    const require = (name) => {
      const found = /^\\.{1,2}\\//.test(name) ? find(path, name) : undefined;
      if (found === undefined) throw new Error("There is no module " + name);
      return load(found);
    };
    new Function("require", "module", "exports", files[path])(require, module, module.exports);
    return module.exports;
  };
  return load;
})(${JSON.stringify(files)});`;
}
