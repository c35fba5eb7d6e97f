import { splitQuoted } from './quoted-text.ts'
import { closings, commands, greetings, pleasantries } from './stop-phrases.ts'

/** A request is short. What is longer is a letter, for a person to read; so is a subject. */
const maxLetters = 240
/** With what it answers below it. More is not looked through: anybody may write this. */
const maxQuotedLetters = 32 * 1024
const maxSentences = 6

/**
 * Does a person's reply ask to be taken off the list? Only what was newly written counts, and all of it must be the request: commands,
 * and the words of courtesy around them. "Please don't stop" is not, and neither is a letter that mentions unsubscribing. A wrong yes
 * loses a reader who never knows why, a wrong no costs the writer one click.
 */
export function asksToStop({ subject, text }: { subject: string | null; text: string }): boolean {
  const { text: fresh, quoted } = splitQuoted(text.slice(0, maxQuotedLetters))
  if (fresh.length > maxLetters) return false
  const sentences = sentencesOf(fresh)
  // An empty mail to the list with "unsubscribe" as its subject; "Re: …" is the subject of the letter that is answered.
  if (sentences.length === 0) return quoted === '' && subject !== null && subject.length <= maxLetters && isRequest(subject)
  if (sentences.length > maxSentences) return false
  const rest = withoutFrame(sentences, fresh.slice(fresh.lastIndexOf('\n') + 1))
  return rest.some(isRequest) && rest.every((sentence) => isRequest(sentence) || isPleasantry(sentence))
}

const isCommand = (sentence: string) => {
  const words = plainWords(sentence)
  return commands.some((pattern) => pattern.test(words))
}
const isPleasantry = (sentence: string) => pleasantries.test(plainWords(sentence))

/** A command, or one among courtesies: "Dear all, please unsubscribe me", "Not interested, remove me, thanks". */
function isRequest(sentence: string): boolean {
  if (/[?？]$/.test(sentence) && !politeQuestion.test(plainWords(sentence))) return false
  if (isCommand(sentence)) return true
  const pieces = sentence.split(/[,:，、：–—]|\s-\s/).filter((piece) => plainWords(piece) !== '')
  const isCourtesy = (piece: string, index: number) =>
    isPleasantry(piece) || (index === 0 && greetings.test(plainWords(piece))) || (index > 0 && closings.test(plainWords(piece)))
  return pieces.some(isCommand) && pieces.every((piece, index) => isCommand(piece) || isCourtesy(piece, index))
}

/** "Unsubscribe?" asks something; "could you unsubscribe me?" asks for it. */
const politeQuestion = /^(?:hi |hello |please )?(?:can|could|would|will|können|könnt|pouvez|pourriez|podrían|pueden|potete|kunt|kun)\b/

/** Lines are sentences too: nobody ends STOP with a full stop. A question keeps its mark. */
const sentencesOf = (text: string) =>
  (text.match(/[^\n.!?;。！？；…]+[?？]?/g) ?? []).map((sentence) => sentence.trim()).filter((sentence) => plainWords(sentence) !== '')

/** Lower-case letters, digits, apostrophes and single spaces. */
const plainWords = (text: string) =>
  withoutEdges(
    text
      .normalize('NFKC')
      .toLowerCase()
      .replace(/[’‘`´]/g, "'")
      .replace(/[^\p{L}\p{M}\p{N}'@+\s-]+/gu, ' ')
      .replace(/\s+/g, ' '),
  )

/** By a loop: a pattern that ends in `+$` begins anew at each letter of a long row of them. */
function withoutEdges(words: string): string {
  const isEdge = (index: number) => " '+-".includes(words[index] as string) // never past the ends
  let start = 0
  let end = words.length
  while (start < end && isEdge(start)) start++
  while (end > start && isEdge(end - 1)) end--
  return words.slice(start, end)
}

/** Without the greeting before, and without the name on a line of its own, or "regards" and a name, after the request. */
function withoutFrame(sentences: string[], lastLine: string): string[] {
  const begin = greetings.test(plainWords(sentences[0] as string)) && sentences.length > 1 ? 1 : 0
  const inner = sentences.slice(begin)
  const closing = inner.findIndex((sentence, index) => index > 0 && closings.test(plainWords(sentence)))
  if (closing > 0 && inner.length - closing <= 3 && inner.slice(closing + 1).every(isNameLike)) return inner.slice(0, closing)
  const last = inner.at(-1) as string
  const isSigned =
    inner.length > 1 &&
    lastLine.startsWith(last) &&
    !isRequest(last) &&
    !isPleasantry(last) &&
    isNameLike(last) &&
    isRequest(inner.at(-2) as string)
  return isSigned ? inner.slice(0, -1) : inner
}

/** One to three words of letters that are no words of a sentence: not, yet, but … */
const isNameLike = (sentence: string) =>
  /^[\p{L}\p{M}'-]{1,20}(?: [\p{L}\p{M}'-]{1,20}){0,2}$/u.test(plainWords(sentence)) && !notNames.test(plainWords(sentence))
const notNames =
  /(?:^| )(?:not|no|yet|but|just|kidding|joke|never|don't|dont|wait|please|the|a|it|is|i|you|we|nicht|aber|doch|kein|pas|mais|non|ne|pero|não|mas|niet|maar|ma|now|later|maybe|if|when|why|what|and|or|at|in|on|for|with|worrying|sending|believing|subscribe)(?: |$)/
