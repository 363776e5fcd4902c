import { useState } from "react";
import type { ShownTurn } from "../../src/server/dashboard/answers.ts";
import { visible } from "./shown-text.tsx";

/** A turn with the page as it was before it. */
interface Frame {
  readonly turn: ShownTurn;
  readonly number: number;
  readonly image: string;
  readonly box: readonly number[] | undefined;
  readonly element: string;
  /** Lines of the page that the turn added and took away, with their signs. */
  readonly changes: readonly string[];
}

/** Pictures are the environment's, and stay pictures: nothing else is put into the page. */
const picture = /^data:image\/(?:jpeg|png|webp);base64,[A-Za-z0-9+/=]+$/;

export function framesOf(turns: readonly ShownTurn[]): Frame[] {
  return turns.flatMap((turn, i) => {
    const { screenshot, box = "", element = "", changes = "" } = turn.info ?? {};
    if (typeof screenshot !== "string" || !picture.test(screenshot)) return [];
    const sides = String(box).split(" ").map(Number);
    const isBox = sides.length === 4 && sides.every((side) => Number.isFinite(side) && side >= -1 && side <= 2);
    return {
      ...{ turn, number: i + 1, image: screenshot, box: isBox ? sides : undefined },
      element: String(element).slice(0, 100),
      changes: changes === "" ? [] : String(changes).split("\n"),
    };
  });
}

const maxChanges = 40;

/** An episode on pages, frame by frame: the page, the element that is acted on, and what the action changed. */
export const Film = ({ turns }: { turns: readonly ShownTurn[] }) => {
  const frames = framesOf(turns);
  const [at, setAt] = useState(0);
  if (frames.length === 0) return null;
  const shown = Math.min(at, frames.length - 1);
  const { turn, element, changes } = frames[shown];
  return (
    <section className="film" aria-label="Film">
      <div className="film-now">
        <Picture frame={frames[shown]} />
        <div className="film-words">
          <p className="film-tools">
            <button type="button" aria-label="Frame before" disabled={shown === 0} onClick={() => setAt(shown - 1)}>
              ◀
            </button>
            <span>
              {shown + 1} / {frames.length}
            </span>
            <button
              type="button"
              aria-label="Next frame"
              disabled={shown === frames.length - 1}
              onClick={() => setAt(shown + 1)}
            >
              ▶
            </button>
          </p>
          <p className="film-action">{visible(turn.text.text.slice(0, 300))}</p>
          {element !== "" && <p className="quiet">{visible(element)}</p>}
          <ul className="film-changes">
            {changes.slice(0, maxChanges).map((line, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: lines are never reordered
              <li key={i} className={line.startsWith("+") ? "added" : "gone"}>
                {visible(line.slice(0, 300))}
              </li>
            ))}
            {changes.length > maxChanges && <li className="quiet">{changes.length - maxChanges} more lines</li>}
          </ul>
        </div>
      </div>
      <div className="film-strip">
        {frames.map((frame, i) => (
          <button
            key={frame.number}
            type="button"
            aria-label={`Frame ${i + 1}`}
            aria-current={i === shown ? "true" : undefined}
            onClick={() => setAt(i)}
          >
            <Picture frame={frame} />
          </button>
        ))}
      </div>
    </section>
  );
};

const Picture = ({ frame: { image, box, number } }: { frame: Frame }) => (
  <span className="film-picture">
    <img src={image} alt={`The page before turn ${number}`} />
    {box !== undefined && (
      <span
        className="film-box"
        style={{ left: share(box[0]), top: share(box[1]), width: share(box[2]), height: share(box[3]) }}
      />
    )}
  </span>
);

const share = (value: number) => `${(100 * value).toFixed(2)}%`;
