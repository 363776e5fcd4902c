import { useEffect, useState } from "react";

const leastMs = 1200;

/** Increments when one of the runs (with none: any run) was written to, at most once per `leastMs`. */
export function useLive(runs: readonly string[]): number {
  const [version, setVersion] = useState(0);
  const query = runs.map((run) => `run=${encodeURIComponent(run)}`).join("&");
  useEffect(() => {
    const source = new EventSource(`/api/live?${query}`);
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isFirst = true;
    const hear = () => {
      // the first event of a run only says that it exists
      if (isFirst && query !== "") {
        isFirst = false;
        return;
      }
      timer ??= setTimeout(() => {
        timer = undefined;
        setVersion((before) => before + 1);
      }, leastMs);
    };
    source.addEventListener("change", hear);
    source.addEventListener("list", hear);
    return () => {
      clearTimeout(timer);
      source.close();
    };
  }, [query]);
  return version;
}
