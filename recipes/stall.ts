import { cosine, createRng, imitate, type Rng } from "ludus";
import {
  type BrowserEnvOptions,
  type BrowserEnvTask,
  browserEnv,
  type Milestone,
  type Site,
  type SiteData,
  siteParts,
  type TaskKind,
  type TaskRule,
  type Web,
} from "ludus/environments";
import type { World } from "ludus/rollout";
import type { WarmStart } from "ludus/train";

const { page, link, form, button, redirect } = siteParts;

export const goods = ["mug", "hat", "pen", "bag", "cup", "fan"] as const;
const stocked = 4;
/** Lists have as many lines, whatever is on them: where something is to be found does not depend on how much there is. */
const most = 3;
const nothing = "-";

/** How many of what, in the order of the alphabet. */
type Basket = Readonly<Record<string, number>>;

interface StallData extends SiteData {
  /** What there is to buy. */
  readonly stock: readonly string[];
  cart: Basket;
  paid: Basket;
}

const links = [["Shop", "/"]] as const;

/** A shop with the fewest pages there can be: what there is, a page of each with a button that puts it into the cart, and paying. */
const stall: Site<StallData> = {
  name: "stall",
  host: "stall.test",
  open: (rng) => ({ user: null, stock: drawn(rng, goods, stocked), cart: {}, paid: {} }),
  handle(data, { method, path }) {
    const good = data.stock.find((each) => path === `/${each}`);
    if (method === "POST" && good !== undefined) data.cart = basket([...contents(data.cart), good]);
    if (method === "POST" && path === "/pay") {
      data.paid = basket([...contents(data.paid), ...contents(data.cart)]);
      data.cart = {};
    }
    if (method === "POST") return redirect("/");
    if (good !== undefined) return page({ title: good, links }, form("post", path, button("Add")));
    const pay = form("post", "/pay", button("Pay"));
    return page({ title: "Shop", links }, ...data.stock.map((each) => link(each, `/${each}`)), pay);
  },
};

const contents = (of: Basket) => Object.entries(of).flatMap(([good, count]) => Array<string>(count).fill(good));

function basket(all: readonly string[]): Basket {
  const counted: Record<string, number> = {};
  for (const good of all.toSorted()) counted[good] = (counted[good] ?? 0) + 1;
  return counted;
}

/** What is asked for, how it is judged, and how it is done. */
export function order(
  wanted: readonly string[],
): Pick<ReturnType<TaskKind["make"]>, "instruction" | "rules" | "milestones"> {
  const rules: TaskRule[] = [{ on: "state", path: ["paid"], is: basket(wanted) }];
  const adding = wanted.map((good): Milestone => {
    return { at: `/${good}`, write: {}, press: "Add", until: [{ on: "state", path: ["cart", good], is: 1 }] };
  });
  const paying: Milestone = { at: "/", write: {}, press: "Pay", until: rules };
  const lines = Array.from({ length: most }, (_, index) => wanted[index] ?? nothing);
  return { instruction: `Buy ${lines.join(", ")}.`, rules, milestones: [...adding, paying] };
}

/** What an instruction asks for, in its order: the other way round. */
export function wantedIn(instruction: string): string[] {
  const lines = instruction.replace(/^Buy |\.$/g, "").split(", ");
  return lines.filter((good) => good !== nothing);
}

/** What there is in a world, as the back end draws it for a web of one site. */
export const stockOf = (world: number): readonly string[] => stall.open(createRng(world)).stock;

/** What of a task is not in the cart yet, in its order. */
export function missingOf({ instruction }: { readonly instruction: string }, data: SiteData): string[] {
  const { cart } = data as StallData;
  return wantedIn(instruction).filter((good) => cart[good] === undefined);
}

export const kindOf = (count: number) => `buy-${count}`;

function buying(count: number): TaskKind {
  return {
    ...{ name: kindOf(count), site: "stall", level: Math.min(count, 3) as 1 | 2 | 3 },
    make: (rng, { data }) => order(drawn(rng, (data.stall as StallData).stock, count)),
  };
}

/** Tasks of so many things to buy. */
export function stallWeb(counts: readonly number[]): Web {
  return { sites: { stall }, kinds: counts.map(buying) };
}

/** Pages without a browser, elements called by their names, and of each page what is new. */
export function stallEnv(counts: readonly number[], options: Partial<BrowserEnvOptions> = {}) {
  const env = browserEnv({
    ...{ web: stallWeb(counts), actions: "names", view: "brief", viewTokens: 60, turns: 2 * Math.max(...counts) + 4 },
    ...options,
  });
  return { ...env, limits: { ...env.limits, turnTokens: 8 } };
}

function drawn<Item>(rng: Rng, items: readonly Item[], count: number): Item[] {
  const left = [...items];
  return Array.from({ length: count }, () => left.splice(rng.integer(left.length), 1)[0]!);
}

/**
 * Imitation of tasks of one thing first, and then of all: where something is on a list is learned soonest from the shortest lists. From random weights it takes
 * 0.3M parameters some 20 seconds of one core to solve about four tasks of ten.
 */
export function lessons(easier: World<BrowserEnvTask> = stallEnv([1])): WarmStart {
  const first = imitate({ demonstrations: 1500, steps: 110, batchSize: 16, learningRate: 2e-3 });
  const then = imitate({ demonstrations: 1500, steps: 60, batchSize: 16, learningRate: cosine(2e-3, 0.1) });
  return {
    ...then,
    name: "lessons",
    steps: first.steps + then.steps,
    async prepare(env, ...rest) {
      const [early, late] = [await first.prepare(easier, ...rest), await then.prepare(env, ...rest)];
      return { ...late, rows: (step) => (step < first.steps ? early.rows(step) : late.rows(step - first.steps)) };
    },
  };
}
