import type { Rng } from "../../random.ts";
import { pick } from "../environments/draw.ts";
import type { Milestone, TaskKind, TaskRule } from "./browser-tasks.ts";
import type { SiteBackend } from "./site-backend.ts";
import { type ForumData, type Thread, votesOf } from "./sites/forum.ts";
import type { ShopData } from "./sites/shop.ts";
import { passwordOf } from "./sites/site.ts";
import type { TrackerData } from "./sites/tracker.ts";
import { boards, labels, openings, people, replies, shippings, streets } from "./sites/words.ts";

const shopOf = ({ data }: SiteBackend) => data.shop as ShopData;
const forumOf = ({ data }: SiteBackend) => data.forum as ForumData;
const trackerOf = ({ data }: SiteBackend) => data.tracker as TrackerData;

const state = (path: readonly (string | number)[], is: unknown): TaskRule => ({ on: "state", path, is });

function login(user: string): Milestone {
  const write = { User: user, Password: passwordOf(user) };
  return { at: "/login", write, press: "Log in", until: [state(["user"], user)] };
}

const asUser = (user: string) => `Log in as ${user} with the password ${passwordOf(user)}`;

function pickThread(rng: Rng, data: ForumData): { thread: Thread; index: number } {
  const index = rng.integer(data.threads.length);
  return { thread: data.threads[index], index };
}

const shopKinds: readonly TaskKind[] = [
  {
    name: "shop-price",
    site: "shop",
    level: 1,
    make(rng, backend) {
      const { id, name, price } = pick(rng, shopOf(backend).products);
      return {
        instruction: `What does the ${name} cost?`,
        rules: [{ on: "answer", includes: `$${price}` }],
        milestones: [],
        answer: `$${price}`,
        readAt: `/product?id=${id}`,
      };
    },
  },
  {
    name: "shop-cart",
    site: "shop",
    level: 2,
    make(rng, backend) {
      const { id, name } = pick(rng, shopOf(backend).products);
      const quantity = 1 + rng.integer(9);
      const rules = [state(["cart"], [{ product: id, quantity }])];
      const milestone = {
        at: `/product?id=${id}`,
        write: { Quantity: String(quantity) },
        press: "Add to cart",
        until: rules,
      };
      return {
        instruction: `Put ${quantity} of the ${name} into the cart, and nothing else.`,
        rules,
        milestones: [milestone],
      };
    },
  },
  {
    name: "shop-cancel",
    site: "shop",
    level: 2,
    make(rng, backend) {
      const { orders } = shopOf(backend);
      const open = orders.filter(({ status }) => status === "open");
      const order = pick(rng, open.length === 0 ? orders : open);
      order.status = "open";
      const rules = [state(["orders", orders.indexOf(order), "status"], "cancelled")];
      const milestone = { at: `/order?id=${order.id}`, write: {}, press: "Cancel order", until: rules };
      return {
        instruction: `${asUser(order.user)} and cancel order ${order.id}.`,
        rules,
        milestones: [login(order.user), milestone],
      };
    },
  },
  {
    name: "shop-order",
    site: "shop",
    level: 3,
    make(rng, backend) {
      const data = shopOf(backend);
      const { id, name } = pick(rng, data.products);
      const [quantity, user, shipping] = [1 + rng.integer(5), pick(rng, people), pick(rng, shippings)];
      const address = `${1 + rng.integer(98)} ${pick(rng, streets)}`;
      const next = data.orders.length;
      const lines = [{ product: id, quantity }];
      const rules = [state(["orders", next], { id: 101 + next, user, lines, address, shipping, status: "open" })];
      const milestones = [
        login(user),
        {
          at: `/product?id=${id}`,
          write: { Quantity: String(quantity) },
          press: "Add to cart",
          until: [state(["cart"], lines)],
        },
        { at: "/checkout", write: { Address: address, Shipping: shipping }, press: "Place order", until: rules },
      ];
      return {
        instruction: `${asUser(user)} and order ${quantity} of the ${name} to ${address} by ${shipping}.`,
        rules,
        milestones,
      };
    },
  },
  {
    name: "shop-cheapest",
    site: "shop",
    level: 2,
    isHeldOut: true,
    make(rng, backend) {
      const { products } = shopOf(backend);
      const { category } = pick(rng, products);
      const lowest = Math.min(...products.filter((product) => product.category === category).map(({ price }) => price));
      return {
        instruction: `What is the lowest price in the category ${category}?`,
        rules: [{ on: "answer", includes: `$${lowest}` }],
        milestones: [
          {
            at: "/",
            write: { Category: category },
            press: "Find",
            until: [{ on: "url", is: `http://shop.test/?q=&category=${category}` }],
          },
        ],
        answer: `$${lowest}`,
      };
    },
  },
];

