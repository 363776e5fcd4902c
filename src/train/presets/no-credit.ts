import type { Credit } from "../../credit/credit.ts";
import { zerosLike } from "../../credit/spread.ts";

/** For losses that do not ask how well something was done. */
export const noCredit: Credit = {
  name: "none",
  needs: {},
  assign: (rows) => ({ advantages_B_T: zerosLike(rows), metrics: {} }),
};
