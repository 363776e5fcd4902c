import { afterEach, describe, expect, test } from "vitest";
import type { ShownFailure, ShownFinding } from "../../../src/server/dashboard/answers.ts";
import { anySeries, evaluation, runAnswer, runSummary } from "../testing/fake-answers.ts";
import { FakeEventSource } from "../testing/fake-event-source.ts";
import { fakeServer } from "../testing/fake-server.ts";
import { address, button, click, closePage, fill, find, showPage, texts } from "../testing/show-page.tsx";

afterEach(closePage);

const replies = {
  "/runs": { runs: [runSummary({ id: "other" })], total: 1 },
  "/runs/first": runAnswer(),
  "/runs/first/findings": { findings: [] },
  "/runs/first/events": { events: [] },
  "/series": anySeries,
};
const show = async (path = "/runs/first", more: Record<string, unknown> = {}) => {
  const server = fakeServer({ ...replies, ...more });
  await showPage(path);
  return server;
};
const charts = () => [...document.querySelectorAll(".plot")].map((plot) => plot.getAttribute("aria-label"));

describe("a run", () => {
  test("has its state, links and configuration at hand", async () => {
    await show();
    expect(texts("h1")).toEqual(["first finished"]);
    expect(texts(".headline dd:not(.quiet)")).toEqual(["–", "0.5", "25%", "40 / 100", "–"]);
    const links = [...document.querySelectorAll(".links a")].map((link) => link.getAttribute("href"));
    expect(links).toEqual(["/runs/first/trajectories", "/compare?run=first", "/play?of=first"]);
    expect(find(".config").textContent).toContain('"groupSize": 8');
  });

  test("with checkpoints can be played beside one", async () => {
    await show("/runs/first", { "/runs/first": runAnswer({ checkpoints: [10] }) });
    expect(find(".links a:last-child").getAttribute("href")).toBe("/play?of=first&run=first");
  });

  test("without metrics says so", async () => {
    await show("/runs/first", { "/runs/first": runAnswer({ metricNames: [] }) });
    expect(texts(".empty")).toEqual(["No metrics yet."]);
    expect(charts()).toEqual([]);
  });

  test("that does not exist is a problem, not a blank page", async () => {
    fakeServer({});
    await showPage("/runs/gone");
    expect(texts("h1")).toEqual(["gone"]);
    expect(texts("[role=alert]")).toEqual(["not-found There is nothing at /runs/gone."]);
  });

  test("is followed while it is written", async () => {
    await show("/runs/first?with=other");
    expect([...FakeEventSource.open].map(({ url }) => url)).toEqual(["/api/live?run=first&run=other"]);
  });
});

describe("the headline", () => {
  const of = (...evaluations: ReturnType<typeof evaluation>[]) =>
    show("/runs/first", {
      "/runs/first": runAnswer({
        summary: runSummary({ heldOut: { first: evaluations[0], last: evaluations.at(-1)! } }),
      }),
    });

  test("is held-out success with its interval, its step and the change since the start", async () => {
    await of(evaluation(19, 0.25), evaluation(39, 0.75));
    expect(texts(".main-figure dd")).toEqual(["75% 70–80%", "200 tasks, step 39, +50 points from 25% at step 19"]);
    expect(document.title).toBe("75% · first · finished · Ludus");
    expect(find(".main-figure a").getAttribute("href")).toBe(
      "/runs/first/trajectories?split=held-out&order=worst&from=39&to=39",
    );
  });

  test("of a single evaluation has no change", async () => {
    await of(evaluation(19, 0.25));
    expect(texts(".main-figure dd")).toEqual(["25% 20–30%", "200 tasks, step 19"]);
  });

  test("says that nothing was measured, and shows training beside it", async () => {
    await show();
    expect(texts(".main-figure dd")).toEqual(["–", "Not measured."]);
  });
});

