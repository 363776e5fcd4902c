import { useId, useState } from "react";
import type { RunsAnswer } from "../../src/server/dashboard/answers.ts";
import { useAnswer } from "./api.ts";

/** Finds a run by a part of its name; asks for a few at a time. */
export const RunPicker = ({ label, onPick }: { label: string; onPick: (run: string) => void }) => {
  const [text, setText] = useState("");
  const list = useId();
  const { answer } = useAnswer<RunsAnswer>(`/runs?limit=20&search=${encodeURIComponent(text)}`);
  const known = answer?.runs.map(({ id }) => id) ?? [];
  const pick = (value: string) => {
    setText(value);
    if (!known.includes(value)) return;
    onPick(value);
    setText("");
  };
  return (
    <>
      <input
        className="picker"
        aria-label={label}
        placeholder={label}
        list={list}
        value={text}
        onChange={(event) => pick(event.target.value)}
      />
      <datalist id={list}>
        {known.map((id) => (
          <option key={id} value={id} />
        ))}
      </datalist>
    </>
  );
};
