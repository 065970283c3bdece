// SPDX-License-Identifier: MIT
// The text of a member of a JSON object, as it was written: JSON.parse() would round large numbers.

export function rawMember(json: string, name: string): string | undefined {
  let depth = 0;
  let key: string | undefined; // the last text at the top level before a colon
  let from: number | undefined; // where the value of the member begins
  for (let at = 0; at < json.length; ++at) {
    const letter = json[at];
    if (letter === '"') {
      const start = at;
      for (++at; at < json.length && json[at] !== '"'; ++at) {
        at += json[at] === "\\" ? 1 : 0;
      }
      if (depth === 1 && from === undefined) {
        key = JSON.parse(json.slice(start, at + 1)) as string;
      }
    } else if (letter === ":" && depth === 1 && from === undefined && key === name) {
      from = at + 1;
    } else if (letter === "{" || letter === "[") {
      ++depth;
    } else if (letter === "}" || letter === "]" || letter === ",") {
      if (depth === 1 && from !== undefined) {
        return json.slice(from, at).trim();
      }
      depth -= letter === "," ? 0 : 1;
    }
  }
  return undefined;
}
