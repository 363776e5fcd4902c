import type { Command } from "../command.ts";
import { bench } from "./bench.ts";
import { boxes } from "./boxes.ts";
import { checkpoints } from "./checkpoints.ts";
import { cluster } from "./cluster.ts";
import { compare } from "./compare.ts";
import { dashboard } from "./dashboard.ts";
import { doctor } from "./doctor.ts";
import { env } from "./env.ts";
import { evaluate } from "./eval.ts";
import { exportCommand } from "./export.ts";
import { init } from "./init.ts";
import { play } from "./play.ts";
import { recipe } from "./recipe.ts";
import { replay } from "./replay.ts";
import { runs } from "./runs.ts";
import { serve } from "./serve.ts";
import { sweep } from "./sweep.ts";
import { tools } from "./tools.ts";
import { train } from "./train.ts";
import { version } from "./version.ts";
import { worker } from "./worker.ts";

/** In the order `ludus --help` lists them: that in which they are needed. */
export const builtinCommands: readonly Command[] = [
  ...[
    init,
    play,
    env,
    train,
    worker,
    cluster,
    sweep,
    evaluate,
    runs,
    checkpoints,
    replay,
    compare,
    doctor,
    dashboard,
    serve,
    boxes,
    tools,
    exportCommand,
    recipe,
    bench,
  ],
  version,
];
