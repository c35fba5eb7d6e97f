/**
 * The words of one language, as they are written in mail; case, accents, dashes and line ends do not matter. A `*` at the end stands for
 * any ending. A new wording is a new entry here and a new mail in fixtures/.
 */
export interface Vocabulary {
  /** Names that only a one-time code has. */
  codes: string[]
  /** Names that other things have as well: they count in mail that is about signing in or proving something. */
  maybeCodes: string[]
  /** "Enter …", "use …": what follows at once may be a code. */
  commands: string[]
  /** Names of all the other numbers that people send each other. */
  otherNumbers: string[]
  /** Words after a number that make it an amount. One letter is enough. */
  units: string[]
  /** How long something is valid. */
  expiry: string[]
  /** "Do not share", "if you did not ask for this". */
  caution: string[]
  /** "If this was not you": what follows is the way out, not the way in. */
  wayOut: string[]
  /** What a sign-in, a confirmation and a reset are called, in mails and on their buttons. */
  sign_in: string[]
  verification: string[]
  password_reset: string[]
  /** Words of a button that are an action only when the mail says which: "Confirm", "Continue". */
  buttons: string[]
  /** "Click here": the sentence before it says what happens. */
  here: string[]
  /** Links that every mail has. */
  otherLinks: string[]
  /** Bookings, meetings, parcels and offers, where a "confirmation code" or a "passcode" is something else. */
  occasions: string[]
}

/** Many phrases are easier to read in lines than in a list: they are divided by `|` and line ends. */
export const phrases = (written: string): string[] =>
  written
    .split(/[|\n]/)
    .map((phrase) => phrase.trim())
    .filter((phrase) => phrase !== '')

/** All combinations of one phrase from each list: "confirm" or "verify", "your" or "the", "address" or "account". */
export const each = (...lists: string[]): string[] =>
  lists.map(phrases).reduce((beginnings, endings) => beginnings.flatMap((beginning) => endings.map((ending) => joined(beginning, ending))))

const joined = (beginning: string, ending: string) => (/['\u3000-\u9fff]$/.test(beginning) ? beginning + ending : `${beginning} ${ending}`)
