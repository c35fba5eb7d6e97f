const maxLetters = 500

/** A server's answer as one line: without the code that each of its lines repeats ("550-5.1.1 … 550 5.1.1 …"), and not without end. */
export function oneLine(answer: string): string {
  const text = answer
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, 4 * maxLetters)
  const code = /^([245]\d\d)[ -]([245]\.\d{1,3}\.\d{1,3})?/.exec(text)
  const repeated = code ? new RegExp(` ${code[1]}[ -](?:${(code[2] ?? '').replaceAll('.', '\\.')}(?: |$))?`, 'g') : null
  const joined = repeated ? text.replace(repeated, ' ').replace(/^(\d{3})-/, '$1 ') : text
  return cut(joined.replace(/ +/g, ' ').trim())
}

const cut = (text: string) =>
  text.length > maxLetters ? `${[...text.slice(0, maxLetters - 1)].join('').replace(/[\ud800-\udbff]$/, '')}…` : text
