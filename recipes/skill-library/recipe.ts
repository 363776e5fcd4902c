import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cosine, type Env, type EvalReport, fromScratch, imitate, listed } from "ludus";
import {
  type OfficeSkillsState,
  type OfficeSkillsTask,
  officeSkillFor,
  officeSkills,
  officeTrials,
  writtenSkill,
} from "ludus/environments";
import type { Recipe } from "ludus/recipe";
import { loadSkills, type NewSkill, saveSkill } from "ludus/tool";
import { skillLibraryClaims } from "./claims.ts";

/** What the reader is never trained on. */
const newKinds = ["refunds", "visas", "parking", "contracts", "mail"];
const knownKinds = [
  ...["invoices", "returns", "leave", "badges", "laptops", "repairs", "trips", "rooms"],
  ...["courses", "payroll", "suppliers", "complaints", "events", "catering", "archive"],
];
const tasks = 200;
const trials = officeTrials();
const asked = officeTrials({ kinds: newKinds, seed: 1 });

/** Each request comes with the skill for it, as someone wrote it who knows the rule. */
const known = officeSkills({ kinds: knownKinds, skills: "everything" });
const withSkill: Env<OfficeSkillsTask, OfficeSkillsState> = {
  ...known,
  tasks: {
    ...known.tasks,
    async at(split, index) {
      const task = await known.tasks.at(split, index);
      return { ...task, data: { ...task.data, library: [officeSkillFor(task.data)] } };
    },
  },
};

export const skillLibrary: Recipe = {
  system: "skill-library",
  title: "Skills that are found out and shared",
  measures: { success: "right", turns: "turns", written: "skills that are right", seconds: "seconds" },
  claims: skillLibraryClaims,
  async run(lab) {
    await lab.arm("shared skills", async (arm) => {
      const author = await lab.begin({
        env: trials,
        policy: fromScratch({ size: "tiny", threads: 1, tokenizer: 400, contextLength: 256 }),
        warmStart: imitate({ demonstrations: 1500, steps: 180, batchSize: 32, learningRate: cosine(2e-3, 0.1) }),
      });
      const found = await author.evaluate({ env: asked, tasks, temperature: 0 });
      const library = await shared(found);
      arm.also("finding out", { success: found, turns: found.turns, seconds: author.seconds });
      const reader = await lab.begin({
        env: withSkill,
        policy: fromScratch({ size: "tiny", threads: 1, tokenizer: 400, contextLength: 128 }),
        warmStart: imitate({ demonstrations: 3000, steps: 250, learningRate: cosine(1e-3, 0.1) }),
      });
      const use = async (skillsFor: (task: OfficeSkillsTask, index: number) => readonly NewSkill[]) => {
        const rows = found.rollouts.map(({ task }, index) => {
          const data = task.data as OfficeSkillsTask;
          return { ...data, order: `N${10 + (index % 90)}`, library: skillsFor(data, index) };
        });
        const env = { ...known, tasks: listed({ test: rows, validation: rows }, { name: "requests" }) };
        const report = await reader.evaluate({ env, tasks: rows.length, temperature: 0 });
        return { success: report, turns: report.turns };
      };
      arm.measure({
        ...(await use((_, index) => library[index]!)),
        written: found.success.mean,
        seconds: reader.seconds,
      });
      arm.also("no skills", await use(() => []));
      arm.also("the office's own skills", await use((task) => [officeSkillFor(task)]));
      const trained = await reader.evaluate({ tasks, temperature: 0 });
      arm.also("the office's own skills, kinds of training", { success: trained, turns: trained.turns });
    });
  },
};

/** What the author wrote in each episode, by way of folders with a SKILL.md: what is no skill is not there for others. */
async function shared({ rollouts }: EvalReport): Promise<(readonly NewSkill[])[]> {
  const root = await mkdtemp(join(tmpdir(), "ludus-skills-"));
  try {
    const libraries: (readonly NewSkill[])[] = [];
    for (const [index, { task, trajectories }] of rollouts.entries()) {
      const skill = writtenSkill(task.data as OfficeSkillsTask, trajectories[0].turns);
      const folder = join(root, `${index}`);
      const isSaved =
        skill !== undefined &&
        (await saveSkill(folder, skill)
          .then(() => true)
          .catch(() => false));
      libraries.push(isSaved ? await loadSkills(folder) : []);
    }
    return libraries;
  } finally {
    await rm(root, { recursive: true });
  }
}
