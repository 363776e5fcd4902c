/** A mutant that behaves like the original for every input, so that no test can kill it. */
export interface EquivalentMutant {
  readonly file: string;
  /** As the report prints them in full: on one line, with single spaces. */
  readonly original: string;
  readonly replacement: string;
  /** The whole line of the source, trimmed; absent, every such mutant of the file is meant. */
  readonly line?: string;
  readonly reason: string;
}

const typedArrayEnd = "reads undefined past the end and writes past the end of a typed array, which is ignored";
const allAssigned = "every index is assigned later, and a JavaScript array grows";
const neverRead = "the extra first element is computed and never read: the recursion runs from the end";

/** Only what is truly equivalent: a mutant that merely is hard to test stays a survivor. */
export const equivalentMutants: readonly EquivalentMutant[] = [
  {
    file: "src/credit/bi-level-gae.ts",
    original: "t < values_T.length",
    replacement: "t <= values_T.length",
    reason: typedArrayEnd,
  },
  {
    file: "src/credit/bi-level-gae.ts",
    original: "[]",
    replacement: '["Stryker was here"]',
    line: "const ends: number[] = [];",
    reason: neverRead,
  },
  {
    file: "src/credit/discounted-returns.ts",
    original: "returns_B_T === undefined",
    replacement: "false",
    reason: "`creditResult` leaves out a field that is undefined",
  },
  {
    file: "src/credit/filter-choice.ts",
    original: "reward !== undefined",
    replacement: "true",
    reason: "undefined is neither below a number nor at least one",
  },
  {
    file: "src/credit/gae.ts",
    original: "criticLambda === settings.lambda",
    replacement: "false",
    reason: "saves a second pass that would give the same numbers",
  },
  {
    file: "src/credit/gae.ts",
    original: "new Array<Float32Array>(rows.length)",
    replacement: "new Array()",
    reason: allAssigned,
  },
  {
    file: "src/credit/gae.ts",
    original: "{ value: 0, advantage: 0 }",
    replacement: "{}",
    reason: "`tokenGae` takes 0 for what is undefined",
  },
  {
    file: "src/credit/gae.ts",
    original: "t < mask_T.length",
    replacement: "t <= mask_T.length",
    reason: typedArrayEnd,
  },
  {
    file: "src/credit/gigpo.ts",
    original: "[]",
    replacement: '["Stryker was here"]',
    reason: "one number alone is compared with nothing, which gives 0 as no number does",
  },
  { file: "src/credit/leave-one-out.ts", original: "g < G", replacement: "g <= G", reason: typedArrayEnd },
  {
    file: "src/credit/length-adaptive-lambda.ts",
    original: "sampledTokens === 0",
    replacement: "false",
    reason: "1 - 1 / 0 is minus infinity, of which `Math.max` makes 0",
  },
  {
    file: "src/credit/normalise-rewards.ts",
    original: "default: return method satisfies never;",
    replacement: "default:",
    reason: "never reached: the union is closed",
  },
  {
    file: "src/credit/per-role.ts",
    original: "new Array<Float32Array>(rows.length)",
    replacement: "new Array()",
    reason: allAssigned,
  },
  { file: "src/credit/relative-advantages.ts", original: "g < G", replacement: "g <= G", reason: typedArrayEnd },
  {
    file: "src/credit/retrace.ts",
    original: "t < values_T.length",
    replacement: "t <= values_T.length",
    reason: typedArrayEnd,
  },
  {
    file: "src/credit/statistics.ts",
    original: "i < values.length",
    replacement: "i <= values.length",
    line: "for (let i = 1; i < values.length; i++) if (Math.abs(values[i] - values[0]) > roundingError) return false;",
    reason: "past the end the difference is NaN, which is not above the bound",
  },
  {
    file: "src/credit/statistics.ts",
    original: "t < values_T.length",
    replacement: "t <= values_T.length",
    line: "for (let t = 0; t < values_T.length; t++) {",
    reason: typedArrayEnd,
  },
  {
    file: "src/credit/statistics.ts",
    original: "count === 0",
    replacement: "false",
    reason: "without masked numbers the mean is not used",
  },
  ...["true", "start <= end"].map((replacement) => ({
    file: "src/credit/steps.ts",
    original: "start < end",
    replacement,
    line: "while (start < end && mask_T[start] === 0) start++;",
    reason: "a turn without a sampled token is no step, however far past its end `start` runs",
  })),
  ...["true", "end >= start"].map((replacement) => ({
    file: "src/credit/steps.ts",
    original: "end > start",
    replacement,
    line: "while (end > start && mask_T[end - 1] === 0) end--;",
    reason: "a turn without a sampled token is no step, however far before its start `end` runs",
  })),
  ...["true", "values.length >= 1"].map((replacement) => ({
    file: "src/credit/step-gae.ts",
    original: "values.length > 1",
    replacement,
    reason: "one number less its mean is 0, whatever it is divided by",
  })),
  {
    file: "src/loss/aggregation.ts",
    original: "tokens === 0",
    replacement: "false",
    reason: "saves work: without a masked token no coefficient is written",
  },
  {
    file: "src/loss/aggregation.ts",
    original: "spoken === 0",
    replacement: "false",
    reason: "saves work: without a masked token no coefficient is written",
  },
  {
    file: "src/loss/combine.ts",
    original: "[]",
    replacement: '["Stryker was here"]',
    line: 'logprobs_B_T: sum("logprobs_B_T") ?? [],',
    reason: "never reached: there is one loss or more, and each has derivatives of log-probabilities",
  },
  {
    file: "src/rollout/conversation.ts",
    original: 'segment.kind === "said"',
    replacement: "true",
    reason: "`own` holds what was said alone; the comparison is for the type checker",
  },
  {
    file: "src/rollout/conversation.ts",
    original: "sum + count(mask)",
    replacement: "sum - count(mask)",
    reason: "every count and their total change their sign, and weights are quotients of the two",
  },
  {
    file: "src/rollout/conversation.ts",
    original: 'segment.kind === "said" && own.has(segment)',
    replacement: 'segment.kind === "said" || own.has(segment)',
    line: 'const end = segments.findLastIndex((segment) => segment.kind === "said" && own.has(segment));',
    reason: "in a piece with turns of its own, the last that was said is one of them",
  },
  {
    file: "src/rollout/run-rollout.ts",
    original: "task.guidance === undefined",
    replacement: "false",
    reason: "guidance that is present and undefined is read as absent",
  },
  ...["true", "logprob >= 0"].map((replacement) => ({
    file: "src/rollout/speaker.ts",
    original: "logprob > 0",
    replacement,
    reason: "saves a copy: numbers that are at most 0 stay as they are",
  })),
  {
    file: "src/rollout/speaker.ts",
    original: "n === 0",
    replacement: "false",
    reason: "saves copies: without forced tokens they are equal to what is copied",
  },
];
