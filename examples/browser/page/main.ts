import { playEpisode } from "../../../src/env/attempt/attempt-episode.ts";
import type { Episode } from "../../../src/env/episode.ts";
import { compactRenderer } from "../../../src/policy/compact-renderer.ts";
import { tokenizerFromFiles } from "../../../src/policy/load-tokenizer.ts";
import type { Speaker } from "../../../src/rollout/speaker.ts";
import { world } from "../world.ts";
import { OnnxModel } from "./onnx-model.ts";
import { onnxSpeaker, type SaidToken } from "./onnx-speaker.ts";
import "./stand-ins/immediate.ts";
import "./style.css";
import { addLine, element, tokenSpan } from "./view.ts";

const folder = "agent";
const pauseMs = 400;

const env = world();
const model = await OnnxModel.load(folder);
const names = ["tokenizer.json", "tokenizer_config.json"];
const contents = await Promise.all(names.map(async (name) => (await fetch(`${folder}/${name}`)).text()));
const tokenizer = tokenizerFromFiles(Object.fromEntries(names.map((name, i) => [name, contents[i]!])));
const renderer = compactRenderer({ tokenizer });
const renderContext = { renderer, engine: { info: { contextLength: model.shape.max_position_embeddings } } };
const textOf = (id: number) => tokenizer.decode([id], { special: true });
const tally = { asked: 0, right: 0 };

/** One question of those it was not trained on. */
async function ask(index: number, waitMs: number): Promise<void> {
  const task = await env.tasks.at("test", index);
  const temperature = Number(element<HTMLInputElement>("temperature").value);
  const { start, relations, answer } = task.data;
  element("talk").replaceChildren();
  addLine("world", "question", `${start} ${relations.join(" ")}?`);
  const say = onnxSpeaker(model, {
    temperature,
    stopTokens: renderer.stopTokens,
    async onTurn(said: readonly SaidToken[]) {
      const words = said.filter(({ id }) => !renderer.stopTokens.includes(id));
      addLine("agent", "agent", ...words.map((token) => tokenSpan(token, textOf)));
      if (waitMs > 0) await new Promise((done) => setTimeout(done, waitMs));
    },
  });
  const speaker: Speaker<Episode> = (request, episode) => {
    const last = episode.turns.at(-1);
    if (last !== undefined) addLine("world", last.calls[0]?.name ?? "world", last.observation);
    return say(request, episode);
  };
  const options = { id: `question-${index}`, seed: index, temperature };
  const played = await playEpisode(env, task, renderContext, options, speaker);
  const { trajectories, stop } = await played.score();
  const isRight = trajectories[0]?.score.success ?? false;
  addLine(isRight ? "end good" : "end", stop, isRight ? "Right." : `Wrong: it is ${answer}.`);
  tally.asked++;
  tally.right += isRight ? 1 : 0;
  element("tally").textContent = `${tally.right} of ${tally.asked} answers are right.`;
}

const buttons = [element<HTMLButtonElement>("ask"), element<HTMLButtonElement>("many")];

/** Work that no button may be pressed during. */
async function alone(work: () => Promise<unknown>): Promise<void> {
  for (const button of buttons) button.disabled = true;
  try {
    await work();
  } catch (error) {
    element("about").textContent = `Something broke: ${error instanceof Error ? error.message : String(error)}`;
  } finally {
    for (const button of buttons) button.disabled = false;
  }
}

const taskField = element<HTMLInputElement>("task");
element<HTMLFormElement>("tools").addEventListener("submit", (event) => {
  event.preventDefault();
  void alone(async () => {
    await ask(Number(taskField.value), pauseMs);
    taskField.value = String(Number(taskField.value) + 1);
  });
});
element("many").addEventListener("click", () => {
  void alone(async () => {
    for (let i = 0; i < 25; i++) await ask(Number(taskField.value) + i, 0);
  });
});
element("about").textContent =
  "A transformer trained with Ludus runs in this page, and so does the world it searches. The stronger a token is coloured, " +
  "the less sure the agent was; point at it to see what else it might have said.";
await alone(async () => {});
