import { afterEach, expect, test } from "vitest";
import { codeStepsOf } from "./code-changes.tsx";
import { groupAnswer, shownTurn, trajectoryAnswer } from "./testing/fake-answers.ts";
import { fakeServer } from "./testing/fake-server.ts";
import { closePage, showPage, texts } from "./testing/show-page.tsx";

afterEach(closePage);

const said = (text: string) => ({ text, length: text.length });
const call = (name: string, observation: string) => ({
  name,
  arguments: said("{}"),
  outcome: "ok" as const,
  observation: said(observation),
});
const diff = "--- a/dock.py\n+++ b/dock.py\n@@ -1,1 +1,1 @@\n-return a - b\n+return a + b";
const turns = [
  shownTurn({
    text: said("test"),
    calls: [call("test", "f(1, 2) == 3 but it is -1\n0 of 1 passed")],
    info: { tests: "failed" },
  }),
  shownTurn({ text: said("view dock"), calls: [call("view", "1 return a - b")] }),
  shownTurn({ text: said("edit dock 1 return a + b"), calls: [call("edit", "ok")], info: { diff } }),
  shownTurn({ text: said("test"), calls: [call("test", "1 of 1 passed")], info: { tests: "passed" } }),
];

test("an episode on code shows its edits as a diff, and what the tests printed", async () => {
  fakeServer({ "/runs/first/trajectories/7": trajectoryAnswer({ turns }), "/runs/first/groups/3": groupAnswer() });
  await showPage("/runs/first/trajectories/7");
  expect(texts(".code-step h3 button")).toEqual(["Turn 1", "Turn 3", "Turn 4"]);
  expect(texts(".code-step .failed, .code-step .passed")).toEqual(["tests fail", "tests pass"]);
  expect(texts(".diff .gone").map((text) => text.trim())).toEqual(["-return a - b"]);
  expect(texts(".diff .added").map((text) => text.trim())).toEqual(["+return a + b"]);
  expect(texts(".code-step")[0]).toContain("0 of 1 passed");
  expect(texts(".turn .facts").join(" ")).not.toContain("dock.py");
});

test("an episode without code has no such part", async () => {
  fakeServer({ "/runs/first/trajectories/7": trajectoryAnswer({}), "/runs/first/groups/3": groupAnswer() });
  await showPage("/runs/first/trajectories/7");
  expect(document.querySelector(".code-changes")).toBeNull();
});

test("facts of another kind are left to the turns", () => {
  expect(codeStepsOf([shownTurn({ info: { diff: 5, tests: "some" } }), shownTurn({ info: { diff: "none" } })])).toEqual(
    [],
  );
});
