import { describe, expect, test } from "vitest";
import { createRng } from "../../random.ts";
import { Episode } from "../episode.ts";
import { makeDatabase } from "./retail-database.ts";
import { retailDesk } from "./retail-desk.ts";
import { type RequestKind, requestKinds } from "./retail-requests.ts";
import { answerReply, meetUser, stopWord } from "./retail-user.ts";
import { playEpisode } from "./testing/play-episode.ts";

/** The first task of a kind, with one request. */
async function taskOf(kind: RequestKind) {
  const env = retailDesk({ kinds: [kind] });
  return { env, task: await env.tasks.at("train", 0) };
}

test("cancelling, in few letters", async () => {
  const { env, task } = await taskOf("cancel");
  const { heard, turns, scores } = await playEpisode(env, task, "expert");
  expect(turns.map(({ text }, i) => `${heard[i]} > ${text}`)).toMatchInlineSnapshot(`
    [
      "cancel > =name?",
      "Ana Cruz 947 > zip Ana Cruz 947",
      "u27 > =order reason?",
      "o99 unneeded > order o99",
      "o99 u27 pending
    Oak66 Graz 947
    c29 69
    i68 p23 lamp white 69 > =ok?",
      "yes > cancel o99 unneeded",
      "cancelled > =done",
    ]
  `);
  expect(scores.agent).toEqual({ total: 1, parts: { outcome: 1 }, success: true });
});

test("exchanging, in τ-bench's manner", async () => {
  const env = retailDesk({ style: "tags", kinds: ["exchange"] });
  const { turns, heard } = await playEpisode(env, await env.tasks.at("train", 1), "expert");
  expect(heard[0]).toContain("let the user confirm with yes");
  expect(turns.flatMap(({ calls }) => calls.map(({ name, outcome }) => `${name} ${outcome}`))).toEqual([
    expect.stringMatching(/^find_user_id_by_(email|name_zip) ok$/),
    "get_order_details ok",
    "get_product_details ok",
    "exchange_delivered_order_items ok",
  ]);
  expect(JSON.parse(turns.at(-2)!.observation)).toMatchObject({ status: "exchange requested" });
  expect(turns.at(-1)!.observation).toBe(stopWord);
});

test("there are τ-bench's fifteen tools, and think", () => {
  expect(Object.keys(retailDesk({ toolNames: "long" }).tools!).sort()).toEqual([
    ...["calculate", "cancel_pending_order", "exchange_delivered_order_items", "find_user_id_by_email"],
    ...["find_user_id_by_name_zip", "get_order_details", "get_product_details", "get_user_details"],
    ...["list_all_product_types", "modify_pending_order_address", "modify_pending_order_items"],
    ...["modify_pending_order_payment", "modify_user_address", "return_delivered_order_items", "think"],
    "transfer_to_human_agents",
  ]);
  expect(Object.keys(retailDesk({ toolNames: "short" }).tools!)).toHaveLength(16);
});

describe("the score", () => {
  const end = ["=done"];

  test("is for the right change of the database, whoever was asked", async () => {
    const { env, task } = await taskOf("cancel");
    const { gold, orderId } = task.data.requests[0];
    const reason =
      gold?.name === "cancel_pending_order" && gold.reason === "ordered by mistake" ? "mistake" : "unneeded";
    const other = reason === "mistake" ? "unneeded" : "mistake";
    const scoreOf = async (...says: string[]) => (await playEpisode(env, task, says)).scores.agent.total;
    expect(await scoreOf(`cancel ${orderId} ${reason}`, ...end)).toBe(1);
    expect(await scoreOf(`cancel ${orderId} ${other}`, ...end)).toBe(0);
    expect(await scoreOf(...end)).toBe(0);
    expect(await scoreOf("transfer sorry")).toBe(0);
    // the customer was never told
    expect(await scoreOf(`cancel ${orderId} ${reason}`)).toBe(0);
  });

  test("is for refusing what must not be done, in words or by handing over", async () => {
    const { env, task } = await taskOf("refuse");
    const { scores: refused } = await playEpisode(env, task, ["=no"]);
    const { scores: handed, stop } = await playEpisode(env, task, ["transfer not allowed"]);
    expect([refused.agent.total, handed.agent.total, stop]).toEqual([1, 1, "completed"]);
  });

  test("is for saying what was asked, commas and all", async () => {
    const { env, task } = await taskOf("look-up");
    const { data } = task;
    const request = { ...data.requests[0], outputs: ["1234.5"] };
    const asked = { ...task, data: { ...data, requests: [request] } };
    const scoreOf = async (...says: string[]) => (await playEpisode(env, asked, says)).scores.agent.total;
    expect(await scoreOf("=It is 1,234.5")).toBe(1);
    expect(await scoreOf("=It is 1,234")).toBe(0);
    expect(await scoreOf("=done")).toBe(0);
  });
});

