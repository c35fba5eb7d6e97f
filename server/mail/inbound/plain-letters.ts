/** What a database and JSON can hold: no NUL, no half of a surrogate pair. */
export const storable = (text: string, maxLetters: number): string => text.slice(0, maxLetters).replaceAll('\0', '').toWellFormed()

const controls = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g
/** They turn the reading direction, so that `exe.fdp` reads `pdf.exe`, or hide. The two joiners stay: Persian and emoji need them. */
const invisible = /[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]+/g

/** One line that looks like what it is: for names of people and files. */
export const oneVisibleLine = (text: string, maxLetters: number): string =>
  storable(text, 4 * maxLetters)
    .replace(controls, ' ')
    .replace(invisible, '')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, maxLetters)
    .toWellFormed()
