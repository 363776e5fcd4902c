import type { Rng } from "../../../random.ts";
import { draw, pick } from "../../environments/draw.ts";
import {
  area,
  button,
  checkbox,
  choice,
  field,
  form,
  hidden,
  link,
  loginPages,
  notFound,
  numberIn,
  page,
  paragraph,
  redirect,
  type Site,
  type SiteData,
  type SiteRequest,
  type SiteResponse,
  table,
  textIn,
} from "./site.ts";
import { faults, labels, parts, people } from "./words.ts";

export interface Issue {
  readonly id: number;
  readonly title: string;
  readonly text: string;
  status: string;
  assignee: string;
  labels: string[];
  readonly comments: { readonly author: string; readonly text: string }[];
}

export interface TrackerData extends SiteData {
  readonly issues: Issue[];
}

const links = [
  ["Issues", "/"],
  ["New issue", "/new"],
] as const;
const nobody = "nobody";

/** Issues with labels, assignees and comments. */
export const tracker: Site<TrackerData> = {
  name: "tracker",
  host: "tracker.test",
  open(rng) {
    const titles = parts.flatMap((part) => faults.map((fault) => `${part} ${fault}`));
    return { user: null, issues: draw(rng, titles, 14).map((title, index) => drawIssue(rng, index + 1, title)) };
  },
  handle(data, request) {
    const answer = loginPages(data, people, request, links) ?? handle(data, request);
    return answer ?? notFound(links, data.user);
  },
};

function drawIssue(rng: Rng, id: number, title: string): Issue {
  return {
    id,
    title,
    text: `Seen by ${pick(rng, people)}.`,
    status: rng.integer(4) === 0 ? "closed" : "open",
    assignee: rng.integer(2) === 0 ? nobody : pick(rng, people),
    labels: labels.filter(() => rng.integer(3) === 0),
    comments: [],
  };
}

function handle(data: TrackerData, request: SiteRequest): SiteResponse | undefined {
  const { method, path, fields } = request;
  const issue = data.issues.find(({ id }) => id === numberIn(fields, "id"));
  switch (path) {
    case "/":
      return listing(data, fields);
    case "/issue":
      return issue && issuePage(data, issue);
    case "/new":
      return data.user === null ? redirect("/login") : newIssue(data, data.user, request);
    case "/assign":
    case "/label":
    case "/unlabel":
    case "/status":
    case "/comment":
      if (method !== "POST" || issue === undefined) return undefined;
      return data.user === null ? redirect("/login") : change(issue, data.user, request);
    default:
      return undefined;
  }
}

function listing(data: TrackerData, fields: URLSearchParams): SiteResponse {
  const label = fields.get("label") ?? "any";
  const assignee = fields.get("assignee") ?? "anyone";
  const isAll = fields.get("closed") === "yes";
  const found = data.issues.filter(
    (issue) =>
      (label === "any" || issue.labels.includes(label)) &&
      (assignee === "anyone" || issue.assignee === assignee) &&
      (isAll || issue.status === "open"),
  );
  const filter = form(
    "get",
    "/",
    choice("Label", "label", ["any", ...labels], label),
    choice("Assignee", "assignee", ["anyone", nobody, ...people], assignee),
    checkbox("Closed too", "closed"),
    button("Filter"),
  );
  const rows = found.map((issue) => [
    link(issue.title, `/issue?id=${issue.id}`),
    issue.status,
    issue.assignee,
    issue.labels.join(" "),
  ]);
  return page(
    { title: "Issues", links, user: data.user },
    filter,
    paragraph(`${found.length} issues`),
    table(["Issue", "Status", "Assignee", "Labels"], rows),
  );
}

function issuePage({ user }: TrackerData, issue: Issue): SiteResponse {
  const id = hidden("id", String(issue.id));
  const free = labels.filter((label) => !issue.labels.includes(label));
  const removals = issue.labels.map((label) =>
    form("post", "/unlabel", id, hidden("label", label), button(`Remove ${label}`)),
  );
  const adding = form("post", "/label", id, choice("Label", "label", free, free[0] ?? ""), button("Add label"));
  return page(
    { title: issue.title, links, user },
    paragraph(`Status ${issue.status}, assigned to ${issue.assignee}`),
    paragraph(issue.text),
    ...removals,
    ...(free.length === 0 ? [] : [adding]),
    form("post", "/assign", id, choice("Assignee", "assignee", [nobody, ...people], issue.assignee), button("Assign")),
    form("post", "/status", id, button(issue.status === "open" ? "Close issue" : "Reopen issue")),
    table(
      ["Author", "Comment"],
      issue.comments.map(({ author, text }) => [author, text]),
    ),
    form("post", "/comment", id, area("Comment", "text"), button("Send comment")),
  );
}

function change(issue: Issue, user: string, { path, fields }: SiteRequest): SiteResponse {
  const label = labels.find((known) => known === fields.get("label"));
  const assignee = [nobody, ...people].find((known) => known === fields.get("assignee"));
  const text = textIn(fields, "text");
  if (path === "/assign" && assignee !== undefined) issue.assignee = assignee;
  if (path === "/label" && label !== undefined)
    issue.labels = labels.filter((known) => known === label || issue.labels.includes(known));
  if (path === "/unlabel") issue.labels = issue.labels.filter((known) => known !== label);
  if (path === "/status") issue.status = issue.status === "open" ? "closed" : "open";
  if (path === "/comment" && text !== "" && issue.comments.length < 50) issue.comments.push({ author: user, text });
  return redirect(`/issue?id=${issue.id}`);
}

function newIssue(data: TrackerData, user: string, { method, fields }: SiteRequest): SiteResponse {
  const title = textIn(fields, "title");
  if (method === "POST" && title !== "" && data.issues.length < 100) {
    const id = data.issues.length + 1;
    const text = textIn(fields, "text");
    data.issues.push({ id, title, text, status: "open", assignee: nobody, labels: [], comments: [] });
    return redirect(`/issue?id=${id}`);
  }
  if (method === "POST") return redirect("/new?failed=1");
  return page(
    { title: "New issue", links, user },
    ...(fields.has("failed") ? [paragraph("A title is needed.")] : []),
    form("post", "/new", field("Title", "title"), area("Text", "text"), button("Create")),
  );
}
