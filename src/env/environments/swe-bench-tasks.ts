import { z } from "zod";
import { defined } from "../../defined.ts";
import { jsonl } from "../../task/jsonl.ts";
import type { ListedOptions } from "../../task/listed.ts";
import type { TaskSource } from "../../task/task-source.ts";

/** SWE-bench writes lists as JSON in a string; SWE-Gym as lists. */
const testNames = z.union([
  z.array(z.string()),
  z.string().transform((text, context) => {
    const read = z.array(z.string()).safeParse(parsed(text));
    if (read.success) return read.data;
    context.addIssue({ code: "custom", message: "neither a list of names nor one written in JSON" });
    return z.NEVER;
  }),
]);

// Only what is used is named; files have more fields, which are passed over.
/** A record in the form of SWE-bench or SWE-Gym. */
export const sweBenchRecord = z.object({
  instance_id: z.string().min(1),
  repo: z.string().min(1),
  base_commit: z.string().min(1),
  problem_statement: z.string(),
  patch: z.string(),
  test_patch: z.string(),
  FAIL_TO_PASS: testNames,
  PASS_TO_PASS: testNames,
  version: z.string().nullish(),
  hints_text: z.string().nullish(),
  image_name: z.string().nullish(),
  docker_image: z.string().nullish(),
});

export interface SweBenchTask {
  readonly id: string;
  /** `owner/name`. */
  readonly repository: string;
  /** The commit to begin with. */
  readonly commit: string;
  /** The text of the issue. */
  readonly statement: string;
  /** The fix that was made; not for the policy to see. */
  readonly patch: string;
  /** What adds the tests. */
  readonly testPatch: string;
  /** Tests that fail before the fix and must pass after it. */
  readonly failToPass: readonly string[];
  /** Tests that pass before it and must still pass. */
  readonly passToPass: readonly string[];
  readonly version?: string;
  readonly hints?: string;
  /** The container image, where the record names one. */
  readonly image?: string;
}

/** Tasks from files of records in the form of SWE-bench or SWE-Gym, one in a line; one file, or one for each split. */
export function sweBenchTasks(
  files: string | Readonly<Record<string, string>>,
  options: Partial<ListedOptions> = {},
): TaskSource<SweBenchTask> {
  return jsonl(files, { ...options, parse: readRecord });
}

function readRecord(row: unknown): SweBenchTask {
  return sweBenchTask(sweBenchRecord.parse(row));
}

export function sweBenchTask(read: z.infer<typeof sweBenchRecord>): SweBenchTask {
  return {
    id: read.instance_id,
    repository: read.repo,
    commit: read.base_commit,
    statement: read.problem_statement,
    patch: read.patch,
    testPatch: read.test_patch,
    failToPass: read.FAIL_TO_PASS,
    passToPass: read.PASS_TO_PASS,
    ...defined({
      version: read.version || undefined,
      hints: read.hints_text || undefined,
      image: read.image_name || read.docker_image || undefined,
    }),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
