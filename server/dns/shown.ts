/** One line of bounded length that a database can keep: strangers fill zones with what they like. */
function shortened(value: string, most: number): string {
  const line = value.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim()
  // Cut, then made whole: the cut may go through a letter that takes two places.
  return (line.length > most ? `${line.slice(0, most)}…` : line).toWellFormed()
}

/** What a zone says, as a sentence quotes it. */
export const shown = (value: string): string => `“${shortened(value, 90)}”`

/** Those that people use have 253 letters at most; where a CNAME leads, a letter may be written with four. */
export const shownName = (name: string): string => shortened(name, 253)