describe("tools", () => {
  test("tell what is wrong in τ-bench's words", async () => {
    const env = retailDesk({ style: "tags" });
    const task = await env.tasks.at("train", 0);
    const call = (name: string, given: unknown) =>
      `<tool_call>\n${JSON.stringify({ name, arguments: given })}\n</tool_call>`;
    const { turns } = await playEpisode(env, task, [
      call("find_user_id_by_email", { email: "nobody@example.com" }),
      call("find_user_id_by_name_zip", { first_name: "No", last_name: "Body", zip: "1" }),
      call("get_order_details", { order_id: "__proto__" }),
      call("get_product_details", { product_id: "1" }),
      call("get_user_details", { user_id: "constructor" }),
      call("calculate", { expression: "2 + x" }),
      call("calculate", { expression: "2 +" }),
      call("calculate", { expression: "(19.99 + 5.5) / 3" }),
      call("think", { thought: "hm" }),
      call("cancel_pending_order", { order_id: "#W1", reason: "whim" }),
      call("get_weather", {}),
    ]);
    expect(turns.map(({ observation }) => observation.slice(0, 60))).toEqual([
      "Error: user not found",
      "Error: user not found",
      "Error: order not found",
      "Error: product not found",
      "Error: user not found",
      "Error: invalid characters in expression",
      "Error: invalid expression",
      "8.5",
      "",
      expect.stringMatching(/^Error: wrong arguments for "cancel_pending_order": /),
      expect.stringMatching(/^Error: there is no tool "get_weather"/),
    ]);
  });

  test("show lines instead of JSON in compact style", async () => {
    const { env, task } = await taskOf("items");
    const { productId, orderId } = task.data.requests[0];
    const says = [`user ${task.data.userId}`, `order ${orderId}`, `product ${productId}`, "types"];
    const { turns } = await playEpisode(env, task, says);
    expect(turns.map(({ observation }) => observation).join("\n\n")).toMatchInlineSnapshot(`
      "u27 Ana Cruz ana@x
      Oak66 Graz 947
      c29 y76
      o99 o78 o50

      o99 u27 pending
      Oak66 Graz 947
      c29 69
      i68 p23 lamp white 69

      p23 lamp
      i95 black 63
      i68 white 69
      i47 blue 66

      lamp p23
      bag p39
      puzzle p97"
    `);
  });
});

