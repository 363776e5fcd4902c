import { isInfrastructureStop, type StopReason } from "../../../schema/stop-reason.ts";
import type { Fault } from "./faults.ts";
import { faultLimits } from "./faults.ts";

export interface FaultRow {
  readonly fault: Pick<Fault, "name" | "where">;
  readonly stop: StopReason;
  readonly afterMs: number;
  readonly disturbed: number;
}

const { toolMs, envMs, episodeMs } = faultLimits;
const head =
  "| fault | where it runs | ends with | trained on? | after ms | others disturbed |\n|---|---|---|---|--:|--:|";

/** The page up to the heading of what `scripts/faults.ts` measures. */
export function faultPage(rows: readonly FaultRow[], others: number): string {
  return `# What happens when something goes wrong

First in one rollout, then to [a run on workers](#a-run-on-workers).

Each fault was injected into one rollout while ${others.toLocaleString("en-US")} others were in flight in the same process, doing sums with short
asynchronous tools. Limits: \`toolMs\` ${toolMs}, \`envMs\` ${envMs}, \`episodeMs\` ${episodeMs.toLocaleString("en-US")}, unless the fault says otherwise. Times include starting a
worker where the tool runs in one of its own. After each fault no timer, worker, process or abort listener was left.

A rollout that is trained on ended through the policy's own doing: a mistake it is told of, or scored for. One that is not is
counted, shown, and made again (\`retries\` of \`runGroup\`).

${head}
${rows.map(faultLine).join("\n")}

Made by \`LUDUS_WRITE_DOCS=1 npm test -- src/env/attempt/faults\`, which otherwise checks that all but the times is still so.

What cannot be ended is code in the main thread that computes without end: an inline tool or an environment that loops holds
every rollout. Tools that run what a policy wrote belong into a process (\`isolated\`).
`;
}

function faultLine({ fault, stop, afterMs, disturbed }: FaultRow): string {
  const isTrainedOn = isInfrastructureStop(stop) ? "no" : "yes";
  return `| ${fault.name} | ${fault.where} | \`${stop}\` | ${isTrainedOn} | ${Math.round(afterMs)} | ${disturbed} |`;
}

const nextPart = "\n## A run on workers\n";

/** A page in two: what `faultPage` makes, and the rest. */
export function partsOf(page: string): { own: string; rest: string } {
  const at = page.indexOf(nextPart);
  return { own: page.slice(0, at), rest: page.slice(at) };
}

/** The page without the times, which differ from run to run. */
export function withoutTimes(page: string): string {
  return page.replace(/\| \d+ (\| \d+ \|)$/gm, "$1");
}
