import { bubblewrapSandbox } from "../../src/tool/sandbox/bubblewrap-sandbox.ts";
import { processSandbox } from "../../src/tool/sandbox/process-sandbox.ts";
import type { Sandbox } from "../../src/tool/sandbox/sandbox.ts";
import { type Attack, prelude } from "./attack.ts";
import { attackedDiskMb } from "./attacks-on-limits.ts";
import type { World } from "./world.ts";

const boxes = bubblewrapSandbox({ diskMb: attackedDiskMb });
const warmBoxes = bubblewrapSandbox({ diskMb: attackedDiskMb, warm: "python" });
const open = processSandbox();

/** What shows that the attack worked, in words; nothing where it did not. */
export const attackBox = (attack: Attack, world: World) => tryAttack(boxes, attack, world, true);

/** The same where an interpreter waits in the box and forks for each call. */
export const attackWarmBox = (attack: Attack, world: World) => tryAttack(warmBoxes, attack, world, true);

/** The same at level `process`, without limits: most attacks must work there, or their checks see nothing. */
export const attackOpen = (attack: Attack, world: World) => tryAttack(open, attack, world, false);

async function tryAttack(sandbox: Sandbox, attack: Attack, world: World, isLimited: boolean): Promise<string[]> {
  world.takeChanges();
  const box = await sandbox.open();
  const signs: string[] = [];
  try {
    const { timeoutMs = 10_000, outputBytes = 1 << 20 } = attack.limits ?? {};
    const running = box.exec("python3", {
      args: ["-c", prelude + attack.code],
      env: { ...world.facts(), MARK: world.token.slice(0, 8) },
      limits: isLimited ? { timeoutMs, ...attack.limits } : { timeoutMs, outputBytes },
    });
    const [ended] = await Promise.all([running, attack.meanwhile?.(box, world)]);
    if (/\bPWNED\b/.test(ended.stdout)) signs.push("it says so");
    if (`${ended.stdout}${ended.stderr}`.includes(world.token)) signs.push("it has the secret");
    if (await attack.after?.(box, world, ended)) signs.push("its check found it");
  } finally {
    await box.close();
  }
  return [...signs, ...world.takeChanges()];
}