const forumKinds: readonly TaskKind[] = [
  {
    name: "forum-open",
    site: "forum",
    level: 1,
    make(rng, backend) {
      const { thread } = pickThread(rng, forumOf(backend));
      const is = `http://forum.test/thread?id=${thread.id}`;
      const instruction = `Open the thread "${thread.title}" of the board ${thread.board}.`;
      return { instruction, rules: [{ on: "url", is }], milestones: [] };
    },
  },
  {
    name: "forum-votes",
    site: "forum",
    level: 1,
    make(rng, backend) {
      const { thread } = pickThread(rng, forumOf(backend));
      const answer = `${votesOf(thread)} votes`;
      const instruction = `How many votes has "${thread.title}" on the board ${thread.board}? Answer like: 12 votes`;
      const readAt = `/thread?id=${thread.id}`;
      return { instruction, rules: [{ on: "answer", includes: answer }], milestones: [], answer, readAt };
    },
  },
  {
    name: "forum-vote",
    site: "forum",
    level: 2,
    make(rng, backend) {
      const { thread, index } = pickThread(rng, forumOf(backend));
      const [user, isUp] = [pick(rng, people), rng.integer(2) === 0];
      const rules = [state(["threads", index, "voted"], { [user]: isUp ? 1 : -1 })];
      const milestone = {
        at: `/thread?id=${thread.id}`,
        write: {},
        press: isUp ? "Vote up" : "Vote down",
        until: rules,
      };
      const instruction = `${asUser(user)} and vote ${isUp ? "up" : "down"} "${thread.title}" of the board ${thread.board}.`;
      return { instruction, rules, milestones: [login(user), milestone] };
    },
  },
  {
    name: "forum-reply",
    site: "forum",
    level: 3,
    make(rng, backend) {
      const { thread, index } = pickThread(rng, forumOf(backend));
      const [user, text] = [pick(rng, people), pick(rng, replies)];
      const rules = [state(["threads", index, "replies", thread.replies.length], { author: user, text })];
      const milestone = { at: `/thread?id=${thread.id}`, write: { Reply: text }, press: "Send reply", until: rules };
      const instruction = `${asUser(user)} and reply "${text}" to "${thread.title}" of the board ${thread.board}.`;
      return { instruction, rules, milestones: [login(user), milestone] };
    },
  },
  {
    name: "forum-new",
    site: "forum",
    level: 3,
    isHeldOut: true,
    make(rng, backend) {
      const index = forumOf(backend).threads.length;
      const [user, text, board] = [pick(rng, people), pick(rng, replies), pick(rng, Object.keys(boards))];
      const title = `${pick(rng, openings)} ${pick(rng, boards[board])} ${1 + rng.integer(99)}`;
      const rules = [
        ["board", board],
        ["title", title],
        ["author", user],
        ["text", text],
      ].map(([key, value]) => state(["threads", index, key], value));
      const milestone = {
        at: "/new",
        write: { Board: board, Title: title, Text: text },
        press: "Publish",
        until: rules,
      };
      const instruction = `${asUser(user)} and publish a new thread "${title}" with the text "${text}" on the board ${board}.`;
      return { instruction, rules, milestones: [login(user), milestone] };
    },
  },
];