describe("failures", () => {
  const failure: ShownFailure = {
    ...{ during: "training", stop: "env-crash", message: "Error: <b>down</b>", at: "at start (env.ts:3:1)" },
    ...{ count: 64, rollout: "r", firstStep: 3, lastStep: 5, example: 12, steps: [] },
  };

  test("are listed with their counts, steps and an example", async () => {
    await show("/runs/first", { "/runs/first/failures": { failures: [failure], lost: [] } });
    expect(document.querySelector(".banner")).toBeNull();
    expect(texts(".failures .facts > *").slice(0, 6)).toEqual([
      ...["64 ×", "env-crash", "training", "steps 3–5", "Example episode", "All env-crash"],
    ]);
    expect(texts(".failures .text")).toEqual(["Error: <b>down</b>\n    at start (env.ts:3:1)"]);
    expect(find(".failures a").getAttribute("href")).toBe("/runs/first/trajectories/12");
    expect(texts(".findings")).toEqual(["The doctor found no other problems."]);
  });

  test("that took whole steps, or ended the run, are a banner", async () => {
    const lost = [3, 4].map((step) => ({ during: "training", step, attempts: 64 }));
    const { example: _example, ...unseen } = failure;
    await show("/runs/first", {
      "/runs/first": runAnswer({ error: "everything-crashed: <i>" }),
      "/runs/first/failures": { failures: [unseen], lost },
    });
    expect(find(".banner").getAttribute("role")).toBe("alert");
    expect(texts(".banner p")).toEqual([
      "Every attempt failed in training at 2 steps, from step 3 to 4: nothing could be learned or measured there. Error: <b>down</b>",
      "The run ended with an error: everything-crashed: <i> Copy",
    ]);
    expect(texts(".failures .facts .quiet")).toEqual(["ended before its first message: no episode to show"]);
  });
});

describe("findings", () => {
  const finding: ShownFinding = {
    code: "echo-trap",
    severity: "error",
    message: "Alike.",
    step: 9,
    since: 4,
    remedy: "Go back.",
  };

  test("that are none are said to be none", async () => {
    await show();
    expect(texts(".findings")).toEqual(["The doctor found no problems."]);
  });

  test("are waited for in words", async () => {
    await show("/runs/first", { "/runs/first/findings": new TypeError("fetch failed") });
    expect(texts(".findings")).toEqual(["Running the doctor …"]);
  });

  test("have code, step, message and remedy; a few are open, many are folded", async () => {
    await show("/runs/first", { "/runs/first/findings": { findings: [finding] } });
    expect(texts(".findings li")).toEqual(["echo-trap steps 4–9 Alike. Go back."]);
    expect(find(".findings").hasAttribute("open")).toBe(true);
    const many = Array.from({ length: 150 }, (_, step) => ({ ...finding, step, since: step }));
    await show("/runs/first", { "/runs/first/findings": { findings: many } });
    expect(texts(".findings summary")).toEqual(["150 findings"]);
    expect(find(".findings").hasAttribute("open")).toBe(false);
    expect(texts(".findings li")).toHaveLength(100);
  });
});

describe("curves", () => {
  test("have sections for what is known and a list for the rest", async () => {
    await show();
    expect(texts(".section h2, .section summary")).toEqual(["Learning", "All other metrics (1)"]);
    expect(charts()).toEqual([
      "Training reward: rollout/reward 2.1",
      "Training success: rollout/success 2.1",
      "own/metric: own/metric 2.1",
    ]);
  });

  test("are smoothed by the share in the address, and evaluations never: they have their intervals", async () => {
    const names = ["rollout/reward", "eval/success"];
    const runs = [{ run: "first", evaluations: [evaluation(0, 0.25), evaluation(39, 0.75)] }];
    await show("/runs/first?smooth=0.5", {
      "/runs/first": runAnswer({ metricNames: names }),
      "/evaluations": { runs },
    });
    // weights 1/16 to 1/2 of 0 to 3, divided by their sum
    expect(charts()).toEqual(["Held-out success: success 0.75 (0.7 to 0.8)", "Training reward: rollout/reward 2.27"]);
    expect(find("output").textContent).toBe("0.50");
  });

  test.each([
    ["?smooth=abc", "0.60"],
    ["?smooth=-1", "0.00"],
    ["?smooth=7", "0.98"],
  ])("with %s are smoothed by %s", async (search, share) => {
    await show(`/runs/first${search}`);
    expect(find("output").textContent).toBe(share);
  });

  test("ask for the steps of the address, and for all where those are no numbers", async () => {
    const zoomed = await show("/runs/first?from=10&to=20");
    expect(zoomed.requests.find((path) => path.startsWith("/series"))).toContain("&from=10&to=20");
    const whole = await show("/runs/first?from=abc&to=20");
    expect(whole.requests.find((path) => path.startsWith("/series"))).not.toContain("from");
  });

  test("keep their settings in the address", async () => {
    await show();
    await fill(find('[aria-label="From step"]'), "5");
    expect(address()).toBe("/runs/first?to=1000000&from=5");
    await click(button("Show all"));
    await click(find(".tools [type=checkbox]"));
    expect(address()).toBe("/runs/first?log=true");
  });

  test("on a log scale leave out what is not positive", async () => {
    await show("/runs/first?log=true&smooth=0");
    expect(charts()[0]).toBe("Training reward: rollout/reward 3");
  });

  test("of several runs have one line each", async () => {
    await show("/runs/first?with=other&smooth=0");
    expect(charts()[0]).toBe("Training reward: first 3, other 3");
  });

  test("of parts are stacked, and say the part's own value", async () => {
    const metricNames = ["rollout/reward", "rollout/stop/completed", "rollout/stop/max-turns"];
    await show("/runs/first", { "/runs/first": runAnswer({ metricNames }) });
    expect(charts()[1]).toBe("Stop reasons: max-turns 3, completed 3");
  });

  test("without numbers say that there are none", async () => {
    await show("/runs/first", { "/series": { series: [] } });
    expect(charts()[0]).toBe("Training reward: no data");
  });

  test("that fail say so under the chart", async () => {
    await show("/runs/first", { "/series": new Response("oops", { status: 500, statusText: "" }) });
    expect(texts(".card [role=alert]")).toContain("failed HTTP 500");
  });

  test("can be found by name among the rest", async () => {
    await show("/runs/first", { "/runs/first": runAnswer({ metricNames: ["own/a", "own/b", "mine/c"] }) });
    await fill(find('[aria-label="Find a metric"]'), "own/");
    expect(texts("details .title")).toEqual(["own/a", "own/b"]);
  });
});

