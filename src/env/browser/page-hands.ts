// What is done to pages in Chromium through Playwright, with limits.

import { setTimeout as sleep } from "node:timers/promises";
import type { Locator, Page } from "playwright-core";
import { ToolError } from "../../tool/tool.ts";
import { type FormField, noCheckbox, type PageAction, waitedInVain, waitForTextMs } from "./page-driver.ts";

/** As the server does it: what has no such option, or is no field of this type, is told. */
export async function fillField(
  element: Locator,
  { type, value }: FormField,
  limits: { timeout: number; signal: AbortSignal },
): Promise<void> {
  switch (type) {
    case "textbox":
    case "slider":
      return element.fill(value, limits).catch(told("fill"));
    case "checkbox":
    case "radio":
      return element.setChecked(value === "true", limits).catch((error: unknown) => {
        if (String(error).includes("Not a checkbox")) throw new ToolError(noCheckbox);
        return told("setChecked")(error);
      });
    case "combobox":
      await element.selectOption({ label: value }, limits).catch(told("selectOption"));
      return;
    default:
      return type satisfies never;
  }
}

type Wait = Extract<PageAction, { tool: "browser_wait_for" }>;

export async function waitFor(page: Page, { time, text, textGone }: Wait, signal: AbortSignal): Promise<void> {
  if (time !== undefined) await sleep(1000 * time, undefined, { signal });
  for (const [wanted, state] of [
    [textGone, "hidden"],
    [text, "visible"],
  ] as const) {
    if (wanted === undefined) continue;
    const element = page.getByText(wanted).first();
    await element.waitFor({ state, timeout: waitForTextMs, signal }).catch((error: unknown) => {
      if (error instanceof Error && error.name === "TimeoutError") throw new ToolError(waitedInVain);
      return told("waitFor")(error);
    });
  }
}

/** What went wrong with an element is told to the policy, as the server does. */
export function told(what: string) {
  return (error: unknown): never => {
    const text = error instanceof Error ? error.message : String(error);
    if (/Target (page|crashed|closed)|has been closed|crashed/i.test(text)) throw error;
    throw new ToolError(`### Error\nError: ${what}: ${text.replace(/\p{Cc}\[\d+m/gu, "").slice(0, 500)}`);
  };
}

export async function within<Value>(ms: number, promise: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ToolError(`### Error\nError: the page did not answer within ${ms} ms.`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
