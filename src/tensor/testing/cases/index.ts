import type { OperatorCase } from "../operator-case.ts";
import { elementwiseCases } from "./elementwise.ts";
import { layoutCases } from "./layout.ts";
import { matmulCases } from "./matmul.ts";
import { normalCases } from "./normal.ts";
import { recomputeCases } from "./recompute.ts";
import { rowsCases } from "./rows.ts";

export const operatorCases: readonly OperatorCase[] = [
  ...elementwiseCases,
  ...layoutCases,
  ...matmulCases,
  ...rowsCases,
  ...normalCases,
  ...recomputeCases,
];
