import type { FuzzTarget } from "../target.ts";
import { formatsTarget, streamingTarget } from "./formats.ts";
import { jsonTarget } from "./json.ts";
import { modelFoldersTarget, templatesTarget, tokenizersTarget } from "./model-folders.ts";
import { renderersTarget } from "./renderers.ts";
import { rewardsTarget, scorersTarget } from "./scorers.ts";
import { serversTarget } from "./servers.ts";
import { storesTarget } from "./stores.ts";
import { toolsTarget } from "./tools.ts";

/** Every place where text from outside enters. */
export const targets: readonly FuzzTarget[] = [
  formatsTarget,
  streamingTarget,
  jsonTarget,
  rewardsTarget,
  scorersTarget,
  renderersTarget,
  toolsTarget,
  storesTarget,
  serversTarget,
  tokenizersTarget,
  templatesTarget,
  modelFoldersTarget,
];
