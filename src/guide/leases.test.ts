import { expect, test } from "vitest";
import { z } from "zod";
import type { Lease } from "./guide.ts";
import { type Leases, leases } from "./leases.ts";

const make = (): Leases<string, number> => leases(z.int());
const task = (id: string) => ({ id, seed: 0, data: id });
const went = (lease: Lease<string>) => ({ lease, group: { task: lease.task, trajectories: [] } });

test("notes come back with their leases, in the order of the results", () => {
  const underWay = make();
  const [a, b, c] = ["a", "b", "c"].map((id, i) => underWay.open(task(id), i));
  expect(underWay.close([went(c), went(a)])).toEqual([2, 0]);
  expect(underWay.notes()).toEqual([1]);
  expect(underWay.close([went(b)])).toEqual([1]);
});

test("what is wrong with a result is said", () => {
  const underWay = make();
  const a = underWay.open(task("a"), 0);
  const b = underWay.open(task("b"), 1);
  expect(() => underWay.close([went(a), went(a)])).toThrow(
    "unknown-lease: got lease 0 twice, expected each lease under way once: 0, 1",
  );
  const mixed = { lease: a, group: went(b).group };
  expect(() => underWay.close([mixed])).toThrow("wrong-lease: got attempts at b for lease 0, expected attempts at a");
  underWay.close([went(a), went(b)]);
  expect(() => underWay.close([went(a)])).toThrow("expected nothing: no lease is under way");
});

test("ids go on after a restart", () => {
  const [underWay, other] = [make(), make()];
  underWay.close([went(underWay.open(task("a"), 0))]);
  other.restore(JSON.parse(JSON.stringify(underWay.state())));
  expect(other.open(task("b"), 1).id).toBe("1");
});

test("a state that does not fit is named", () => {
  const note = { next: 1, underWay: [{ ...underWayOf("a"), note: "x" }] };
  expect(() => make().restore(note)).toThrow('bad-guide-state: got the note of lease 0 with "x"');
  expect(() => make().restore({ next: -1, underWay: [] })).toThrow("got the leases of a guide with next = -1");
});

const underWayOf = (id: string) => ({ id: "0", task: task(id) });
