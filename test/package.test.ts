import { execFile, execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import packageJson from "../package.json" with { type: "json" };
import { nodeProblem } from "../src/check-node.ts";

// What a user gets: the packed tarball, installed into an empty project.
const run = promisify(execFile);
const root = join(import.meta.dirname, "..");
let project: string;
let tarball: string;
let packedFiles: string[];
let installed: { stderr: string };

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), "ludus-package-"));
  const { stdout } = await npm(root, "pack", "--json", "--pack-destination", project);
  const packed = readPackReport(stdout);
  packedFiles = packed.files.map(({ path }) => path);
  tarball = join(project, packed.filename);

  // as npm init -y writes it, and with what the README says of install scripts
  const allowScripts = { "onnxruntime-node": false };
  await writeFile(join(project, "package.json"), JSON.stringify({ name: "user", type: "commonjs", allowScripts }));
  installed = await npm(project, "install", "--prefer-offline", "--no-audit", "--no-fund", tarball);
});

afterAll(() => rm(project, { recursive: true, force: true }));

test("is installed without a warning about this package", () => {
  const ofOthers = /Unknown (user|env|global) config|EBADENGINE|^\s*$/;
  expect(installed.stderr.split("\n").filter((line) => !ofOthers.test(line))).toEqual([]);
});