function pickIssue(rng: Rng, { issues }: TrackerData) {
  const open = issues.filter(({ status }) => status === "open");
  const issue = pick(rng, open.length === 0 ? issues : open);
  issue.status = "open";
  return { issue, index: issues.indexOf(issue), at: `/issue?id=${issue.id}` };
}

const trackerKinds: readonly TaskKind[] = [
  {
    name: "tracker-open",
    site: "tracker",
    level: 1,
    make(rng, backend) {
      const { issue, at } = pickIssue(rng, trackerOf(backend));
      const rules: TaskRule[] = [{ on: "url", is: `http://tracker.test${at}` }];
      return { instruction: `Open the issue "${issue.title}".`, rules, milestones: [] };
    },
  },
  {
    name: "tracker-count",
    site: "tracker",
    level: 2,
    make(rng, backend) {
      const label = pick(rng, labels);
      const { issues } = trackerOf(backend);
      const count = issues.filter((issue) => issue.status === "open" && issue.labels.includes(label)).length;
      const answer = `${count} issues`;
      const instruction = `How many open issues have the label ${label}? Answer like: 12 issues`;
      const filtered: TaskRule = { on: "url", is: `http://tracker.test/?label=${label}&assignee=anyone` };
      const milestones = [{ at: "/", write: { Label: label }, press: "Filter", until: [filtered] }];
      return { instruction, rules: [{ on: "answer", includes: answer }], milestones, answer };
    },
  },
  {
    name: "tracker-assign",
    site: "tracker",
    level: 2,
    make(rng, backend) {
      const { issue, index, at } = pickIssue(rng, trackerOf(backend));
      const [user, assignee] = [
        pick(rng, people),
        pick(
          rng,
          people.filter((name) => name !== issue.assignee),
        ),
      ];
      const rules = [state(["issues", index, "assignee"], assignee)];
      const milestone = { at, write: { Assignee: assignee }, press: "Assign", until: rules };
      return {
        instruction: `${asUser(user)} and assign the issue "${issue.title}" to ${assignee}.`,
        rules,
        milestones: [login(user), milestone],
      };
    },
  },
  {
    name: "tracker-close",
    site: "tracker",
    level: 3,
    make(rng, backend) {
      const { issue, index, at } = pickIssue(rng, trackerOf(backend));
      const [user, text] = [pick(rng, people), pick(rng, replies)];
      const comment = state(["issues", index, "comments"], [{ author: user, text }]);
      const closed = state(["issues", index, "status"], "closed");
      const milestones = [
        login(user),
        { at, write: { Comment: text }, press: "Send comment", until: [comment] },
        { at, write: {}, press: "Close issue", until: [closed] },
      ];
      return {
        instruction: `${asUser(user)}, comment "${text}" on the issue "${issue.title}" and close it.`,
        rules: [comment, closed],
        milestones,
      };
    },
  },
  {
    name: "tracker-label",
    site: "tracker",
    level: 2,
    isHeldOut: true,
    make(rng, backend) {
      const { issue, index, at } = pickIssue(rng, trackerOf(backend));
      issue.labels = issue.labels.slice(0, 2);
      const [user, label] = [
        pick(rng, people),
        pick(
          rng,
          labels.filter((known) => !issue.labels.includes(known)),
        ),
      ];
      const all = labels.filter((known) => known === label || issue.labels.includes(known));
      const rules = [state(["issues", index, "labels"], all)];
      const milestone = { at, write: { Label: label }, press: "Add label", until: rules };
      return {
        instruction: `${asUser(user)} and add the label ${label} to the issue "${issue.title}".`,
        rules,
        milestones: [login(user), milestone],
      };
    },
  },
];

/** What is asked for on the sites. Making a task may set up the data it is made for: `prepare` does the same again. */
export const taskKinds: readonly TaskKind[] = [...shopKinds, ...forumKinds, ...trackerKinds];
