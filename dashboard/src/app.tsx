import { useCallback, useEffect, useRef } from "react";
import { lostSince, useConnection } from "./connection.ts";
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
  const main = useRef<HTMLElement>(null);
  const page = path.join("/");
  const shown = useRef(page);
  // a new page begins at its top, also for the keyboard and for screen readers
  useEffect(() => {
    if (shown.current === page) return;
    shown.current = page;
    main.current?.focus({ preventScroll: true });
  }, [page]);
  useKeys(
    useCallback(
      () => path.length > 0 && go(href(path.slice(0, path[0] === "runs" && path.length === 2 ? 0 : -1))),
      [path],
    ),
  );
  return (
    <>
      <a className="skip" href="#main">
        Skip to the content
      </a>
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
        <span
          className="keys"
          aria-hidden="true"
          title="next and previous row, next and previous of the group, search, up"
        >
          <kbd>j</kbd> <kbd>k</kbd> <kbd>[</kbd> <kbd>]</kbd> <kbd>/</kbd> <kbd>Esc</kbd>
        </span>
        <LiveNote />
        <button type="button" className="theme" onClick={toggleTheme}>
          {theme === "dark" ? "Light" : "Dark"}
        </button>
      </header>
      <Offline />
      <main id="main" tabIndex={-1} ref={main}>
        <Page path={path} />
      </main>
    </>
  );
};

/** Whether the page follows the server. */
const LiveNote = () => {
  const connection = useConnection();
  if (connection === "idle") return null;
  const text = { connecting: "connecting", live: "live", lost: "offline" }[connection];
  return (
    <span
      className={`live ${connection === "live" ? "on" : connection}`}
      role="status"
      title="Whether changes are shown as they happen"
    >
      <i aria-hidden="true" />
      <span>{text}</span>
    </span>
  );
};

const Offline = () =>
  useConnection() !== "lost" ? null : (
    <div className="offline" role="alert">
      The server does not respond since {new Date(lostSince()).toLocaleTimeString("en")}; this is what was loaded
      before. Trying again … If it was started anew, open the address that <code>ludus dashboard</code> printed.
    </div>
  );

const Page = ({ path: [section, run, part, key] }: { path: readonly string[] }) => {
  if (section === "compare") return <ComparePage />;
  if (section === "play") return <PlayPage />;
  if (section !== "runs" || run === undefined) return <RunsPage />;
  if (part === "trajectories" && key !== undefined) return <TrajectoryPage key={run} run={run} trajectory={key} />;
  if (part === "trajectories") return <TrajectoriesPage key={run} run={run} />;
  return <RunPage key={run} run={run} />;
};
