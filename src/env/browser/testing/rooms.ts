import type { Web } from "../browser-env.ts";
import type { TaskKind, TaskRule } from "../browser-tasks.ts";
import { type Site, type SiteData, siteParts } from "../sites/site.ts";

const { page, link, form, field, hidden, button, table, redirect } = siteParts;

interface RoomsData extends SiteData {
  booked: Record<string, string>;
}

const names = ["Oak", "Elm", "Ash", "Fir", "Yew", "Bay"];
const people = ["ada", "boris", "clara", "dmitri", "elena", "farid"];
const links = [["Rooms", "/"]] as const;

/** A site as someone writes it for an agent of their own: rooms that can be booked. */
const rooms: Site<RoomsData> = {
  name: "rooms",
  host: "rooms.test",
  open: () => ({ user: null, booked: {} }),
  handle(data, { method, path, fields }) {
    const room = fields.get("room") ?? "";
    if (path !== "/room") {
      const rows = names.map((name) => [link(name, `/room?room=${name}`), data.booked[name] ?? "free"]);
      return page({ title: "Rooms", links }, table(["Room", "For"], rows));
    }
    if (method === "POST") {
      data.booked[room] = fields.get("name") ?? "";
      return redirect("/");
    }
    const booking = form("post", "/room", hidden("room", room), field("Name", "name"), button("Book"));
    return page({ title: room, links }, booking);
  },
};

/** Every fifth combination of room and person is held out. */
function booking(isHeldOut: boolean): TaskKind {
  return {
    ...{ name: isHeldOut ? "book-other" : "book", site: "rooms", level: 2, isHeldOut },
    make(rng) {
      for (;;) {
        const [room, person] = [names, people].map((all) => rng.integer(all.length));
        if (((room + 2 * person) % 5 === 0) !== isHeldOut) continue;
        const is = people[person];
        const until: TaskRule[] = [{ on: "state", path: ["booked", names[room]], is }];
        const write = { Name: is };
        const milestones = [{ at: `/room?room=${names[room]}`, write, press: "Book", until }];
        return { instruction: `Book ${names[room]} for ${is}.`, rules: until, milestones };
      }
    },
  };
}

export const roomsWeb: Web = { sites: { rooms }, kinds: [booking(false), booking(true)] };
