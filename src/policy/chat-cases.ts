import type { ChatMessage } from "./chat-template.ts";

export const chatCases: { name: string; template?: string; messages: ChatMessage[]; tools?: unknown[]; addGenerationPrompt: boolean }[] = [
  { name: "one message", messages: [{ role: "user", content: "Hi" }], addGenerationPrompt: true },
];
