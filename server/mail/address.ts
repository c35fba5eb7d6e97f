import { domainToASCII, domainToUnicode } from 'node:url'

export interface MailAddress {
  /** As the person wrote it, trimmed, NFC; the domain lower-case, in Unicode or ASCII as given. */
  address: string
  /** What addresses are compared by: lower-cased local part (NFC) and the domain in lower-case A-labels. */
  key: string
  local: string
  /** In A-labels: what DNS and SMTP see. */
  domain: string
}

/** Either the address, or what is wrong with it as the end of the sentence "the address …". */
export type ParsedAddress = { ok: true; value: MailAddress } | { ok: false; problem: string }

// RFC 5321 section 4.5.3.1 and, for the 254, RFC 3696 erratum 1690. All are octets, not characters.
const maxLocalOctets = 64
const maxAddressOctets = 254
const maxDomainOctets = 253
const maxLabelOctets = 63

/**
 * An everyday address: dot-atom local part (RFC 5322 section 3.2.3) and a host name with a dot whose last label begins with a
 * letter, so it can be no IP address in any spelling. Whatever does not match takes the slow path, which also knows why.
 */
const everyday =
  /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*@(?:[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?\.)+[a-z](?:[a-z\d-]{0,61}[a-z\d])?$/i

/** Reads one bare address. Runs once for each row of an import, so the everyday case is one regular expression. */
export function parseAddress(text: string): ParsedAddress {
  const trimmed = text.trim()
  if (trimmed.length <= maxAddressOctets && everyday.test(trimmed)) {
    const at = trimmed.indexOf('@')
    const key = trimmed.toLowerCase()
    // A label in punycode may be malformed, or not what it decodes to: only IDNA can tell.
    if (at <= maxLocalOctets && !key.includes('xn--', at)) {
      const local = trimmed.slice(0, at)
      const domain = key.slice(at + 1)
      return { ok: true, value: { address: key === trimmed ? trimmed : `${local}@${domain}`, key, local, domain } }
    }
  }
  return parseUnusual(trimmed)
}

function parseUnusual(trimmed: string): ParsedAddress {
  // Normalised before it is checked: NFC turns U+037E into ';' and U+212A into 'K'.
  const whole = trimmed.normalize('NFC')
  const at = whole.lastIndexOf('@')
  const local = whole.slice(0, Math.max(at, 0))
  const problem = problemWithShape(whole, at) ?? problemWithLocal(local)
  if (problem) return { ok: false, problem }

  const written = whole.slice(at + 1)
  const domain = toAsciiDomain(written)
  const domainProblem = problemWithDomain(written, domain)
  if (domainProblem) return { ok: false, problem: domainProblem }
  if (Buffer.byteLength(local) + 1 + domain.length > maxAddressOctets) {
    return { ok: false, problem: `is longer than ${maxAddressOctets} bytes` }
  }
  const shown = isAscii(written) ? domain : domainToUnicode(domain)
  return { ok: true, value: { address: `${local}@${shown}`, key: `${foldLocal(local)}@${domain}`, local, domain } }
}

/**
 * NFC and not NFKC: RFC 6532 section 3.1 warns that compatibility folding loses what tells names apart, and a mail server is free
 * to give "ﬁ" and "fi" to two people. Normalised again after lower-casing, which can take a letter apart: "J̌" has no single code
 * point, "ǰ" has.
 */
const foldLocal = (local: string) => local.toLowerCase().normalize('NFC')

function problemWithShape(whole: string, at: number): string | null {
  if (whole === '') return 'is empty'
  if (/\p{Cc}/u.test(whole)) return 'has a line break or another control character in it'
  if (whole.startsWith('"') && at > 0) return 'has a quoted part before the @, which is not supported'
  if (/[<>]/.test(whole)) return 'has a name or angle brackets around it; write the address alone'
  if (/[\s\p{Z}]/u.test(whole)) return 'has a space in it'
  if (at < 0) return 'has no @'
  if (whole.indexOf('@') !== at) return 'has more than one @'
  return null
}

function problemWithLocal(local: string): string | null {
  if (local === '') return 'has nothing before the @'
  // In the domain IDNA decides which of these belong to a word and which vanish.
  if (!local.isWellFormed() || /\p{Cf}/u.test(local)) return 'has an invisible character in it'
  if (Buffer.byteLength(local) > maxLocalOctets) return `has more than ${maxLocalOctets} bytes before the @`
  if (local.startsWith('.')) return 'begins with a dot'
  if (local.endsWith('.')) return 'has a dot right before the @'
  if (local.includes('..')) return 'has two dots in a row before the @'
  const odd = /[(),:;[\]\\"]/.exec(local)?.[0]
  return odd ? `has a ${odd} before the @` : null
}

/**
 * domainToASCII is the host parser of URLs: given "a.example/b" it answers "a.example", it decodes percent escapes and reads
 * "0x7f.1" as an IP address. So it sees only what has no ASCII beyond letters, digits, hyphens and dots. '' means that it failed.
 */
const toAsciiDomain = (written: string) => (/[^a-z\d.\-\u0080-\u{10ffff}]/iu.test(written) ? '' : domainToASCII(written))

function problemWithDomain(written: string, domain: string): string | null {
  if (written === '') return 'has nothing after the @'
  if (written.startsWith('[')) return 'has an IP address after the @; a domain name is needed'
  if (written.startsWith('.')) return 'has a dot right after the @'
  if (/[.。．｡]$/.test(written)) return 'ends with a dot'
  if (/[.。．｡]{2}/.test(written)) return 'has two dots in a row after the @'
  if (endsInNumber(written) || endsInNumber(domain)) return 'has a number where the domain should end, like an IP address'
  if (!/^[a-z\d.-]+$/.test(domain) || hasBrokenPunycode(domain))
    return 'has a domain that cannot exist: it may have letters, digits, hyphens and dots'
  if (domain === 'localhost') return null
  if (domain.length > maxDomainOctets) return `has a domain longer than ${maxDomainOctets} bytes`
  const labels = domain.split('.')
  if (labels.length < 2) return 'has a domain without a dot'
  // An empty label can still come out of the mapping, of one that was a soft hyphen alone.
  if (labels.includes('')) return 'has two dots in a row after the @'
  if (labels.some((label) => label.length > maxLabelOctets)) return `has a part of the domain longer than ${maxLabelOctets} bytes`
  if (labels.some((label) => label.startsWith('-') || label.endsWith('-'))) return 'has a domain part that begins or ends with a hyphen'
  return null
}

/** domainToASCII lets any ASCII through; what is no real A-label shows by staying as it is on the way back. */
const hasBrokenPunycode = (domain: string) => domain.includes('xn--') && /(?:^|\.)xn--/.test(domainToUnicode(domain))

/** What URLs take for an IPv4 address, as "127.1" or "0x7f000001". No top-level domain is a number. */
const endsInNumber = (domain: string) => /(?:^|\.)(?:\d+|0x[\da-f]*)$/i.test(domain)

/** What an address is compared by; null for what is none, or where none is. */
export const addressKey = (text: string | null | undefined): string | null => {
  const parsed = parseAddress(text ?? '')
  return parsed.ok ? parsed.value.key : null
}

/** `ann+news@example.org` and `ann@example.org` are one mailbox almost everywhere; what strangers may ask for is counted by this. */
export const mailboxKeyOf = (key: string): string => key.replace(/^([^+@]+)\+[^@]*@/, '$1@')

const isAscii = (text: string) => !/[^\0-\x7f]/.test(text)
