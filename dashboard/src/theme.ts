import { useSyncExternalStore } from "react";

export type Theme = "light" | "dark";

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();

function chosen(): Theme | undefined {
  const kept = localStorage.getItem("theme");
  return kept === "light" || kept === "dark" ? kept : undefined;
}

export function theme(): Theme {
  return chosen() ?? (dark.matches ? "dark" : "light");
}

export function applyTheme(): void {
  document.documentElement.dataset.theme = theme();
  for (const listener of listeners) listener();
}

export function toggleTheme(): void {
  localStorage.setItem("theme", theme() === "dark" ? "light" : "dark");
  applyTheme();
}

dark.addEventListener("change", applyTheme);

export function useTheme(): Theme {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, theme);
}

/** What a colour of the style sheet is in the theme of now. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
