import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const record = (name: string) => JSON.parse(readFileSync(`bench/results/${name}.json`, "utf8"));
const page = readFileSync("docs/explain/scale.md", "utf8");
const whole = (value: number) => Math.round(value).toLocaleString("en-US");

test("docs/explain/scale.md says what the records say, and what follows from them", () => {
  const { summary, measured } = record("cluster");
  const { held, summary: rollouts } = record("rollouts");
  const { engine, seven } = record("gpu");
  const { summary: tools } = record("tools");
  const largest = held.at(-1);
  const groups = summary.groups_per_s;
  const train = seven.tokensPerSecond;
  const [attempts, short, long] = [8, 1000, 8000];
  const asked = { groups: (8000 * train) / (attempts * long), bytes: 8000 * train * 13 };
  const folder = seven.parameters * 2;
  const figures = {
    // a record that was made with a store beside the queue says so
    "what PostgreSQL did": measured.isStored ? "one PostgreSQL as queue and store, " : "one PostgreSQL as queue, ",
    "groups a second": `${groups} groups a second`,
    "bytes of a group": `${whole(measured.bytesPerGroup)} bytes`,
    lost: `${measured.lost} lost, ${measured.twice} twice`,
    "rollouts in flight": `${whole(largest.rollouts)} rollouts in flight on ${largest.cores.toFixed(2)} cores`,
    "own time of a turn": `${rollouts.turn_overhead_us} µs`,
    sampled: `${whole(engine.sampleTokensPerSecond)} tokens a second sampled`,
    trained: `${whole(engine.trainTokensPerSecond)} trained`,
    "the large model": `${whole(train)} tokens a second trained, ${whole(seven.memoryGib)} GiB`,
    "tools, one turn": `${tools.trajectory_vs_batch_1turn.toFixed(1)} times as fast with one turn`,
    "tools, three turns": `${tools.trajectory_vs_batch_3turns.toFixed(1)} times with three`,
    "tokens through the queue": `${((groups * attempts * short) / 1e6).toFixed(1)}M sampled tokens`,
    "GPUs, small": `what ${whole((groups * attempts * short) / engine.sampleTokensPerSecond)} H200 sample`,
    "GPUs, large": `as fast as it is trained, ${whole((groups * attempts * short) / train)}.`,
    "GPUs, long": `8,000 tokens it is ${whole((groups * attempts * long) / train)}.`,
    "GPUs of a worker": `it serves ${whole(largest.rollouts / 256)} GPUs`,
    "groups asked for": `| ${whole(asked.groups)} | ${groups} | ${(asked.groups / groups).toFixed(1)} |`,
    "bytes asked for": `| ${(asked.bytes / 1e9).toFixed(1)} GB | ${((groups * measured.bytesPerGroup) / 1e6).toFixed(1)} MB | ${whole(asked.bytes / (groups * measured.bytesPerGroup))} |`,
    "factor of bytes": `a factor of ${whole(asked.bytes / (groups * measured.bytesPerGroup))} away`,
    "rollouts asked for": `| ${whole(8000 * 256)} |`,
    "processes asked for": `${whole((8000 * 256) / largest.rollouts)} processes`,
    "trained by 2,000": `| ${whole((2000 * train) / 1e6)}M | ${whole(train)} a GPU |`,
    "sampled by 8,000": `| ${whole((8000 * train) / 1e6)}M |`,
    weights: `| ${whole((folder * 1000) / 1e12)} TB | a folder of ${whole(folder / 1e9)} GB |`,
    "hours between failures": `every ${1000 / 250} hours`,
    "lost to failures": `cost ${whole((5 / (4 * 60)) * 100)} % of the work`,
  };
  const missing = Object.entries(figures).filter(([, text]) => !page.includes(text));
  expect(missing).toEqual([]);
});
