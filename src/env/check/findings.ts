/** What can be wrong with an environment, and what to do about it. Warnings alone do not fail the check. */
export const remedies = {
  "no-tasks": { isWarning: false, remedy: 'Give the source the splits "train" and "test", and tasks in each.' },
  "tasks-change": {
    isWarning: false,
    remedy: "Take all randomness of a task from the `rng` that its maker is given, and remember nothing between calls.",
  },
  "splits-overlap": {
    isWarning: true,
    remedy: "Say what makes two tasks the same: `generated(make, { key: (data) => … })`, or divide the rows by hand.",
  },
  "no-description": { isWarning: true, remedy: "Give `description` one line that says what there is to do." },
  "tool-without-description": {
    isWarning: true,
    remedy: "Give the tool a `description`: it is all the policy knows of it.",
  },
  crash: {
    isWarning: false,
    remedy:
      "Mend what the text names. Whatever may be said has to be answered; in tools, throw a `ToolError` to tell the policy what it did wrong.",
  },
  hangs: { isWarning: false, remedy: "Settle every promise, and heed the `signal` you are given." },
  "blocks-thread": {
    isWarning: false,
    remedy: "Bound the work by the length of what was said, or run it elsewhere: `tool({ isolated: … })`.",
  },
  "not-finite": {
    isWarning: false,
    remedy: "Rewards and parts of a score are finite numbers: guard divisions and logarithms.",
  },
  "not-text": { isWarning: false, remedy: "Say strings: `JSON.stringify` whatever else there is to tell." },
  nondeterministic: {
    isWarning: false,
    remedy:
      "Take all randomness from the `rng` of the context, use no clock, and keep everything that changes in `state`.",
  },
  "asking-changes-state": {
    isWarning: false,
    remedy: "`expert`, `actions` and `stateKey` only look: change nothing in them, and use the `rng` they are given.",
  },
  "state-leaks": {
    isWarning: false,
    remedy: "Make everything that changes anew in `start`, and keep it in `state`: episodes run at the same time.",
  },
  "task-mutated": { isWarning: false, remedy: "Copy what you change of `task` into `state`: a group shares the task." },
  "score-changes": {
    isWarning: false,
    remedy: "`score` only looks at the episode: change nothing in it, and use no chance.",
  },
  "left-open": {
    isWarning: false,
    remedy: "Free in `close` all that `start` opened: timers, files, sockets, processes.",
  },
  "expert-crash": {
    isWarning: false,
    remedy: "Return undefined where there is no advice; say only what the format can write.",
  },
  "expert-never-succeeds": {
    isWarning: false,
    remedy: "Is the score right? Is the expert? Say `success` in the score where an outcome of 1 does not mean it.",
  },
  "expert-over-limits": { isWarning: false, remedy: "Raise `limits`, or make the tasks shorter." },
  "observation-cut": {
    isWarning: true,
    remedy: "Say less, in pages for instance, or raise `limits.observationChars`.",
  },
  "garbage-succeeds": {
    isWarning: true,
    remedy: "Have `score` look at the whole answer: a policy finds such a way before any other.",
  },
  "agent-asks-no-model": {
    isWarning: false,
    remedy:
      "Ask `attempt.url` with fetch, or a client that uses it and is made inside `run` or after `agentEnv`; else serve the policy: `serve: {}`. An agent elsewhere has to use the base URL that comes with its task.",
  },
  "agent-unreachable": {
    isWarning: false,
    remedy: "Start the agent, and look at the address or the command that the text names.",
  },
  "agent-failed": {
    isWarning: false,
    remedy:
      "Look at what the agent says. Whatever the policy may say has to end in an answer: a failure is never learned from.",
  },
  "agent-bad-answer": {
    isWarning: false,
    remedy: "Have the agent answer as the text expects, or read its answers yourself: `httpAgent({ answer: … })`.",
  },
  "agent-not-served": { isWarning: false, remedy: "Serve the policy to agents elsewhere: `agentEnv({ serve: {} })`." },
  "agent-unknown-model": {
    isWarning: false,
    remedy: "Have the agent ask for the expected name, or say what it calls the model: `agentEnv({ model: … })`.",
  },
  "agent-throws": {
    isWarning: false,
    remedy: "Catch what the policy's words can cause and give a low score: what `run` throws is never learned from.",
  },
  "agent-no-reward": {
    isWarning: false,
    remedy: "Return the score from `run`, or have the agent post it to `attempt.rewardUrl`.",
  },
  "agent-hangs": {
    isWarning: false,
    remedy:
      "Settle every promise, heed `attempt.signal`, and bound the agent's loop; `limits.episodeMs` ends it in training.",
  },
  "agent-refused": { isWarning: true, remedy: "Raise `limits`, or send requests that the text does not object to." },
  "agent-rewrites-context": {
    isWarning: true,
    remedy:
      "Append to the messages of the call before, and send the model's words back as they came: each other call begins a trajectory of its own.",
  },
  "agent-nondeterministic": {
    isWarning: true,
    remedy: "Take all randomness from `attempt.seed` and use no clock: a group compares attempts at the same task.",
  },
  "agent-state-leaks": {
    isWarning: false,
    remedy: "Make everything that changes anew in `run`: attempts run at the same time in one process.",
  },
} as const satisfies Record<string, { isWarning: boolean; remedy: string }>;

export type EnvFindingCode = keyof typeof remedies;

export interface EnvFinding {
  readonly code: EnvFindingCode;
  /** Something to look at; the check passes all the same. */
  readonly isWarning: boolean;
  /** What was seen, with the evidence. */
  readonly message: string;
  readonly remedy: string;
  /** How often it was seen; the message tells of the first. */
  readonly count: number;
}

/** Collects what is found, once for each code and place. */
export class Findings {
  readonly #found = new Map<string, { code: EnvFindingCode; message: string; count: number }>();

  add(code: EnvFindingCode, message: string, place = ""): void {
    const known = this.#found.get(`${code} ${place}`);
    if (known === undefined) this.#found.set(`${code} ${place}`, { code, message, count: 1 });
    else known.count++;
  }

  has(code: EnvFindingCode): boolean {
    return [...this.#found.values()].some((finding) => finding.code === code);
  }

  list(): EnvFinding[] {
    const all = Array.from(this.#found.values(), (finding) => ({ ...finding, ...remedies[finding.code] }));
    return all.sort((a, b) => Number(a.isWarning) - Number(b.isWarning));
  }
}
