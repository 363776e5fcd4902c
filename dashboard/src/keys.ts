import { useEffect } from "react";

/** `j`/`k` go through rows, `/` goes to the search, `Escape` leaves a field or goes up. */
export function useKeys(goUp: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.metaKey || event.ctrlKey || event.altKey) return;
      const { target } = event;
      const isTyping = target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
      if (event.key === "Escape") {
        if (isTyping) target.blur();
        else goUp();
        return;
      }
      if (isTyping) return;
      if (event.key === "/") {
        event.preventDefault();
        document.querySelector<HTMLInputElement>("[data-search]")?.focus();
      }
      if (event.key === "j") moveRow(1);
      if (event.key === "k") moveRow(-1);
      const member = { "[": "previous", "]": "next" }[event.key];
      if (member !== undefined) document.querySelector<HTMLElement>(`[data-member="${member}"]`)?.click();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [goUp]);
}

function moveRow(by: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>("[data-row]")];
  const now = rows.findIndex((row) => row.contains(document.activeElement));
  const row = rows[now < 0 ? (by === 1 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, now + by))];
  row?.focus({ preventScroll: true });
  row?.scrollIntoView({ block: "nearest" });
}