describe("events", () => {
  const stored = (order: number, event: object) => ({ order, step: order, time: 1_700_000_000_000, event });

  test("are listed with what they say", async () => {
    const events = [
      stored(1, { type: "run-start", name: "first" }),
      stored(2, { type: "eval-end", step: 2, metrics: { "eval/success": 0.5, "eval/reward": null } }),
      stored(3, { type: "warning", message: "mind the gap" }),
      stored(4, { type: "run-end", reason: "finished" }),
    ];
    await show("/runs/first", { "/runs/first/events": { events, next: 5 } });
    expect(texts(".events li")).toEqual([
      "22:13:20 run-start step 1",
      "22:13:20 eval-end step 2 eval/success 0.5, eval/reward NaN",
      "22:13:20 warning step 3 mind the gap",
      "22:13:20 run-end step 4 finished",
    ]);
    await click(button("Next"));
    expect(address()).toBe("/runs/first?events=5");
  });

  test("are those that are no curve", async () => {
    const server = await show();
    const asked = server.requests.find((path) => path.includes("/events"));
    expect(asked).toContain("type=run-end");
    expect(asked).not.toContain("step-end");
  });
});

describe("the axis", () => {
  const spans = (...given: object[]) => ({ "/spans": { spans: given } });
  const warm = { run: "first", steps: 560, warmStart: { name: "imitate", steps: 500 } };
  const asked = (requests: readonly string[]) => requests.find((path) => path.startsWith("/series"))!;

  test("is that of learning in all charts, from the last step of the warm start on", async () => {
    const server = await show("/runs/first", spans(warm));
    expect(asked(server.requests)).toContain("&from=499");
    expect(asked(server.requests)).not.toContain("&to=");
    await click(find("label:has(input):nth-of-type(3) input"));
    expect(address()).toBe("/runs/first?phase=all");
    expect(server.requests.findLast((path) => path.startsWith("/series"))).not.toContain("from");
  });

  test("has no warm start to show where there is none, or where nothing came after it yet", async () => {
    await show("/runs/first", spans({ run: "first", steps: 40 }));
    expect(texts(".tools label").join()).not.toContain("warm start");
    const server = await show("/runs/first", spans({ ...warm, steps: 200 }));
    expect(texts(".tools label").join()).not.toContain("warm start");
    expect(asked(server.requests)).not.toContain("from");
  });
});

test("another run is overlaid and removed", async () => {
  await show();
  await fill(find(".picker"), "other");
  expect(address()).toBe("/runs/first?with=other");
  await click(find(".overlay .chip"));
  expect(address()).toBe("/runs/first");
});
