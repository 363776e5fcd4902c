import { existsSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { gitCommit } from "../checkpoint/git-commit.ts";
import { packageVersion } from "../checkpoint/package-version.ts";
import { threadsOfProcess } from "../engine/embedded/threads-of-process.ts";
import type { EngineInfo } from "../engine/engine.ts";
import type { ArmRecord } from "./claim.ts";

type About = NonNullable<ArmRecord["about"]>;

// the same number of folders up from src/recipe and from dist/recipe
const packageRoot = fileURLToPath(new URL("../../", import.meta.url));

/** The folder of Ludus' sources; undefined where it is an installed package. */
export const checkout = existsSync(`${packageRoot}.git`) ? packageRoot : undefined;

// what a record holds does not depend on records and texts, which change while recipes run
const sources = ["src", "worker", "recipes", "package-lock.json", ":!*.jsonl", ":!*.md"];

/** Where and with which sources the arms of this process are made; each adds the model it trained. */
export function aboutArms(date: Date): About {
  const commit = gitCommit(packageRoot, sources);
  return {
    date: date.toISOString(),
    processor: cpus()[0]?.model ?? "unknown",
    cores: availableParallelism(),
    threads: threadsOfProcess(),
    ludus: packageVersion(),
    ...(commit === undefined ? {} : { commit }),
  };
}

/** The model of an arm. */
export function aboutModel({ name, device, parameters }: EngineInfo): About {
  return { engine: name, device, parameters };
}
