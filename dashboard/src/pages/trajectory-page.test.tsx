import { afterEach, describe, expect, test } from "vitest";
import type { TrajectoryAnswer } from "../../../src/server/dashboard/answers.ts";
import { groupAnswer, shownTurn, summary, trajectoryAnswer } from "../testing/fake-answers.ts";
import { fakeServer, problem } from "../testing/fake-server.ts";
import { address, button, click, closePage, fill, find, settle, showPage, texts } from "../testing/show-page.tsx";

afterEach(closePage);

const look = { checkpoint: 9, logprobs: [0, 0, -1, -1, -1, 0], entropies: [0, 0, 4, 1, 0, 0] };
const show = async (search = "", fields: Partial<TrajectoryAnswer> = {}, more: Record<string, unknown> = {}) => {
  const server = fakeServer({
    "/runs/first/trajectories/7": trajectoryAnswer(fields),
    "/runs/first/trajectories/7/look": look,
    "/runs/first/groups/3": groupAnswer(),
    ...more,
  });
  await showPage(`/runs/first/trajectories/7${search}`);
  return server;
};
/** Text, colour and strength of each token: `+50` is half of the first colour, `-50` of the second. */
const tokens = () =>
  [...document.querySelectorAll<HTMLElement>(".t")].map((token) => {
    const level = token.style.getPropertyValue("--level").replace("%", "");
    const sign = level === "" ? "" : token.classList.contains("below") ? "-" : "+";
    return `${token.textContent}${token.classList.contains("said") ? "*" : ""}${sign}${level}`;
  });
const columns = trajectoryAnswer().tokens;

describe("an episode", () => {
  test("has its score, its parts and how it ended", async () => {
    await show();
    expect(texts(".head .facts > span")).toEqual([
      "",
      "reward 1",
      "outcome 1",
      "step 12",
      "completed",
      "1 turn, 6 tokens",
      "temperature 0.7",
    ]);
    expect(texts(".task summary")).toEqual(["Task"]);
  });

  test("shows context before what was sampled", async () => {
    await show();
    expect(texts(".turn summary, .turn h4")).toEqual(["context", "sampled"]);
    expect(texts(".turn .tokens")).toEqual(["Q:", "hi!"]);
  });

  test("with a hint shows it and its kind", async () => {
    await show("", { hint: { kind: "plan", text: { text: "Look under the stairs.", length: 22 } } });
    expect(texts(".task summary")).toEqual(["Task", "Hint, plan"]);
    expect(texts(".task:last-of-type .text")).toEqual(["Look under the stairs."]);
  });

  test("that failed shows why, shortened", async () => {
    await show("", { failure: { text: "out of memory", length: 5000 } });
    expect(texts(".failure")).toEqual(["out of memory… 4,987 more characters"]);
    await click(find(".failure .more"));
    expect(address()).toBe("/runs/first/trajectories/7?full=true");
  });

  test("shows calls with their outcome, and state and info of a turn", async () => {
    const text = (words: string) => ({ text: words, length: words.length });
    const call = { name: "search", arguments: text("{}"), outcome: "unknown-tool", observation: text("no such tool") };
    await show("", {
      turns: [shownTurn({ calls: [call], stateKey: "s1", reward: -0.5, info: { cost: 2, ok: true } })],
    });
    expect(texts(".call")).toEqual(["tool call search unknown-tool{}resultno such tool"]);
    expect(find(".call").className).toContain("broken");
    expect(texts(".turn h3")).toEqual(["Turn 1-0.5s1copyTextJSONLink"]);
    expect(texts(".turn .facts span")).toEqual(["cost 2", "ok true"]);
  });

  test("shows an observation once: the context that repeats it is folded, and what it says besides is not", async () => {
    const text = (words: string) => ({ text: words, length: words.length });
    const said = ["Q", "a", "cold", "<|im_start|>", "b", "cold", " also", "c"];
    const own = said.map((_, i) => i);
    const many = {
      ...columns,
      total: 8,
      ids: own,
      texts: said,
      mask: [0, 1, 0, 0, 1, 0, 0, 1],
      versions: own,
      logprobs: own,
    };
    const turns = [1, 4, 7].map((start) => shownTurn({ start, end: start + 1, observation: text("cold") }));
    await show("", { turns, tokens: many });
    const folds = [...document.querySelectorAll(".turn details")].map(
      (fold) => `${fold.hasAttribute("open") ? "open" : "shut"} ${fold.querySelector("summary")!.textContent}`,
    );
    expect(folds).toEqual([
      "open context",
      "open observation",
      "shut context: the observation of turn 1, 2 tokens",
      "shut observation, the same as in turn 1",
      "open context",
      "shut observation, the same as in turn 1",
    ]);
  });

  test("is copied as text, as JSON, and turn by turn", async () => {
    const copied: string[] = [];
    Object.assign(navigator, { clipboard: { writeText: async (words: string) => void copied.push(words) } });
    const server = await show();
    await click(button("Copy text"));
    await click(button("Copy JSON"));
    await click(button("Text"));
    await click(button("JSON"));
    await click(button("Link"));
    expect(server.requests).toContain("/runs/first/trajectories/7?full=true&tokens=50000");
    expect(copied[0]).toBe("train/0: reward 1, completed, step 12\n\n[context]\nQ:\n\n[turn 1]\nhi!");
    expect(JSON.parse(copied[1])).toMatchObject({ task: { id: "train/0" }, tokens: { total: 6 } });
    expect(copied[2]).toBe("[turn 1]\nhi!");
    expect(JSON.parse(copied[3])).toMatchObject({ text: { text: "hi!" } });
    expect(copied[4]).toMatch(/\/runs\/first\/trajectories\/7\?turn=1$/);
  });

  test("without turns shows all of its tokens", async () => {
    await show("", { turns: [] });
    expect(texts(".turn .tokens")).toEqual(["Q:hi!↵"]);
  });

  test("with hundreds of turns says how many are left out", async () => {
    const turns = Array.from({ length: 230 }, (_, i) => shownTurn({ start: 2 + i, end: 3 + i }));
    await show("", { turns });
    expect(texts(".turns > .empty")).toEqual(["30 more turns are not shown."]);
  });

  test("that is gone is a problem", async () => {
    await show("", {}, { "/runs/first/trajectories/7": problem(404, "no-trajectory", "There is no trajectory 7.") });
    expect(texts("main")).toEqual(["no-trajectory There is no trajectory 7."]);
  });
});

