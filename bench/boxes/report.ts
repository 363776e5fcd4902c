import { aboutLine } from "../about-run.ts";
import { type Pages, readRecord } from "../pages.ts";
import { formatNumber, type Table } from "../table.ts";
import { type BoxesResults, boxesResults, type Figures, goals } from "./results.ts";

const columns = ["cold_start_ms_p50", "calls_per_s", "held", "host_rss_mb_per_box"] as const;

/** A record from before boxes could be ready: its starts were cold ones, and Node had a process for each call. */
export function readBoxes(record: unknown): BoxesResults {
  const read = boxesResults.parse(record);
  if (read.python.cold_start_ms_p50 !== undefined) return read;
  const cold = ({ start_ms_p50, ...rest }: Figures): Figures => ({ ...rest, cold_start_ms_p50: start_ms_p50 });
  const { python, node } = read.plainBwrap;
  return {
    ...read,
    python: cold(read.python),
    node: {},
    nodeSpare: cold(read.node),
    plainBwrap: { python: cold(python), node: cold(node) },
  };
}

export function boxesTable(results: BoxesResults): Table {
  const { python, node, nodeSpare, nodeNotWarm, plainBwrap, container, restore_ms_p50: restore } = results;
  const cell = (value: number | undefined) => (value === undefined ? "" : formatNumber(value));
  const row = (name: string, figures: Figures | undefined) =>
    figures === undefined || Object.keys(figures).length === 0
      ? []
      : [[name, cell(figures.start_ms_p50), ...columns.map((column) => cell(figures[column]))]];
  const measured = container !== undefined && "python" in container ? container : undefined;
  return [
    ["", "ms to the first answer, ready", "not ready", "calls/s", "held", "MB each"],
    ["wanted", `${goals.start_ms_p50}`, "", `${goals.calls_per_s}`, `${goals.held}`, `${goals.host_rss_mb_per_box}`],
    ...row("box, warm Python", python),
    ...row("box, one Node for its calls", node),
    ...row("box, a Node for each call, started ahead", nodeSpare),
    ...row("box, Node", nodeNotWarm),
    ...row("plain bwrap, python3", plainBwrap.python),
    ...row("plain bwrap, node", plainBwrap.node),
    ...row(`${measured?.command}, python3`, measured?.python),
    ...row(`${measured?.command}, node`, measured?.node),
    ["box from an image of 200 files", "", cell(restore), "", "", ""],
  ];
}

const names: Readonly<Record<keyof typeof goals, string>> = {
  start_ms_p50: "the start of a ready box",
  calls_per_s: "calls a second",
  held: "boxes held",
  host_rss_mb_per_box: "memory of a box",
};

/** A sentence for each goal that is missed or was not measured. */
export function missedGoals(results: BoxesResults): string[] {
  return (["python", "node"] as const).flatMap((language) =>
    (Object.keys(goals) as (keyof typeof goals)[]).flatMap((name) => {
      const value = results[language][name];
      const who = `${language === "python" ? "Python" : "Node"}: ${names[name]}`;
      if (value === undefined) return [`${who} is not in this record.`];
      const isReached =
        name === "start_ms_p50" || name === "host_rss_mb_per_box" ? value <= goals[name] : value >= goals[name];
      return isReached ? [] : [`${who} is ${formatNumber(value)}, ${goals[name]} is wanted.`];
    }),
  );
}

export function boxesNotes({ about, versions = {}, coresOfOthers, container }: BoxesResults): string[] {
  const isBusy = about.loadBefore >= about.cores / 4;
  return [
    ...(isBusy
      ? [`The machine was busy with other work (load ${about.loadBefore.toFixed(1)}): trust ratios, not rates.`]
      : []),
    ...(container === undefined ? ["No container engine is in this record."] : []),
    ...(container !== undefined && "notMeasured" in container
      ? [`Not measured beside it: ${container.notMeasured}.`]
      : []),
    coresOfOthers === undefined
      ? `${about.date.slice(0, 10)}, commit ${about.commit}; ${about.processor}, ${about.cores} cores. What other processes used meanwhile is not in this record.`
      : aboutLine(about, versions, coresOfOthers),
  ];
}

const text = `# Boxes for a model's code

Made by \`npm run bench -- boxes --json\`; the run is in [bench/results/boxes.json](../../bench/results/boxes.json). The first answer is counted from \`open\`: of boxes that
were ready (\`ready: 8\`), asked for at an even rate, and of boxes that were not, one after the other. Calls a second: eight boxes, each with one call after the other.
"MB each" is the memory of the processes of a box, pages that several share divided among them, and what the program itself grew by; boxes are held, all of them have
answered twice. A Node that nobody uses is ended where more than 16 wait, and started again by the next call of its box. \`bwrap\` started by hand has no files, limits or filter.
`;

export function boxesMarkdown(record: unknown): string {
  const results = readBoxes(record);
  const [head, ...rows] = boxesTable(results).map((row) => `| ${row.join(" | ")} |`);
  const missed = missedGoals(results);
  const notes = [...missed, ...boxesNotes(results)].map((line) => `- ${line}`);
  return [text, head, "|---|--:|--:|--:|--:|--:|", ...rows, "", ...notes, ""].join("\n");
}

const missing = `${text}
There is no record yet: the command makes one, in about three minutes.
`;

export function boxesPages(root: string): Pages {
  const record = readRecord<unknown>(root, "boxes");
  return { "docs/results/boxes.md": record === undefined ? missing : boxesMarkdown(record) };
}
