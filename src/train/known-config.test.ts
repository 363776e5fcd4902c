import { expect, test } from "vitest";
import { trainOffline } from "./offline.ts";
import { grpo } from "./presets/grpo.ts";
import { dpo } from "./presets/offline.ts";
import { train } from "./train-sync.ts";

const refused: readonly [given: object, says: string][] = [
  [{ tasksPerSteps: 4 }, 'train: unknown option "tasksPerSteps"; did you mean "tasksPerStep"?'],
  [{ evall: {} }, 'train: unknown option "evall"; did you mean "eval"?'],
  [{ eval: { taks: 4 } }, 'train: eval: unknown option "taks"; did you mean "tasks"?'],
  [{ eval: { limits: { turn: 4 } } }, 'train: eval.limits: unknown option "turn"; did you mean "turns"?'],
  [{ rollout: { limit: {} } }, 'train: rollout: unknown option "limit"; did you mean "limits"?'],
  [
    { rollout: { limits: { turnToken: 4 } } },
    'train: rollout.limits: unknown option "turnToken"; did you mean "turnTokens"?',
  ],
  [{ save: { keep: 4 } }, 'train: save: unknown option "keep"; known options: every, retain'],
  [{ budget: { second: 4 } }, 'train: budget: unknown option "second"; did you mean "seconds"?'],
  [{ earlyStop: { succes: 1 } }, 'train: earlyStop: unknown option "succes"; did you mean "success"?'],
  [{ algorithm: { ...grpo(), epoch: 2 } }, 'train: algorithm: unknown option "epoch"; did you mean "epochs"?'],
  [
    { algorithm: { ...grpo(), optimizer: { ...grpo().optimizer, learningrate: 1 } } },
    'train: algorithm.optimizer: unknown option "learningrate"; did you mean "learningRate"?',
  ],
];

test.each(refused)("%o is refused", async (given, says) => {
  await expect(train({ ...given } as never)).rejects.toThrow(says);
});

test("offline training refuses the same of its algorithm", async () => {
  const algorithm = { ...dpo(), refrence: "stored" };
  const said = 'trainOffline: algorithm: unknown option "refrence"; did you mean "reference"?';
  await expect(trainOffline({ algorithm } as never)).rejects.toThrow(said);
});
