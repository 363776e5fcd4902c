import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { applyTheme } from "./theme.ts";

applyTheme();
createRoot(document.getElementById("root")!).render(<App />);
