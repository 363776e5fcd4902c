import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import "uplot/dist/uPlot.min.css";
import "./style/theme.css";
import "./style/code-changes.css";
import "./style/film.css";
import "./style/layout.css";
import "./style/charts.css";
import "./style/lists.css";
import "./style/runs.css";
import "./style/run.css";
import "./style/trajectories.css";
import "./style/play.css";
import "./style/phone.css";
import { applyTheme } from "./theme.ts";

applyTheme();
createRoot(document.getElementById("root")!).render(<App />);
