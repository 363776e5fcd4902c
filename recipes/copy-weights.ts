import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Beginning } from "ludus/recipe";

/** Makes the weights of one beginning those of another. */
export async function copyWeights(
  { policy: from }: Pick<Beginning, "policy">,
  { policy: to }: Pick<Beginning, "policy">,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "ludus-weights-"));
  try {
    await from.engine.save(folder);
    await to.engine.load(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
