/** How many begin in one turn of the event loop. */
export const startsPerTurn = 256;

let started = 0;
let isCounting = false;
const waiting: (() => void)[] = [];

/**
 * Resolves when a rollout may begin. Thousands that are started at once begin in the order they came, a few hundred in each
 * turn of the event loop: so the engine has work and tools have time before the last world is made.
 */
export function startGate(): Promise<void> | undefined {
  if (!isCounting) {
    isCounting = true;
    setImmediate(nextTurn);
  }
  if (started < startsPerTurn) {
    started++;
    return undefined;
  }
  return new Promise((resolve) => waiting.push(resolve));
}

function nextTurn(): void {
  const now = waiting.splice(0, startsPerTurn);
  started = now.length;
  isCounting = now.length > 0;
  if (isCounting) setImmediate(nextTurn);
  for (const begin of now) begin();
}
