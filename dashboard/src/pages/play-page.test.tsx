import { afterEach, describe, expect, test } from "vitest";
import { playAnswer, runSummary } from "../testing/fake-answers.ts";
import { fakeServer, problem } from "../testing/fake-server.ts";
import { address, button, click, closePage, fill, find, press, showPage, texts } from "../testing/show-page.tsx";

afterEach(closePage);

const environments = [
  { name: "bandit", description: "One of several arms pays." },
  { name: "shelf", description: "Things on a shelf." },
];
const show = async (search = "", more: Record<string, unknown> = {}) => {
  const server = fakeServer({
    "/runs": { runs: [runSummary()], total: 1 },
    "/environments": { environments },
    "/play": playAnswer(),
    ...more,
  });
  await showPage(`/play${search}`);
  return server;
};

describe("starting", () => {
  test("takes the first environment unless the address names one", async () => {
    const server = await show();
    await click(button("Start"));
    expect(server.posted).toEqual([{ env: "bandit", index: 0 }]);
  });

  test("passes on the task and the run", async () => {
    const server = await show("?env=shelf&index=7&run=first");
    await click(button("Start"));
    expect(server.posted).toEqual([{ env: "shelf", index: 7, run: "first" }]);
    await click(find(".chip"));
    expect(address()).toBe("/play?env=shelf&index=7");
  });

  test("takes the own environment of the run it came from, or the one of that name", async () => {
    const own = { name: "bandit", description: "Mine." };
    const server = await show("?of=first", { "/environments": { environments, own, runEnv: "bandit" } });
    expect(server.requests).toContain("/environments?run=first");
    await click(button("Start"));
    await fill(find("select"), "bandit");
    await click(button("Start"));
    expect(server.posted).toEqual([
      { envOf: "first", index: 0 },
      { env: "bandit", index: 0 },
    ]);
    const named = await show("?of=first", { "/environments": { environments, runEnv: "shelf", problem: "no file" } });
    await click(button("Start"));
    expect(named.posted).toEqual([{ env: "shelf", index: 0 }]);
    expect(texts(".quiet")).not.toContain("no file");
    await show("?of=first", { "/environments": { environments, runEnv: "mine", problem: "no file" } });
    expect(texts(".quiet")).toContain("no file");
  });

  test("with a task number that is none takes the first task", async () => {
    const server = await show("?index=abc");
    await click(button("Start"));
    expect(server.posted).toEqual([{ env: "bandit", index: 0 }]);
  });

  test("is not possible without environments", async () => {
    await show("", { "/environments": { environments: [] } });
    expect(texts(".empty")).toEqual(["This server has no environments to play."]);
    expect(button("Start").disabled).toBe(true);
  });

  test("says why it failed, and can be tried again", async () => {
    const server = await show("", { "/play": problem(400, "no-env", "There is no environment bandit.") });
    await click(button("Start"));
    expect(texts("[role=alert]")).toEqual(["no-env There is no environment bandit."]);
    server.reply({ "/play": playAnswer() });
    await click(button("Start"));
    expect(texts("[role=alert]")).toEqual([]);
  });

  test("says that the server is gone", async () => {
    await show("", { "/environments": new TypeError("fetch failed") });
    expect(texts("[role=alert]")).toEqual(["unreachable The server does not respond."]);
  });
});

