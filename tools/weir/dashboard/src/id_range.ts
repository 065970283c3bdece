// SPDX-License-Identifier: MIT
// The search for an id by its beginning: ids are numbers of 13 digits to the base 32, and lists go
// from the newest, which is the largest, down. So the ids with a beginning are those below the next
// number with as many digits, as long as they have it.

const digits = "0123456789abcdefghjkmnpqrstvwxyz";
const length = 13;

export function isIdPrefix(text: string): boolean {
  const letters = [...text.toLowerCase()];
  return letters.length > 0 && letters.length <= length && letters.every((letter) => digits.includes(letter)) && digits.indexOf(letters[0]!) < 8;
}

// The smallest id above all that begin so; undefined if there is none.
export function endOfPrefix(prefix: string): string | undefined {
  const letters = [...prefix.toLowerCase()];
  for (let at = letters.length - 1; at >= 0; --at) {
    const next = digits.indexOf(letters[at]!) + 1;
    if (next < (at === 0 ? 8 : digits.length)) {
      return (letters.slice(0, at).join("") + digits[next]).padEnd(length, "0");
    }
  }
  return undefined;
}