describe("tokens", () => {
  test("are coloured by log-probability where they were sampled, and only there", async () => {
    await show();
    // √(0.05 / 5), certain at most; a log-probability that is no number has no colour
    expect(tokens()).toEqual(["Q", ":", "h*+10", "i*+100", "!*"]);
  });

  test("are coloured by advantage in two colours", async () => {
    await show("?colour=advantage");
    expect(tokens()).toEqual(["Q", ":", "h*+100", "i*-71", "!*"]);
    expect(texts(".colour-key > span")).toEqual(["below 0", "above 0", "sampled context, mask 0"]);
  });

  test("with small advantages stay pale", async () => {
    await show("?colour=advantage", { tokens: { ...columns, advantages: [0, 0, 0.01, 0, 0, 0] } });
    expect(tokens()[2]).toBe("h*+20");
  });

  test("that were not trained on have no advantages, and the page says so", async () => {
    const { advantages: _, ...untrained } = columns;
    await show("?colour=advantage", { tokens: untrained });
    expect(texts("p.quiet")).toEqual(["This trajectory was not trained on, so it has no advantages."]);
    expect(tokens()).toEqual(["Q", ":", "h*", "i*", "!*"]);
  });

  test("are coloured by reward relative to the group", async () => {
    await show("?colour=reward");
    expect(tokens()).toEqual(["Q", ":", "h*+100", "i*+100", "!*+100"]);
    await show("?colour=reward", {}, { "/runs/first/groups/3": groupAnswer({ meanReward: null }) });
    expect(tokens()[2]).toBe("h*");
  });

  test("are coloured by policy version, where there are several", async () => {
    await show("?colour=version");
    expect(tokens()).toEqual(["Q", ":", "h*", "i*", "!*+100"]);
  });

  test("are coloured by entropy and drift once the checkpoint has answered", async () => {
    const server = await show("?colour=entropy");
    expect(tokens()).toEqual(["Q", ":", "h*+100", "i*+50", "!*"]);
    await fill(find(".tools select"), "drift");
    expect(tokens()).toEqual(["Q", ":", "h*-48", "i*+100", "!*-50"]);
    expect(server.posted).toHaveLength(1);
  });

  test.each([
    ["a run without checkpoints", problem(409, "no-checkpoint", "The run has no checkpoint."), "no-checkpoint The run"],
    ["a server that is gone", new TypeError("fetch failed"), "unreachable The server does not respond."],
  ])("say why there is no entropy: %s", async (_, reply, text) => {
    await show("?colour=entropy", {}, { "/runs/first/trajectories/7/look": reply });
    expect(find("[role=alert]").textContent).toContain(text);
    expect(tokens()[2]).toBe("h*");
  });

  test("with an unknown colouring are coloured by log-probability", async () => {
    await show("?colour=toString");
    expect(tokens()[3]).toBe("i*+100");
  });

  test("of a run without a tokenizer are ids, beside the text of the turn", async () => {
    const { texts: _, ...ids } = columns;
    await show("", { tokens: ids });
    expect(texts(".spoken")).toEqual(["sampled12 13 14 hi!"]);
  });

  test("that hide or reorder others are spelled out", async () => {
    const hostile = ["a", "\u202e", "\u0007", "\n", "<b>", "\ufeff"];
    await show("", { tokens: { ...columns, texts: hostile }, turns: [] });
    expect(find(".tokens").textContent).toBe("a⟨U+202E⟩␇↵\n<b>⟨U+FEFF⟩");
  });

  test("are described when pointed at, sampled or not", async () => {
    await show("?colour=advantage");
    expect(texts(".token-note")).toEqual(["Hover over a token or tap it for details."]);
    await click(find('.t[data-t="3"]'));
    expect(texts(".token-note > *")).toEqual([
      "token 3",
      "id 13",
      '"i"',
      "p 0.00674",
      "log p -5",
      "advantage -0.5",
      "version 3",
    ]);
    await click(find('.t[data-t="0"]'));
    expect(texts(".token-note > *")).toEqual(["token 0", "id 10", '"Q"', "context, mask 0"]);
  });

  test("in thousands are shown in parts", async () => {
    const T = 4000;
    const long = {
      ...columns,
      total: 9000,
      ids: new Array(T).fill(1),
      texts: new Array(T).fill("x"),
      mask: new Array(T).fill(1),
      logprobs: new Array(T).fill(-1),
      versions: new Array(T).fill(0),
    };
    await show("", { tokens: long, turns: [shownTurn({ start: 0, end: 9000 })] });
    expect(tokens()).toHaveLength(1500);
    expect(texts(".tokens .quiet")).toEqual(["… 5,000 not loaded"]);
    await click(find(".tokens .more"));
    expect(tokens()).toHaveLength(T);
    await click(button("Next"));
    expect(address()).toBe("/runs/first/trajectories/7?first=4000");
  });
});

