import type { Style } from "./moves.ts";
import type { RetailCustomer } from "./retail-database.ts";
import type { RetailTask, Topic } from "./retail-requests.ts";

export const stopWord = "###STOP###";

/** State of the simulated customer, which is rule-based and deterministic. */
export interface RetailUserState {
  /** Of the task's requests, the one it is about now. */
  request: number;
  /** Topics it has told for this request; its identity is kept across requests. */
  readonly told: Set<Topic | "identity">;
  /** Whether it said yes to what was proposed for this request. */
  isConfirmed: boolean;
  /** Replies that brought nothing new; the conversation ends at the third. */
  idle: number;
}

export function meetUser(): RetailUserState {
  return { request: 0, told: new Set(), isConfirmed: false, idle: 0 };
}

const topics: Readonly<Record<Topic | "identity", RegExp>> = {
  identity: /e-?mail|\bzip\b|\bname\b|identity|who are you/,
  order: /\border\b/,
  reason: /\breason\b|\bwhy\b/,
  item: /\bitems?\b|\bwhich\b|\bwhat\b/,
  address: /\baddress\b/,
  pay: /\bpay|\bcard\b|\brefund/,
};
const asksPolitely = /\?|\b(please|provide|need|tell me|could you|may i|let me know)\b/;
const asksToConfirm = /\bconfirm|\byes\b|\bproceed\b|\bgo ahead\b|\bok\?/;
const asksForMore = /\b(any|some)thing else\b/;
const tellsTheEnd = /\b(done|no|not|sorry|cannot|can't|unable|complete|completed|has been|have been|is now)\b/;

/** The customer's answer to a reply; updates what it has told. */
export function answerReply(
  user: RetailUserState,
  task: RetailTask,
  customer: RetailCustomer,
  reply: string,
  style: Style,
): string {
  const said = reply.toLowerCase();
  const request = task.requests[user.request];
  const isAnswer = request.outputs.length > 0 && /\d/.test(said);
  if (asksForMore.test(said) || (!asksPolitely.test(said) && (tellsTheEnd.test(said) || isAnswer))) {
    return goOn(user, task);
  }
  if (!asksPolitely.test(said)) return wait(user, style === "tags" ? "Okay." : "ok");

  const known = [{ topic: "identity", say: identify(task, customer, style) } as const, ...request.facts];
  const isConfirming = asksToConfirm.test(said);
  // a proposal mentions many topics; those told already are not repeated
  const asked = known.filter(({ topic }) => topics[topic].test(said) && !(isConfirming && user.told.has(topic)));
  const next =
    asked.length > 0 || isConfirming ? asked : request.facts.filter(({ topic }) => !user.told.has(topic)).slice(0, 1);
  const isNew = next.some(({ topic }) => !user.told.has(topic)) || (isConfirming && !user.isConfirmed);
  for (const { topic } of next) user.told.add(topic);
  if (isConfirming) user.isConfirmed = true;
  const answers = [...next.map(({ say }) => say), ...(isConfirming ? [style === "tags" ? "Yes." : "yes"] : [])];
  const say = answers.join(" ") || (style === "tags" ? "I don't know." : "?");
  return isNew ? say : wait(user, say);
}

function goOn(user: RetailUserState, task: RetailTask): string {
  user.request++;
  user.isConfirmed = false;
  for (const topic of [...user.told]) if (topic !== "identity") user.told.delete(topic);
  return task.requests[user.request]?.opening ?? stopWord;
}

function wait(user: RetailUserState, say: string): string {
  user.idle++;
  return user.idle < 3 ? say : stopWord;
}

function identify({ knowsEmail }: RetailTask, { email, name, address }: RetailCustomer, style: Style): string {
  const { first_name, last_name } = name;
  if (style === "compact") return knowsEmail ? email : `${first_name} ${last_name} ${address.zip}`;
  if (knowsEmail) return `My email is ${email}.`;
  return `I do not remember my email. I am ${first_name} ${last_name}, zip code ${address.zip}.`;
}
