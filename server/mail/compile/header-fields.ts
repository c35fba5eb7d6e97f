import { domainToASCII } from 'node:url'

/** RFC 5322 section 2.1.1: lines of at most 998 octets, better 78. RFC 2047 section 2: 76 where an encoded word stands. */
const maxLine = 76
/** A word this long still fits beside its field name on a line of 998 octets, though not of 76. */
const maxWord = 900
/** 52 letters of Base64 and 12 around them: leaves room for the longest field name of ours that has words in it. */
const encodedOctets = 39
/** No client shows more of a name. */
const maxNameLetters = 256

/** A line break in a header value would begin a header of somebody else's choosing. */
export const oneLine = (text: string): string => text.toWellFormed().replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')

/** `Name: text`, folded, in encoded words (RFC 2047) where the text cannot stand as it is. */
export function textField(name: string, text: string): string {
  const line = oneLine(text)
  return isPlain.test(line) && !line.includes('=?') ? folded(`${name}: ${line}`) : `${name}: ${encodedWords(line)}\r\n`
}

/** Printable ASCII with single spaces inside, which is all that folding keeps. */
const isPlain = new RegExp(`^(?:[!-~]{1,${maxWord}}(?: (?! |$)|$))*$`)

function folded(field: string): string {
  if (field.length <= maxLine) return `${field}\r\n`
  let lines = ''
  let line = ''
  for (const word of field.split(' ')) {
    // The first word is the field's name, which must not stand alone on its line.
    if (line.length + 1 + word.length > maxLine && line.includes(' ')) {
      lines += `${line}\r\n`
      line = ` ${word}`
    } else line = line === '' ? word : `${line} ${word}`
  }
  return `${lines}${line}\r\n`
}

/** Split between code points (RFC 2047 section 5: each word must be readable alone); readers join them without the space between. */
function encodedWords(text: string): string {
  const words: string[] = []
  let chunk = ''
  let octets = 0
  for (const letter of text) {
    const size = Buffer.byteLength(letter)
    if (octets + size > encodedOctets) {
      words.push(chunk)
      chunk = ''
      octets = 0
    }
    chunk += letter
    octets += size
  }
  words.push(chunk)
  return words.map((word) => `=?UTF-8?B?${Buffer.from(word).toString('base64')}?=`).join('\r\n ')
}

const atoms = /^[\w!#$%&'*+\-/?^`{|}~]+(?: [\w!#$%&'*+\-/?^`{|}~]+)*$/
/** A display name (RFC 5322 section 3.2.5): as it is, quoted, or in encoded words. Empty when there is none. */
export function phrase(name: string): string {
  if (name.length <= maxNameLetters && atoms.test(name)) return name
  const clean = [...oneLine(name).replace(/\s+/gu, ' ').trim()].slice(0, maxNameLetters).join('')
  if (clean === '') return ''
  // Rather a line that is longer than it should be than encoded words where none are needed: filters count those against a mail.
  if (/^[ -~]+$/.test(clean) && !clean.includes('=?')) return `"${clean.replace(/["\\]/g, '\\$&')}"`
  return encodedWords(clean)
}

/** `To: Ann Lee <ann@example.com>`. The domain goes in A-labels; a local part that is not ASCII stays (RFC 6532). */
export function addressField(field: string, name: string | null, address: string): string {
  const bare = bareAddress(field, address)
  const shown = name === null ? '' : phrase(name)
  if (shown === '') return `${field}: ${bare}\r\n`
  const isShort = field.length + shown.length + bare.length + 5 <= maxLine && !shown.includes('\r\n')
  return isShort ? `${field}: ${shown} <${bare}>\r\n` : `${field}: ${shown}\r\n <${bare}>\r\n`
}

const everyday = /^[\w!#$%&'*+/=?^`{|}~.-]{1,64}@[a-z\d.-]{1,253}$/i
const anyAddress = /^[^\s\p{Cc}<>(),:;"\\[\]@]+@[^\s\p{Cc}<>(),:;"\\[\]@]+$/u

/** Addresses are parsed long before they come here; one that could be read as two is a mistake to stop at. */
function bareAddress(field: string, address: string): string {
  if (everyday.test(address)) return address
  const at = address.lastIndexOf('@')
  const domain = domainToASCII(address.slice(at + 1))
  if (address.length > 320 || !anyAddress.test(address) || domain === '') throw new Error(`${field} is not a bare e-mail address`)
  return `${address.slice(0, at)}@${domain}`
}

/** What machines read in <…>: a line break or a space in it would be an injection, so it must not be there at all. */
export function machineWord(what: string, text: string): string {
  if (/^[!-;=?-~]{1,900}$/.test(text)) return text
  throw new Error(`${what} has something in it that cannot stand in a header, or is too long: ${JSON.stringify(text.slice(0, 80))}`)
}

/** RFC 5322 section 3.3, in UTC. */
export const dateText = (date: Date): string => date.toUTCString().replace('GMT', '+0000')
