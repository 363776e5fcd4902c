/** A part of Ludus, and the command that shows it. */
export interface SubjectCommand {
  readonly subject: string;
  readonly command: string;
  /** Below docs/. */
  readonly page: string;
}

/** Each is run by a test: `commands-by-subject.test.ts` says by which. */
export const commandsBySubject: readonly SubjectCommand[] = [
  {
    subject: "A world in which AGENTS.md is the difference",
    command: "ludus play project-rules --expert",
    page: "how-to/agents.md",
  },
  { subject: "with the file and without, learned", command: "ludus recipe run agents-md", page: "how-to/agents.md" },
  {
    subject: "Twenty agent skills, disclosed step by step",
    command: "ludus play office-skills --expert",
    page: "how-to/agents.md",
  },
  {
    subject: "against everything in context, learned",
    command: "ludus recipe run skill-disclosure",
    page: "how-to/agents.md",
  },
  {
    subject: "skills that a policy writes and another uses",
    command: "ludus recipe run skill-library",
    page: "how-to/agents.md",
  },
  {
    subject: "Permissions, and notes that give orders",
    command: "ludus play guarded-desk --expert",
    page: "how-to/agents.md",
  },
  {
    subject: "violations and injections, before and after training",
    command: "ludus recipe run instruction-hierarchy",
    page: "how-to/agents.md",
  },
  { subject: "An environment behind MCP", command: "ludus env serve sokoban", page: "how-to/tools.md" },
  {
    subject: "Is an agent behind HTTP, A2A or a command line ready to be trained?",
    command: "ludus env check ./agent.ts",
    page: "how-to/existing-agents.md",
  },
  {
    subject: "A checkpoint behind four protocols, with calls recorded",
    command: "ludus serve runs/first --record",
    page: "how-to/existing-agents.md",
  },
  {
    subject: "An environment for OpenEnv's clients and TRL",
    command: "ludus env serve sokoban --openenv",
    page: "how-to/other-environments.md",
  },
  {
    subject: "Environments of a Python library",
    command: "ludus env list --from reasoning-gym",
    page: "how-to/other-environments.md",
  },
  {
    subject: "A public benchmark: pass@k, pass^k, cost, copies in a training set",
    command:
      "ludus eval --benchmark gsm8k --data data/gsm8k --model http://127.0.0.1:8000/v1 --attempts 4 --price 0.5,1.5 --against train.jsonl",
    page: "how-to/benchmarks.md",
  },
  {
    subject: "one with a user, whom the model plays too unless --user names another",
    command: "ludus eval --benchmark tau-bench --data data/tau-bench --model http://127.0.0.1:8000/v1",
    page: "how-to/benchmarks.md",
  },
  {
    subject: "Questions about a database, and charts",
    command: "ludus play data-analyst --expert",
    page: "reference/environments.md",
  },
  {
    subject: "A model for llama.cpp, Ollama and LM Studio",
    command: "ludus export runs/first --format gguf --out agent.gguf",
    page: "how-to/exports.md",
  },
  {
    subject: "An arm that is moved by action tokens",
    command: "ludus play reacher --expert",
    page: "reference/environments.md",
  },
  { subject: "with bins as in OpenVLA, learned", command: "ludus recipe run openvla", page: "how-to/recipes.md" },
  { subject: "from play without actions (VPT), learned", command: "ludus recipe run vpt", page: "how-to/recipes.md" },
  { subject: "text with a picture (WebGUM), learned", command: "ludus recipe run webgum", page: "how-to/recipes.md" },
  {
    subject: "From production back to training, as on that page",
    command: "node production.ts",
    page: "how-to/production.md",
  },
];
