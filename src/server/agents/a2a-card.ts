import { z } from "zod";
import { LudusError } from "../../errors.ts";
import { type AgentRequest, agentJson, badAnswer, quoted, requestAgent } from "./request-agent.ts";

/** Where an agent takes messages, and of which version of the protocol. */
export interface A2aEndpoint {
  readonly url: URL;
  readonly version: "1.0" | "0.3";
}

const Card = z.object({
  // 1.0
  supportedInterfaces: z
    .array(z.object({ url: z.string(), protocolBinding: z.string(), protocolVersion: z.string().default("1.0") }))
    .optional(),
  // 0.3
  url: z.string().optional(),
  preferredTransport: z.string().default("JSONRPC"),
  additionalInterfaces: z.array(z.object({ url: z.string(), transport: z.string() })).default([]),
});

/** Reads an agent's card. Only JSON-RPC is spoken, and only with the host that the card came from. */
export async function endpointOf(base: URL, asked: Pick<AgentRequest, "headers" | "signal">): Promise<A2aEndpoint> {
  const at = new URL(`${base.pathname.replace(/\/$/, "")}/.well-known/agent-card.json`, base);
  const reply = await requestAgent({ ...asked, url: at });
  const read = Card.safeParse(agentJson(reply, at));
  if (!read.success) throw badAnswer(`${quoted(reply.text)} at ${at}`, "an agent card of A2A");
  const found = interfacesOf(read.data);
  const chosen = found.find(({ version }) => version === "1.0") ?? found[0];
  if (chosen === undefined)
    throw badAnswer(`a card without JSON-RPC of version 1.0 or 0.3 at ${at}`, "one that has it");
  const url = URL.parse(chosen.url, at.href);
  if (url?.origin === base.origin) return { url, version: chosen.version };
  throw new LudusError("bad-agent-answer", {
    got: `a card at ${base.origin} that sends to ${url?.origin ?? chosen.url}`,
    expected: "the host it came from: tasks and the policy's address are sent there",
    hint: "If that host is the agent's, give its address.",
  });
}

type Interface = { readonly url: string; readonly version: A2aEndpoint["version"] };

function interfacesOf(card: z.infer<typeof Card>): Interface[] {
  const known = (card.supportedInterfaces ?? []).flatMap(({ url, protocolBinding, protocolVersion }): Interface[] => {
    if (protocolBinding !== "JSONRPC") return [];
    if (/^1(\.|$)/.test(protocolVersion)) return [{ url, version: "1.0" }];
    return /^0\.3(\.|$)/.test(protocolVersion) ? [{ url, version: "0.3" }] : [];
  });
  const main = card.url === undefined ? [] : [{ url: card.url, transport: card.preferredTransport }];
  const old = [...main, ...card.additionalInterfaces].flatMap(({ url, transport }): Interface[] =>
    transport === "JSONRPC" ? [{ url, version: "0.3" }] : [],
  );
  return [...known, ...old];
}
