import { z } from "zod";
import { defined } from "../../defined.ts";
import { type KnownOptions, refuseOtherValue, refuseUnknownOptions } from "../../known-options.ts";
import { compact } from "../../policy/formats/compact.ts";
import { generated } from "../../task/generated.ts";
import { agentsText } from "../../tool/agents-file.ts";
import { defineEnv } from "../define-env.ts";
import type { Env } from "../env.ts";
import type { Style } from "./moves.ts";

export interface ProjectRulesOptions {
  /** `tags` has files and calls as agents see them; `compact`, the default, says the same in as few characters as will do. */
  style: Style;
  /** Whether the policy is told what the AGENTS.md files say; `hidden` is for comparison. */
  rules: "told" | "hidden";
  seed: number;
}

const knownOptions: KnownOptions<ProjectRulesOptions> = { style: true, rules: true, seed: true };
const defaults: ProjectRulesOptions = { style: "compact", rules: "told", seed: 0 };

export interface ProjectRulesTask {
  readonly folder: string;
  readonly module: string;
  /** How the project's AGENTS.md says that test files end. */
  readonly projectEnding: string;
  /** How that of the package does, where it has one: the nearest counts. */
  readonly packageEnding?: string;
}

interface ProjectRulesState {
  created: string | undefined;
}

const endings = [".test.ts", ".spec.ts", "_test.ts", ".check.ts"] as const;
const folders = ["packages/web", "packages/api", "packages/cli"];
/** The test split has modules that training never shows. */
const modules: Readonly<Record<string, readonly string[]>> = {
  train: ["cart", "login", "search", "mail", "queue", "price"],
  test: ["clock", "upload", "token", "menu"],
};

/**
 * A test file is to be created, and its name is a matter of the project's rules: one of four endings, in the AGENTS.md of the project
 * and, in half of the tasks, another one in that of the package. Success is the name that the nearest file asks for.
 */
export function projectRules(options: Partial<ProjectRulesOptions> = {}): Env<ProjectRulesTask, ProjectRulesState> {
  refuseUnknownOptions("projectRules", options, knownOptions);
  const { style, rules, seed } = { ...defaults, ...options };
  const isCompact = style === "compact";
  refuseOtherValue("projectRules: rules", rules, ["told", "hidden"]);
  refuseOtherValue("projectRules: style", style, ["compact", "tags"]);
  const tasks = generated<ProjectRulesTask>(
    (rng, split) => {
      const first = rng.integer(endings.length);
      const other = (first + 1 + rng.integer(endings.length - 1)) % endings.length;
      const isNested = rng.next() < 0.5;
      return {
        folder: folders[rng.integer(folders.length)],
        module: modules[split][rng.integer(modules[split].length)],
        projectEnding: endings[first],
        ...defined({ packageEnding: isNested ? endings[other] : undefined }),
      };
    },
    { name: "project-rules", seed },
  );
  return defineEnv({
    name: "project-rules",
    description: "Create a test file, named as the nearest AGENTS.md asks for",
    tasks,
    ...defined({ system: rules === "told" ? (isCompact ? shortRulesOf : rulesOf) : undefined }),
    start: ({ task }) => ({
      state: { created: undefined } as ProjectRulesState,
      say: isCompact
        ? `test ${task.folder}/${task.module}.ts`
        : `Create an empty test file for ${task.folder}/${task.module}.ts beside it.`,
    }),
    tools: (tool) => ({
      create_file: tool({
        description: "Creates a file",
        input: z.object({ path: z.string() }),
        run({ path }, { state, finish }) {
          state.created = path;
          finish(path);
          return "created";
        },
      }),
    }),
    score: ({ task, state }) => (state.created === pathFor(task, endingOf(task)) ? 1 : 0),
    expert: ({ task, call }) => call.create_file({ path: pathFor(task, endingOf(task)) }),
    actions: ({ task, call }) => endings.map((ending) => call.create_file({ path: pathFor(task, ending) })),
    // a call in JSON is 90 bytes
    limits: { turns: 2, turnTokens: isCompact ? 64 : 128 },
    ...defined({ format: isCompact ? compact() : undefined }),
  });
}

const endingOf = ({ projectEnding, packageEnding }: ProjectRulesTask) => packageEnding ?? projectEnding;
const pathFor = ({ folder, module }: ProjectRulesTask, ending: string) => `${folder}/${module}${ending}`;

function rulesOf({ folder, projectEnding, packageEnding }: ProjectRulesTask): string {
  const rule = (ending: string) => `Test files end in ${ending}`;
  return agentsText([
    { path: "AGENTS.md", text: rule(projectEnding) },
    ...(packageEnding === undefined ? [] : [{ path: `${folder}/AGENTS.md`, text: rule(packageEnding) }]),
  ]);
}

/** A line for each file: its path, and the ending that it asks for. */
function shortRulesOf({ folder, projectEnding, packageEnding }: ProjectRulesTask): string {
  const lines = [`AGENTS.md ${projectEnding}`];
  if (packageEnding !== undefined) lines.push(`${folder}/AGENTS.md ${packageEnding}`);
  return lines.join("\n");
}
