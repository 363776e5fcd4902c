// In place of what only Node has.
export {};
