import { expect, test } from "vitest";
import { fuzzyJudge } from "./fuzzy-judge.ts";
import { fakeEpisode } from "./testing/fake-episode.ts";
import { startFakeJudge } from "./testing/fake-judge.ts";
import { webArena } from "./web-arena.ts";

test("WebArena's open questions go to a model", async () => {
  const server = await startFakeJudge(({ messages }) => {
    const text = messages.map(({ content }) => content).join("\n");
    return JSON.stringify({
      reasoning: "",
      same: /STUDENT \w+\ntwelve\n/.test(text) && text.includes("What does it cost?"),
    });
  });
  try {
    const reward = webArena({
      answers: () => ({ fuzzy_match: ["12"] }),
      intent: () => "What does it cost?",
      judge: fuzzyJudge({ endpoint: server.endpoint, models: ["m"] }),
    });
    expect((await reward(fakeEpisode({}, ["twelve"]))).total).toBe(1);
    expect((await reward(fakeEpisode({}, ["eleven"]))).total).toBe(0);
  } finally {
    await server.close();
  }
});
