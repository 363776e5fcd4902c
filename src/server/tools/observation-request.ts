import { z } from "zod";
import { LudusError } from "../../errors.ts";
import type { ExtraFields } from "./action-tool.ts";

/** One action of a request. */
export interface AskedAction {
  readonly id: string;
  readonly action: string;
  readonly extra: ExtraFields;
}

const Request = z.looseObject({
  trajectory_ids: z.array(z.union([z.string(), z.number()])).min(1),
  actions: z.array(z.string()),
  extra_fields: z.array(z.record(z.string(), z.unknown()).nullable()).optional(),
});

/** Reads a request of Verl-Tool: lists of one length. Further lists, such as `finish`, are fields of their trajectories. */
export function readObservationRequest(body: unknown): AskedAction[] {
  const read = Request.safeParse(body);
  if (!read.success) {
    const { path, message } = read.error.issues[0];
    throw badRequest(`${path.join(".") || "the body"}: ${message}`, "lists `trajectory_ids` and `actions`");
  }
  const { trajectory_ids: ids, actions, extra_fields: extras = [], ...others } = read.data;
  for (const [name, values] of Object.entries({ actions, ...(extras.length > 0 ? { extras } : {}), ...others })) {
    if (Array.isArray(values) && values.length === ids.length) continue;
    const got = Array.isArray(values) ? `${values.length} of ${name}` : `${name}, which is no list`;
    throw badRequest(got, `${ids.length}, as many as trajectory_ids`);
  }
  return ids.map((id, i) => {
    const fields = Object.entries(others).map(([name, values]) => [name, (values as unknown[])[i]]);
    return { id: String(id), action: actions[i], extra: { ...extras[i], ...Object.fromEntries(fields) } };
  });
}

function badRequest(got: string, expected: string): LudusError {
  return new LudusError("bad-request", { got, expected });
}
