import { expect, test } from "vitest";
import packageJson from "../package.json" with { type: "json" };
import { nodeProblem } from "./check-node.ts";

test("a Node that is too old is told so in one line", () => {
  const said = "Ludus needs Node 22.18 or newer, and this is 20.19.4. Install a newer one from nodejs.org.";
  expect(nodeProblem("20.19.4")).toBe(said);
  expect(nodeProblem("22.17.1")).toContain("this is 22.17.1");
});

test("what package.json allows is new enough", () => {
  expect(packageJson.engines.node).toBe(">=22.18");
  for (const version of ["22.18.0", "24.0.0", process.versions.node]) expect(nodeProblem(version)).toBeUndefined();
});
