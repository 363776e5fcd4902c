import { LudusError } from "../../errors.ts";
import {
  checkPermissionOptions,
  checkPermissions,
  type PermissionOptions,
  permitTools,
} from "../../tool/permission/permissions.ts";
import type { Env } from "../env.ts";

/**
 * The environment with a decision before each call of a tool: made, asked about, denied, or made with other arguments.
 *
 *     withPermissions(desk, {
 *       rules: [
 *         { tool: "refund", decide: "ask" },
 *         { tool: "refund", where: { amount: (amount) => Number(amount) > 100 }, decide: "deny", reason: "Above 100." },
 *       ],
 *       person: [{ tool: "refund", answer: "allow" }],
 *     });
 *
 * The policy reads what was decided in the call's observation. A denied call has the outcome `denied`, and every call of the
 * environment's tools a `permission` on record, which `permissionCounts` counts.
 */
export function withPermissions<Data, State>(
  env: Env<Data, State>,
  options: PermissionOptions<NoInfer<State>>,
): Env<Data, State> {
  checkPermissionOptions(options);
  const { tools = {} } = env;
  if (Object.keys(tools).length === 0) {
    throw new LudusError("bad-permissions", {
      got: `${env.name}, which has no tools`,
      expected: "an environment with tools",
    });
  }
  checkPermissions(options, tools);
  return { ...env, tools: permitTools(tools, options) };
}
