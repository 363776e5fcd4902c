import { bubblewrapSandbox } from "./bubblewrap-sandbox.ts";
import type { Sandbox } from "./sandbox.ts";

let shared: Sandbox | undefined;

/**
 * Where a model's code runs unless a run says otherwise: `bubblewrapSandbox()`. Where it cannot be had, opening a box fails with the package to
 * install; nothing weaker is taken in its place.
 */
export function defaultSandbox(): Sandbox {
  shared ??= bubblewrapSandbox();
  return shared;
}