test("ships dist, the program, the worker, the documentation and what npm adds, nothing else", () => {
  const others = packedFiles.filter((path) => !/^(dist|worker|docs)\//.test(path));
  const expected = ["LICENSE", "README.md", "bin/ludus.js", "package.json"];
  expect(others.filter((path) => path !== "CHANGELOG.md").sort()).toEqual(expected);
  expect(packedFiles).toContain("worker/ludus_worker/__main__.py");
  expect(packedFiles).toEqual(
    expect.arrayContaining(["docs/README.md", "docs/how-to/training.md", "docs/reference/api.md"]),
  );
  expect(packedFiles.filter((path) => /^docs\//.test(path) && !/\.(md|svg)$/.test(path))).toEqual([]);
  expect(packedFiles.filter((path) => /worker\/tests|__pycache__/.test(path))).toEqual([]);
  expect(packedFiles.filter((path) => /\.test\.|tsconfig|\.tsbuildinfo/.test(path))).toEqual([]);
});

test("every entry of package.json is in it", () => {
  const entries = [...Object.values(packageJson.bin), ...Object.values(packageJson.exports).flatMap(targets)];
  expect(entries.filter((entry) => !packedFiles.includes(entry.replace("./", "")))).toEqual([]);
});

test('import "ludus" works without the test runner', async () => {
  expect(existsSync(join(project, "node_modules/vitest"))).toBe(false);
  const script = 'import { LudusError } from "ludus"; console.log(typeof LudusError)';
  const { stdout } = await run("node", ["--input-type=module", "--eval", script], { cwd: project });
  expect(stdout).toBe("function\n");
});

test("the embedded engine trains and samples there", async () => {
  const script = `import { embedded, models } from "ludus";
    const engine = await embedded({ model: models.tiny({ vocabularySize: 16, contextLength: 32 }), threads: 1 });
    const forward = await engine.forward({ rows: [{ tokens: [1, 2, 3] }] });
    await engine.backward(forward, { logprobs_B_T: [Float32Array.of(0, -1, -1)] });
    const { applied } = await engine.step({ learningRate: 1e-3 });
    const { tokens } = await engine.sample({ tokens: [1], maxTokens: 4, seed: 1 });
    console.log(applied, tokens.length);
    await engine.close();`;
  const { stdout } = await run("node", ["--input-type=module", "--eval", script], { cwd: project });
  expect(stdout).toBe("true 4\n");
});

test("npx ludus --version prints the version", async () => {
  const { stdout } = await run("npx", ["--no-install", "ludus", "--version"], { cwd: project, env: userEnv() });
  expect(stdout).toBe(`${packageJson.version}\n`);
});

test("an unknown command fails with a suggestion", async () => {
  const attempt = run("npx", ["--no-install", "ludus", "versoin"], { cwd: project, env: userEnv() });
  await expect(attempt).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining('"ludus version"') });
});

test("a file of a project that npm init made imports it, and can require it", async () => {
  await writeFile(join(project, "agent.mts"), 'import { grpo } from "ludus";\nconsole.log(await grpo().name);\n');
  expect((await run("node", ["agent.mts"], { cwd: project })).stdout).toBe("grpo\n");
  await writeFile(join(project, "agent.cjs"), 'console.log(require("ludus").grpo().name);\n');
  expect((await run("node", ["agent.cjs"], { cwd: project })).stdout).toBe("grpo\n");
});

const oldNode = findOldNode();
test.skipIf(oldNode === undefined)("an older Node is told so in one line, whatever is imported", async () => {
  for (const path of ["ludus", "ludus/env", "ludus/environments", "ludus/train", "ludus/engine", "ludus/store"]) {
    const attempt = run(oldNode!, ["--input-type=module", "--eval", `await import("${path}")`], { cwd: project });
    await expect(attempt).rejects.toMatchObject({
      stderr: expect.stringMatching(/^\[?Error: Ludus needs Node 22\.18 or newer, and this is /m),
    });
  }
});

test.each([
  ["node16", "node16"],
  ["nodenext", "nodenext"],
  ["esnext", "bundler"],
])("types of every entry point are found with module %s and moduleResolution %s", async (module, moduleResolution) => {
  const entries = Object.keys(packageJson.exports).filter((path) => path !== "./package.json" && path !== "./testing");
  const lines = entries.map(
    (path, i) => `import * as e${i} from "${path.replace(".", "ludus")}";\nexport const v${i} = e${i};`,
  );
  await writeFile(join(project, "entries.mts"), `${lines.join("\n")}\n`);
  // an optional peer, which users of ludus/ai-sdk have
  const provider = join(project, "node_modules/@ai-sdk");
  if (!existsSync(provider)) await symlink(join(root, "node_modules/@ai-sdk"), provider);
  const options = [
    "--strict",
    "--noEmit",
    "--module",
    module,
    "--moduleResolution",
    moduleResolution,
    "--target",
    "es2024",
  ];
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  await run("node", [tsc, ...options, "--lib", "es2024,dom", "entries.mts"], { cwd: project }).catch((error) => {
    throw new Error(error.stdout);
  });
});

test("its types compile in a strict project", async () => {
  const program = `import { type Engine, LudusError, type Sample } from "ludus";
export async function tryOut(engine: Engine): Promise<Sample> {
  if (engine.info.contextLength < 2) throw new LudusError("short", { got: "1", expected: "2" });
  return engine.sample({ tokens: [1], maxTokens: 1, seed: 1 });
}
`;
  await writeFile(join(project, "program.mts"), program);
  const options = ["--strict", "--noEmit", "--module", "nodenext", "--target", "es2024", "--lib", "es2024,dom"];
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  await run("node", [tsc, ...options, "program.mts"], { cwd: project }).catch((error) => {
    throw new Error(error.stdout);
  });
});

/** A Node on the path that is older than what package.json allows. */
function findOldNode(): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return folders
    .map((folder) => join(folder, "node"))
    .find(
      (path) =>
        existsSync(path) &&
        nodeProblem(execFileSync(path, ["-p", "process.versions.node"], { encoding: "utf8" })) !== undefined,
    );
}

function npm(cwd: string, ...args: string[]) {
  return run("npm", args, { cwd, env: userEnv(), maxBuffer: 64 * 1024 * 1024 });
}

/** The environment of a user, without what an outer `npm test` adds about this package and from its `.npmrc`. */
function userEnv(): NodeJS.ProcessEnv {
  const own =
    /^npm_(package_|lifecycle_|command$|execpath$|config_(local_prefix|onnxruntime_node_install)$)|^INIT_CWD$/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.test(name)));
}

interface PackReport {
  filename: string;
  files: { path: string }[];
}

/** What `prepack` prints comes before the report. */
function readPackReport(stdout: string): PackReport {
  const report: PackReport[] | Record<string, PackReport> = JSON.parse(stdout.slice(stdout.search(/^[[{]\s*$/m)));
  return Object.values(report)[0];
}

function targets(entry: string | { types: string; default: string }): string[] {
  return typeof entry === "string" ? [entry] : [entry.types, entry.default];
}