describe("the group", () => {
  test("is linked with its rewards, and the settings stay", async () => {
    await show("?colour=reward");
    expect(texts(".members > *")).toEqual(["Group, mean 0.5", "‹", "0", "1", "NaN", "›"]);
    await click(find('[data-member="previous"]'));
    expect(address()).toBe("/runs/first/trajectories/6?colour=reward");
  });

  test("has no neighbour beyond its ends", async () => {
    await show("", {}, { "/runs/first/groups/3": groupAnswer({ members: [summary()] }) });
    expect(texts(".members > *")).toEqual(["Group, mean 0.5", "1"]);
  });

  test("is shown side by side, each member with its own tokens", async () => {
    const other = trajectoryAnswer({ summary: summary({ key: 6, reward: 0, success: false, stop: "max-turns" }) });
    await show("?group=true", {}, { "/runs/first/trajectories/6": other });
    expect(texts(".column .facts")).toEqual(["reward 0max-turns", "reward 1completed"]);
    // the third cannot be loaded
    expect(document.querySelectorAll(".column")).toHaveLength(3);
  });

  test("that cannot be loaded leaves the episode as it is", async () => {
    await show("", {}, { "/runs/first/groups/3": new TypeError("fetch failed") });
    expect(texts(".members")).toEqual([]);
    expect(tokens()).toHaveLength(5);
  });
});

test("a turn has an address", async () => {
  await show();
  await click(button("Turn 1"));
  expect(address()).toBe("/runs/first/trajectories/7?turn=1");
  await settle();
  expect(find(".turn").className).toContain("linked");
});
