/** The files of a new project by their names. */
export function initFiles(name: string, version: string): Readonly<Record<string, string>> {
  return {
    "package.json": packageJson(name, version),
    ".gitignore": "node_modules/\nruns/\n",
    "tsconfig.json": tsconfig,
    "env.ts": envFile,
    "env.test.ts": testFile,
    "train.ts": trainFile,
  };
}

function packageJson(name: string, version: string): string {
  const json = {
    name,
    version: "0.0.0",
    private: true,
    type: "module",
    scripts: {
      train: "ludus train train.ts",
      play: "ludus play ./env.ts",
      test: "vitest run",
      types: "tsc",
    },
    dependencies: { ludus: `^${version}` },
    devDependencies: { "@types/node": "^24.0.0", typescript: ">=5.8", vitest: ">=3" },
    engines: { node: ">=22.18" },
    // npm 11 asks about every install script; this one would download GPU libraries that ludus does not use
    allowScripts: { "onnxruntime-node": false },
  };
  return `${JSON.stringify(json, undefined, 2)}\n`;
}

// Node runs the files as they are: what it cannot take out is refused, and imports name the file
const tsconfig = `{
  "compilerOptions": {
    "target": "ES2024",
    "module": "NodeNext",
    "types": ["node"],
    "strict": true,
    "exactOptionalPropertyTypes": true,
    "verbatimModuleSyntax": true,
    "erasableSyntaxOnly": true,
    "allowImportingTsExtensions": true,
    "skipLibCheck": true,
    "noEmit": true
  }
}
`;

const envFile = `import { defineEnv, formats, generated, type Rng, z } from "ludus";

const rooms = ["attic", "cellar", "garden", "hall", "kitchen", "study"];

/** A key is hidden behind a trail of notes: each room of the way names the next one. One look may go wrong. */
export const env = defineEnv({
  name: "key-hunt",
  description: "Follow notes from room to room until the key turns up",
  // tasks with the same \`key\` are the same task: those kept for testing are never trained on
  tasks: generated((rng) => ({ way: drawWay(rng, 3) }), { name: "key-hunt", key: ({ way }) => way.join(" ") }),
  start: ({ task }) => ({ state: { way: task.way, found: 0 }, say: \`Start in the \${task.way[0]}.\` }),
  tools: (tool) => ({
    look: tool({
      description: "Looks around in a room",
      input: z.object({ room: z.enum(rooms) }),
      run({ room }, { state, finish }) {
        if (room !== state.way[state.found]) return "Nothing here.";
        state.found++;
        if (state.found < state.way.length) return \`A note: \${state.way[state.found]}.\`;
        finish();
        return "The key!";
      },
    }),
  }),
  score: ({ task, state }) => ({ outcome: state.found === task.way.length ? 1 : 0 }),
  // the next two are for demonstrations: what someone who knows the way says, and what may be said at all
  expert: ({ state }) => look(state.way[state.found]!),
  actions: () => rooms.map(look),
  limits: { turns: 4, turnTokens: 16 },
  // "look hall": few tokens, for a model that starts from nothing
  format: formats.compact(),
});

const look = (room: string) => ({ calls: [{ name: "look", arguments: { room } }] });

function drawWay(rng: Rng, length: number): string[] {
  const left = [...rooms];
  return Array.from({ length }, () => left.splice(rng.integer(left.length), 1)[0]!);
}
`;

const testFile = `import { checkEnv } from "ludus/testing";
import { expect, test } from "vitest";
import { env } from "./env.ts";

test("the environment keeps its promises", async () => {
  const { episodes, findings } = await checkEnv(env);
  expect(episodes).toBeGreaterThan(0);
  expect(findings).toEqual([]);
});
`;

const trainFile = `import { realpathSync } from "node:fs";
import { consoleMonitor, fromScratch, grpo, imitate, type TrainConfig, train } from "ludus";
import { env } from "./env.ts";

/** What \`ludus train train.ts\` reads; \`--set steps=100\` and the like change it. */
export const config: TrainConfig = {
  env,
  // a transformer of 0.3M parameters with random weights
  policy: fromScratch({ size: "tiny" }),
  // demonstrations in which half of all turns are random: enough to know how to speak, not what to say
  warmStart: imitate({ demonstrations: 1000, noise: 0.5, steps: 150 }),
  algorithm: grpo({ groupSize: 8, learningRate: 2e-4 }),
  tasksPerStep: 16,
  steps: 60,
  eval: { tasks: 200 },
};

// node train.ts does the same without keeping the run
if (realpathSync(process.argv[1] ?? "") === import.meta.filename) {
  const { before, after, policy } = await train({ ...config, monitors: [consoleMonitor({ stream: process.stdout })] });
  console.log(\`success on tasks it was not trained on: \${before?.success.mean} before, \${after?.success.mean} after\`);
  await policy.engine.close();
}
`;
