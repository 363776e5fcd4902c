export { type GeneratedOptions, generated } from "./generated.ts";
export { type JsonlOptions, jsonl } from "./jsonl.ts";
export { type ListedOptions, listed } from "./listed.ts";
export { type Mixture, mixed } from "./mixed.ts";
export { hashText, seedOf } from "./seeds.ts";
export type { TaskSource } from "./task-source.ts";
