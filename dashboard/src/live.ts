import { useEffect, useState } from "react";

const leastMs = 1200;

/** Grows whenever one of the runs (or, with none, any run) was written to, a few times a second at most. */
export function useLive(runs: readonly string[]): number {
  const [version, setVersion] = useState(0);
  const query = runs.map((run) => `run=${encodeURIComponent(run)}`).join("&");
  useEffect(() => {
    const source = new EventSource(`/api/live?${query}`);
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isFirst = true;
    const hear = () => {
      // the first news of a run is that it is there
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
