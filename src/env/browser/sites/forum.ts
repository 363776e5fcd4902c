import type { Rng } from "../../../random.ts";
import { draw, pick } from "../../environments/draw.ts";
import {
  area,
  button,
  choice,
  field,
  firstPageAbove,
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
import { boards, openings, people, replies } from "./words.ts";

export interface Thread {
  readonly id: number;
  readonly board: string;
  readonly title: string;
  readonly author: string;
  readonly text: string;
  /** Votes from before the episode. */
  readonly votes: number;
  /** Users who voted in the episode, with 1 or -1. */
  readonly voted: Record<string, number>;
  readonly replies: { readonly author: string; readonly text: string }[];
}

export interface ForumData extends SiteData {
  readonly threads: Thread[];
}

const links = [
  ["Boards", "/"],
  ["New thread", "/new"],
] as const;

/** Boards of threads with votes and replies. */
export const forum: Site<ForumData> = {
  name: "forum",
  host: "forum.test",
  open(rng) {
    const topics = Object.entries(boards).flatMap(([board, subjects]) =>
      subjects.flatMap((subject) => openings.map((opening) => ({ board, title: `${opening} ${subject}` }))),
    );
    const threads = draw(rng, topics, 15);
    return { user: null, threads: threads.map((topic, index) => drawThread(rng, index + 1, topic)) };
  },
  handle(data, request) {
    const answer = loginPages(data, people, request, links) ?? handle(data, request);
    return answer ?? notFound(links, data.user);
  },
  above(data, path) {
    const thread = data.threads.find(({ id }) => path === `/thread?id=${id}`);
    return thread === undefined ? firstPageAbove(data, path) : `/board?name=${thread.board}`;
  },
};

function drawThread(rng: Rng, id: number, { board, title }: { board: string; title: string }): Thread {
  const answers = Array.from({ length: rng.integer(4) }, () => ({
    author: pick(rng, people),
    text: pick(rng, replies),
  }));
  const author = pick(rng, people);
  return {
    id,
    board,
    title,
    author,
    text: `${pick(rng, replies)}, says ${author}.`,
    votes: rng.integer(40),
    voted: {},
    replies: answers,
  };
}

export function votesOf({ votes, voted }: Thread): number {
  return Object.values(voted).reduce((sum, vote) => sum + vote, votes);
}

function handle(data: ForumData, request: SiteRequest): SiteResponse | undefined {
  const { method, path, fields } = request;
  const thread = data.threads.find(({ id }) => id === numberIn(fields, "id"));
  switch (path) {
    case "/":
      return page(
        { title: "Boards", links, user: data.user },
        table(
          ["Board", "Threads"],
          Object.keys(boards).map((name) => [
            link(name, `/board?name=${name}`),
            String(data.threads.filter(({ board }) => board === name).length),
          ]),
        ),
      );
    case "/board":
      return boardPage(data, fields.get("name") ?? "");
    case "/thread":
      return thread && threadPage(data, thread);
    case "/vote":
    case "/reply":
      if (method !== "POST" || thread === undefined) return undefined;
      return data.user === null ? redirect("/login") : change(thread, data.user, request);
    case "/new":
      return data.user === null ? redirect("/login") : newThread(data, data.user, request);
    default:
      return undefined;
  }
}

function boardPage(data: ForumData, name: string): SiteResponse | undefined {
  if (!Object.hasOwn(boards, name)) return undefined;
  const rows = data.threads
    .filter(({ board }) => board === name)
    .map((thread) => [link(thread.title, `/thread?id=${thread.id}`), thread.author, String(votesOf(thread))]);
  return page({ title: name, links, user: data.user }, table(["Thread", "Author", "Votes"], rows));
}

function threadPage(data: ForumData, thread: Thread): SiteResponse {
  const id = hidden("id", String(thread.id));
  return page(
    { title: thread.title, links, user: data.user },
    paragraph(`By ${thread.author} on `, link(thread.board, `/board?name=${thread.board}`)),
    paragraph(thread.text),
    paragraph(`${votesOf(thread)} votes`),
    form("post", "/vote", id, hidden("vote", "up"), button("Vote up")),
    form("post", "/vote", id, hidden("vote", "down"), button("Vote down")),
    table(
      ["Author", "Reply"],
      thread.replies.map(({ author, text }) => [author, text]),
    ),
    form("post", "/reply", id, area("Reply", "text"), button("Send reply")),
  );
}

function change(thread: Thread, user: string, { path, fields }: SiteRequest): SiteResponse {
  const text = textIn(fields, "text");
  if (path === "/vote") thread.voted[user] = fields.get("vote") === "down" ? -1 : 1;
  else if (text !== "" && thread.replies.length < 50) thread.replies.push({ author: user, text });
  return redirect(`/thread?id=${thread.id}`);
}

function newThread(data: ForumData, user: string, { method, fields }: SiteRequest): SiteResponse {
  const [title, text] = [textIn(fields, "title"), textIn(fields, "text")];
  const names = Object.keys(boards);
  if (method === "POST" && title !== "" && text !== "" && data.threads.length < 100) {
    const board = names.find((name) => name === fields.get("board")) ?? names[0];
    const id = data.threads.length + 1;
    data.threads.push({ id, board, title, author: user, text, votes: 0, voted: {}, replies: [] });
    return redirect(`/thread?id=${id}`);
  }
  if (method === "POST") return redirect("/new?failed=1");
  return page(
    { title: "New thread", links, user },
    ...(fields.has("failed") ? [paragraph("A title and a text are needed.")] : []),
    form(
      "post",
      "/new",
      choice("Board", "board", names, names[0]),
      field("Title", "title"),
      area("Text", "text"),
      button("Publish"),
    ),
  );
}
