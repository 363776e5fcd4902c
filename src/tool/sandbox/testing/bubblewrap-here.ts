import { whyNoBubblewrap } from "../bubblewrap-available.ts";

/** Why tests with boxes of bubblewrap are left out, said in one line; undefined where they run. In CI they must. */
export const noBubblewrap = await whyNoBubblewrap();
if (noBubblewrap !== undefined) {
  const left = `tests of boxes are left out: got ${noBubblewrap}; run scripts/setup-bubblewrap.sh`;
  if (process.env.LUDUS_REQUIRE_BUBBLEWRAP === "1") throw new Error(`LUDUS_REQUIRE_BUBBLEWRAP is set, but ${left}`);
  process.stderr.write(`${left}\n`);
}

/** The strongest level at which code of tests can run here. */
export const testLevel = noBubblewrap === undefined ? "namespace" : "process";
