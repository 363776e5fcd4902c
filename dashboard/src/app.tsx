import { useCallback } from "react";
import { useKeys } from "./keys.ts";
import { ComparePage } from "./pages/compare-page.tsx";
import { PlayPage } from "./pages/play-page.tsx";
import { RunPage } from "./pages/run-page.tsx";
import { RunsPage } from "./pages/runs-page.tsx";
import { TrajectoriesPage } from "./pages/trajectories-page.tsx";
import { TrajectoryPage } from "./pages/trajectory-page.tsx";
import { go, href, Link, usePlace } from "./router.tsx";
import { toggleTheme, useTheme } from "./theme.ts";

export const App = () => {
  const { path } = usePlace();
  const theme = useTheme();
  useKeys(
    useCallback(
      () => path.length > 0 && go(href(path.slice(0, path[0] === "runs" && path.length === 2 ? 0 : -1))),
      [path],
    ),
  );
  return (
    <>
      <header className="top">
        <Link href="/" className="brand">
          <svg viewBox="0 0 32 32" aria-hidden="true">
            <path d="M6 24 12 15l5 4 9-12" />
          </svg>
          Ludus
        </Link>
        <nav>
          <Link href="/" aria-current={path[0] === undefined || path[0] === "runs" ? "page" : undefined}>
            Runs
          </Link>
          <Link href="/compare" aria-current={path[0] === "compare" ? "page" : undefined}>
            Compare
          </Link>
          <Link href="/play" aria-current={path[0] === "play" ? "page" : undefined}>
            Play
          </Link>
        </nav>
        <span className="keys" aria-hidden="true">
          <kbd>j</kbd> <kbd>k</kbd> <kbd>[</kbd> <kbd>]</kbd> <kbd>/</kbd> <kbd>Esc</kbd>
        </span>
        <button type="button" className="theme" onClick={toggleTheme}>
          {theme === "dark" ? "Light" : "Dark"}
        </button>
      </header>
      <main>
        <Page path={path} />
      </main>
    </>
  );
};

const Page = ({ path: [section, run, part, key] }: { path: readonly string[] }) => {
  if (section === "compare") return <ComparePage />;
  if (section === "play") return <PlayPage />;
  if (section !== "runs" || run === undefined) return <RunsPage />;
  if (part === "trajectories" && key !== undefined) return <TrajectoryPage key={run} run={run} trajectory={key} />;
  if (part === "trajectories") return <TrajectoriesPage key={run} run={run} />;
  return <RunPage key={run} run={run} />;
};
