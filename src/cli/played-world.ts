import { defined } from "../defined.ts";
import type { RemoteWorld } from "../rollout/remote/on-workers.ts";
import type { PlayedWorld } from "../rollout/remote/worker.ts";
import type { World } from "../rollout/world.ts";
import { loadConfig } from "./load-config.ts";
import { loadWorld } from "./load-env.ts";
import { loadModule } from "./load-module.ts";

/** What a worker plays: the environment of a training file with its settings, or an environment alone. */
export async function playedWorld(nameOrFile: string): Promise<PlayedWorld> {
  const isFile = /[/\\]|\.[cm]?[jt]s$/.test(nameOrFile);
  if (!isFile || !("config" in (await loadModule(nameOrFile))))
    return { world: localWorld(await loadWorld(nameOrFile)) };
  const { env, rollout = {}, sandbox } = await loadConfig(nameOrFile);
  const { format, context } = rollout;
  return { world: localWorld(env), rollout: defined({ format, context, sandbox: sandbox ?? rollout.sandbox }) };
}

/** A worker plays itself what the trainer hands out. */
function localWorld(world: World | RemoteWorld): World {
  return "local" in world ? world.local : world;
}
