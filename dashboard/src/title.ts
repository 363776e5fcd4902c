import { useEffect } from "react";

/** The title of the page, the most particular part first. */
export function useTitle(...parts: readonly (string | undefined)[]): void {
  const title = [...parts.filter((part) => part !== undefined && part !== ""), "Ludus"].join(" · ");
  useEffect(() => {
    document.title = title;
  }, [title]);
}