describe("the customer", async () => {
  const options = { style: "tags", users: 8, products: 8, ordersPerUser: 3 } as const;
  const env = retailDesk({ style: "tags", kinds: ["cancel", "return"], maxRequests: 2 });
  const { data: task } = await env.tasks.at("more-requests", 0);
  const customer = makeDatabase(task.database, options).users[task.userId];
  const talk = (...replies: string[]) => {
    const user = meetUser();
    return replies.map((reply) => answerReply(user, task, customer, reply, "tags"));
  };

  test("says what it is asked for, and no more", () => {
    const [identity, order, both] = talk(
      "I can help with that. To verify your identity, may I have your email?",
      "Thank you. What is the order id, please?",
      "Which order is it, and for what reason?",
    );
    expect(identity).toContain(task.knowsEmail ? customer.email : customer.address.zip);
    expect(order).toContain(`The order is ${task.requests[0].orderId}.`);
    expect(both).toContain(task.requests[0].orderId);
  });

  test("is pushed on by a question it does not understand", () => {
    const { facts } = task.requests[0];
    const told = talk(...facts.map(() => "How can I help?"), "How can I help?");
    expect(told).toEqual([...facts.map(({ say }) => say), "I don't know."]);
  });

  test("confirms, then comes with its next request, and leaves after the last", () => {
    const [yes, ...rest] = talk(
      "I will go on. Do you confirm (yes or no)?",
      "Your order has been cancelled. Is there anything else I can do for you?",
      "I am sorry, that cannot be done.",
      "Done.",
    );
    expect(yes).toBe("Yes.");
    expect(rest).toEqual([task.requests[1].opening, task.requests[2].opening, stopWord]);
  });

  test("leaves at the third reply that brings nothing new", () => {
    expect(talk("Hello.", "Let me look.", "Well.")).toEqual(["Okay.", "Okay.", stopWord]);
    const [, again, more, stop] = talk("Your email?", "Your email?", "Your email?", "Your email?");
    expect([again, stop]).toEqual([more, stopWord]);
  });
});

test("every task can be solved with its gold actions, and every kind occurs", async () => {
  const env = retailDesk({ maxRequests: 2 });
  const kinds = new Set<string>();
  for (let i = 0; i < 100; i++) {
    const { data } = await env.tasks.at("train", i);
    for (const { kind, isRefused } of data.requests) kinds.add(isRefused ? "refuse" : kind);
    const orders = data.requests.flatMap(({ orderId }) => orderId ?? []);
    expect(new Set(orders).size).toBe(orders.length);
  }
  expect(kinds).toEqual(new Set([...requestKinds.filter((kind) => kind !== "look-up"), "total", "stock"]));
});

describe.each(["tags", "compact"] as const)("in %s style", (style) => {
  test("the expert serves everyone, and keeps to the policy", async () => {
    const env = retailDesk({ style });
    for (const split of env.tasks.splits) {
      for (let i = 0; i < 60; i++) {
        const { scores, turns } = await playEpisode(env, await env.tasks.at(split, i), "expert");
        expect(scores.agent.success).toBe(true);
        expect(turns.every(({ calls }) => calls.every(({ outcome }) => outcome === "ok"))).toBe(true);
        expect(turns.length).toBeLessThanOrEqual(16);
        if (style === "compact") expect(Math.max(...turns.map(({ text }) => text.length))).toBeLessThan(64);
      }
    }
  });

  test("whatever listed action is taken, episodes end by themselves", async () => {
    const env = retailDesk({ style, maxRequests: 2 });
    const rng = createRng(5);
    let rewarded = 0;
    for (let i = 0; i < 60; i++) {
      const episode = new Episode(env, await env.tasks.at("test", i), { signal: new AbortController().signal });
      let next = await episode.start();
      while ("role" in next) {
        const texts = episode.possibleTexts();
        next = await episode.step(texts[rng.integer(texts.length)]);
      }
      const { failure, stop, scores } = await episode.finish(next);
      expect(failure).toBeUndefined();
      expect(["completed", "max-turns"]).toContain(stop);
      rewarded += scores.agent.total;
    }
    expect(rewarded).toBeLessThan(30);
  });

  test("the same words give the same episode, however hostile", async () => {
    const env = retailDesk({ style });
    const hostile = [
      "",
      "\0\uD800",
      "=",
      "=?",
      `=${"please ".repeat(20_000)}`,
      "order __proto__",
      "<tool_call>",
      "=done",
    ];
    const play = async () => playEpisode(env, await env.tasks.at("test", 1), hostile);
    const played = await play();
    expect(played).toEqual(await play());
    expect(played.failure).toBeUndefined();
  });
});

test("options that make no desk are refused in words", () => {
  expect(() => retailDesk({ users: 0 })).toThrow(/users = 0/);
  expect(() => retailDesk({ kinds: [] })).toThrow(/kinds = 0/);
});
