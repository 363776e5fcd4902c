import { useState } from "react";

interface CopyProps {
  /** What the button says. */
  readonly label: string;
  /** What is copied, made when it is asked for. */
  readonly text: string | (() => string | Promise<string>);
  /** Where the label alone does not say what is copied. */
  readonly what?: string;
}

const shownMs = 1500;

/** Copies a text, and says whether that went well. */
export const CopyButton = ({ label, text, what }: CopyProps) => {
  const [said, setSaid] = useState<string>();
  const copy = () => {
    void Promise.resolve(typeof text === "function" ? text() : text)
      .then(copyText)
      .then(
        () => setSaid("Copied"),
        () => setSaid("Failed"),
      )
      .then(() => setTimeout(() => setSaid(undefined), shownMs));
  };
  return (
    <button
      type="button"
      className="copy"
      aria-label={what === undefined ? undefined : `${label}: ${what}`}
      onClick={copy}
    >
      <span aria-live="polite">{said ?? label}</span>
    </button>
  );
};

async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  // a page over plain HTTP from another machine has no clipboard
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  if (!isCopied) throw new Error("The browser did not copy it.");
}

/** A command or path in one line, to be copied. */
export const Copyable = ({ text, label }: { text: string; label: string }) => (
  <span className="copyable">
    <code>{text}</code>
    <CopyButton label="Copy" text={text} what={label} />
  </span>
);
