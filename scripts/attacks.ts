// Attacks on boxes, and cheats on rewards by tests, each with a check that finds it where it works. Needs bubblewrap and Python.
//
//     npm run attacks              one line for each that worked, then the counts
//     npm run attacks -- --json    one JSON object last
//     npm run attacks -- --only "read"

import { spawnSync } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { errorText } from "../src/errors.ts";
import { requireBubblewrap } from "../src/tool/sandbox/bubblewrap-available.ts";
import type { Attack } from "./attacks/attack.ts";
import { attacksOnFiles } from "./attacks/attacks-on-files.ts";
import { attacksOnKernel } from "./attacks/attacks-on-kernel.ts";
import { attacksOnLimits } from "./attacks/attacks-on-limits.ts";
import { attacksOnWarmBoxes } from "./attacks/attacks-on-warm-boxes.ts";
import { type Cheat, cheats } from "./attacks/cheats.ts";
import { attackBox, attackOpen, attackWarmBox } from "./attacks/run-attacks.ts";
import { isPaid, isPaidByExitStatus, isPaidByMinedTests, type Wanted } from "./attacks/run-cheats.ts";
import { openWorld } from "./attacks/world.ts";

const { values } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    only: { type: "string", default: "" },
    verbose: { type: "boolean", default: false },
  },
});
/** Where a started program finds the secret, as one that was handed down carelessly. */
const variable = "LUDUS_ATTACK_SECRET";
const descriptor = 60; // Node keeps lower ones to itself

/** Starts this program again with the secret in its environment and in a descriptor that its children would get. */
function startWithSecret(): number {
  const token = randomBytes(16).toString("hex");
  const folder = mkdtempSync(join(tmpdir(), "ludus-attack-secret-"));
  const file = join(folder, "secret");
  writeFileSync(file, `${token}\n`);
  try {
    const stdio = [
      "inherit",
      "inherit",
      "inherit",
      ...Array.from({ length: descriptor - 3 }, () => "ignore" as const),
    ] as const;
    const { status } = spawnSync(process.execPath, process.argv.slice(1), {
      env: { ...process.env, [variable]: token },
      stdio: [...stdio, openSync(file, "r")],
    });
    return status ?? 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function inTurns<Item>(
  items: readonly Item[],
  atOnce: number,
  use: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = [...items];
  const take = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await use(item);
  };
  await Promise.all(Array.from({ length: atOnce }, take));
}

async function main(token: string): Promise<number> {
  await requireBubblewrap();
  const isChosen = ({ name }: { name: string }) => name.includes(values.only);
  const world = await openWorld(token);
  const counts = { attacks: 0, escapes: 0, cheats_paid: 0, controls: 0, controls_succeeded: 0 };
  const tell = (line: string) => process.stderr.write(`${line}\n`);
  const tryOn = async (attack: Attack, where: string, on: typeof attackBox) => {
    counts.attacks += 1;
    const signs = await on(attack, world).catch((error: unknown) => [`the check failed: ${errorText(error)}`]);
    if (signs.length === 0) return;
    counts.escapes += 1;
    tell(`ESCAPED${where}: ${attack.name}: ${signs.join(", ")}`);
  };
  const tryAttack = async (attack: Attack) => {
    await tryOn(attack, "", attackBox);
    await tryOn(attack, " (warm)", attackWarmBox);
    if (attack.noControl !== undefined) return;
    counts.controls += 1;
    const control = await attackOpen(attack, world);
    if (control.length > 0) counts.controls_succeeded += 1;
    else if (values.verbose) tell(`no effect without a box: ${attack.name}`);
  };
  const tryMined = async (cheat: Cheat, wanted: readonly Wanted[]) => {
    if (cheat.language !== "python") return;
    counts.attacks += 1;
    if (await isPaidByMinedTests(cheat, wanted)) {
      counts.cheats_paid += 1;
      tell(`PAID by mined tests: ${cheat.name}`);
    } else if (values.verbose && (await isPaidByMinedTests(cheat, wanted, false))) {
      tell(`paid by mined tests without canaries: ${cheat.name}`);
    }
  };
  const tryCheat = async (cheat: Cheat) => {
    counts.attacks += 1;
    const wanted = [3, 5].map((argument) => ({ argument, expected: randomInt(10 ** 6, 10 ** 9) }));
    if (await isPaid(cheat, wanted)) {
      counts.cheats_paid += 1;
      tell(`PAID: ${cheat.name}`);
    }
    await tryMined(cheat, wanted);
    if (cheat.noControl !== undefined) return;
    counts.controls += 1;
    if (await isPaidByExitStatus(cheat, wanted)) counts.controls_succeeded += 1;
    else if (values.verbose) tell(`not paid by exit status either: ${cheat.name}`);
  };
  const chosen = (all: readonly Attack[]) => all.filter(isChosen);
  try {
    // what changes this machine is found by looking at it: one at a time
    await inTurns(chosen([...attacksOnFiles, ...attacksOnLimits]), 1, tryAttack);
    await inTurns(chosen(attacksOnKernel), 3, tryAttack);
    await inTurns(chosen(attacksOnWarmBoxes), 3, (attack) => tryOn(attack, " (warm)", attackWarmBox));
  } finally {
    await world.close();
  }
  await inTurns(cheats.filter(isChosen), 3, tryCheat);
  tell(
    `${counts.attacks} attacks; without a box, or judged by exit status, ${counts.controls_succeeded} of ${counts.controls} work`,
  );
  if (values.json) process.stdout.write(`${JSON.stringify(counts)}\n`);
  // checks that find nothing anywhere would say nothing
  const isBlind = values.only === "" && counts.controls_succeeded < counts.controls / 2;
  if (isBlind) tell("fewer than half of the controls worked: the checks cannot be trusted");
  return counts.escapes + counts.cheats_paid === 0 && !isBlind ? 0 : 1;
}

const token = process.env[variable];
process.exitCode = token === undefined ? startWithSecret() : await main(token);
