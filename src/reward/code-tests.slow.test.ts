import { testLevel } from "../tool/sandbox/testing/bubblewrap-here.ts";
import { codeTests } from "./code-tests.ts";
import { rewardContract } from "./reward.contract.ts";
import { fakeEpisode } from "./testing/fake-episode.ts";

const limits = { testMs: 200, timeoutMs: 1_000, heapMb: 64 };

rewardContract(
  "codeTests",
  () => codeTests({ tests: () => [{ name: "four", expression: "four", expected: 4 }], limits, level: testLevel }),
  [fakeEpisode({}, ["```js\nconst four = 4\n```"])],
);
