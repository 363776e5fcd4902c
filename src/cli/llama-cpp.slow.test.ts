import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { embedded } from "../engine/embedded/embedded.ts";
import { openRun } from "../store/index.ts";
import { env, type RoomsTask } from "./fixtures/rooms-config.ts";
import { runCommand } from "./testing/run-command.ts";
import { trainedRun } from "./testing/trained-run.ts";

// An agent that was trained, exported and read by the real llama.cpp; see scripts/setup-llama-cpp.sh.
const python = process.env.LUDUS_LLAMA_CPP_PYTHON;
const script = fileURLToPath(new URL("../../test/parity/gguf_files.py", import.meta.url));
const configFile = fileURLToPath(new URL("./fixtures/rooms-config.ts", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "ludus-llama-cpp-"));
const at = (name: string) => join(folder, name);
afterAll(() => rmSync(folder, { recursive: true }));

describe.runIf(python)("a trained agent in llama.cpp", () => {
  test("reads the prompts of training through its template, and says what the engine says", async () => {
    await trainedRun(configFile, at("run"));
    for (const [format, out] of [
      ["gguf", "agent.gguf"],
      ["huggingface", "model"],
    ]) {
      const { status, stderr } = await runCommand(["export", at("run"), "--format", format, "--out", at(out)]);
      expect(status, stderr).toBe(0);
    }
    const run = await openRun(at("run"), { readOnly: true });
    const { trajectories } = await run.trajectories({}, { limit: 8 });
    const stored = await Promise.all(trajectories.map(({ key }) => run.trajectory(key)));
    await run.close();
    const prompts = stored.map(({ trajectory: { tokens_T, turns } }) => [...tokens_T.subarray(0, turns[0].span.start)]);
    const longer = stored.map(({ trajectory: { tokens_T, turns } }) => [
      ...tokens_T.subarray(0, turns.at(-1)!.span.start),
    ]);
    const { messages, tools } = await env.opening!(stored[0].task as Parameters<typeof env.opening & object>[0]);
    const job = {
      model: at("agent.gguf"),
      context: 192,
      tokens: env.limits.turnTokens,
      prompts: [...prompts, ...longer],
      messages,
      tools: tools.map((tool) => ({ type: "function", function: tool })),
    };
    writeFileSync(at("job.json"), JSON.stringify([job]));
    const [found] = JSON.parse(execFileSync(python!, [script, at("job.json")], { encoding: "utf8" }));
    expect(found.prompt).toEqual(prompts[0]);

    const engine = await embedded({ folder: at("model"), threads: 1 });
    const samples = await Promise.all(
      job.prompts.map((tokens) =>
        engine.sample({ tokens, maxTokens: job.tokens, temperature: 0, seed: 1, stopTokens: [found.eos] }),
      ),
    );
    await engine.close();
    expect(found.generated).toEqual(samples.map(({ tokens }) => [...tokens]));
    const items = stored.map(({ task }) => (task.data as RoomsTask).item);
    console.log(
      `llama.cpp: the same greedy turns for ${job.prompts.length} prompts (${[...new Set(items)].join(", ")})`,
    );
  });
});