describe("an episode", () => {
  const begin = async (fields = {}, more: Record<string, unknown> = {}) => {
    const server = await show("", { "/play": playAnswer(fields), ...more });
    await click(button("Start"));
    return server;
  };

  test("shows messages, the prompt and the tools", async () => {
    await begin({ tools: [{ name: "pull", description: "Pulls.", parameters: { properties: { arm: {} } } }] });
    expect(texts(".message")).toEqual(["userChoose an arm."]);
    expect(texts(".prompt")).toEqual(["<user>Choose an arm."]);
    expect(texts(".tool-list li")).toEqual(['pull Pulls.{"arm":{}}']);
    expect(texts("h2 .quiet")).toEqual(["reward so far 0", "1,234 tokens"]);
  });

  test("takes a message by Enter, and Shift+Enter is a new line", async () => {
    const said = playAnswer({ messages: [...playAnswer().messages, { role: "assistant", content: "1" }] });
    const server = await begin({}, { "/play/s1/say": said });
    await fill(find("textarea"), "1");
    await press("Enter", find("textarea"));
    expect(server.posted.at(-1)).toEqual({ text: "1" });
    expect(texts(".message")).toEqual(["userChoose an arm.", "you1"]);
    expect((find("textarea") as HTMLTextAreaElement).value).toBe("");
  });

  test("offers what may be said", async () => {
    const server = await begin({ possible: ["pull 0", "pull 1"] }, { "/play/s1/say": playAnswer() });
    await click(button("pull 1"));
    expect(server.posted.at(-1)).toEqual({ text: "pull 1" });
  });

  test("has an expert, unless it has none", async () => {
    await begin({}, { "/play/s1/expert": { text: "pull 1" } });
    await click(button("Suggest expert message"));
    expect((find("textarea") as HTMLTextAreaElement).value).toBe("pull 1");
    await begin({ hasExpert: false });
    expect(texts("button")).not.toContain("Suggest expert message");
  });

  test("whose expert fails says so in words", async () => {
    await begin({}, { "/play/s1/expert": new TypeError("fetch failed") });
    await click(button("Suggest expert message"));
    expect(texts("[role=alert]")).toEqual(["unreachable The server does not respond."]);
  });

  test("ends with its score, and takes nothing more", async () => {
    const end = { stop: "env-crash", failure: "boom\u202e", score: { total: 0.5, parts: { a: 0.5 }, success: false } };
    await begin({ end });
    expect(texts("[role=status]")).toEqual(["env-crash reward 0.5 a 0.5 boom⟨U+202E⟩"]);
    expect(find("[role=status]").className).toBe("end bad");
    expect(document.querySelector("textarea")).toBeNull();
  });

  test("of a session that the server forgot says what to do", async () => {
    await begin({}, { "/play/s1/say": problem(404, "no-session", "Start a new one.") });
    await click(button("Send"));
    expect(texts("[role=alert]")).toEqual(["no-session Start a new one."]);
    expect(button("Send").disabled).toBe(false);
  });
});

describe("a checkpoint", () => {
  const choice = (id: number, text: string, p: number) => ({ id, text, logprob: Math.log(p) });
  const token = { id: 1, text: " a", logprob: Math.log(0.75), isGiven: false };
  const suggestion = {
    text: " a",
    stop: "max-tokens",
    tokens: [{ ...token, choices: [choice(1, " a", 0.75), choice(2, "\n", 0.25), { id: 3, text: "", logprob: null }] }],
  };
  const begin = async (reply: unknown = suggestion) => {
    const server = await show("", { "/play": playAnswer({ checkpoint: 29 }), "/play/s1/suggest": reply });
    await click(button("Start"));
    return server;
  };

  test("samples a token and shows its alternatives with their probabilities", async () => {
    const server = await begin();
    expect(texts("h2")).toContain("Checkpoint at step 29");
    await click(button("Sample token"));
    expect(server.posted.at(-1)).toEqual({ given: [], temperature: 1, seed: 0, maxTokens: 1 });
    expect(texts(".choices button")).toEqual(["␣a 75%", "↵ 25%", "· 0%"]);
  });

  test("samples a whole turn, with another seed each time", async () => {
    const server = await begin();
    await click(button("Sample turn"));
    await click(button("Sample turn"));
    expect(server.posted.slice(1)).toEqual([
      { given: [], temperature: 1, seed: 0 },
      { given: [], temperature: 1, seed: 1 },
    ]);
  });

  test("goes on from an alternative, and its tokens can be sent", async () => {
    const server = await begin();
    await click(button("Sample token"));
    await click(button("↵ 25%"));
    expect(server.posted.at(-1)).toEqual({ given: [2], temperature: 1, seed: 1 });
    await click(button("Send this"));
    expect(server.posted.at(-1)).toEqual({ tokens: [1] });
  });

  test("that is at its end samples no further token", async () => {
    await begin({ ...suggestion, stop: "stop-token" });
    await click(button("Sample turn"));
    expect(button("Sample token").disabled).toBe(true);
  });

  test("that cannot be loaded says why", async () => {
    await begin(problem(500, "no-model", "The checkpoint has no weights."));
    await click(button("Sample turn"));
    expect(texts("[role=alert]")).toEqual(["no-model The checkpoint has no weights."]);
    expect(button("Send this").disabled).toBe(true);
  });
});
