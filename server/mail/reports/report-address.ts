import { parseAddress } from '../address.ts'

/** "rfc822; ann@example.com" or "utf-8; …" of a report (RFC 3464 section 2.3.1, RFC 6533 section 3), or a bare or bracketed address. */
export function readReportAddress(value: string | null): string | null {
  if (!value) return null
  const bare = decodeUtf8Address(value.slice(0, 1000).replace(/^\s*(?:rfc822|utf-8|x-[\w-]+|unknown|local|smtp)\s*;/i, ''))
  const inBrackets = /<([^<>\s]+)>/.exec(bare)?.[1] ?? bare
  // Some servers write their own form of an address before or after the real one: `IMCEAEX-…`, `RFC822;`, `smtp:`.
  const candidate = inBrackets.trim().replace(/^(?:smtp|mailto|rfc822)[:;]\s*/i, '')
  const parsed = parseAddress(candidate)
  return parsed.ok && !isRedacted(parsed.value.local) ? parsed.value.address : null
}

/** All addresses that stand in a text, in order, each once. */
export function addressesIn(text: string): string[] {
  const found = new Map<string, string>()
  for (const [candidate] of text.matchAll(
    /[^\s<>()[\]{},;:"'“”„«»|=\\@`（）：，、。]{1,64}@[^\s<>()[\]{},;:"'“”„«»|=\\@`（）：，、。/]{3,253}/g,
  )) {
    const parsed = parseAddress(candidate.replace(/[.!?]+$/, ''))
    if (parsed.ok && !isRedacted(parsed.value.local) && !found.has(parsed.value.key)) found.set(parsed.value.key, parsed.value.address)
  }
  return [...found.values()]
}

/** RFC 6533 section 3: \x{HEX} stands for what the way of the report could not carry. */
const decodeUtf8Address = (text: string) =>
  text.replace(/\\x\{([\da-f]{1,6})\}/gi, (whole, hex: string) => {
    const point = Number.parseInt(hex, 16)
    return point >= 0x20 && point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff) ? String.fromCodePoint(point) : whole
  })

/** RFC 6590: providers replace the local part by such a word, or by a hash in its place. */
const isRedacted = (local: string) =>
  /^[^\p{L}\p{N}]*(?:x{3,}|\*+|redacted|anonymi[sz]ed|hidden|undisclosed|removed)?[^\p{L}\p{N}]*$/iu.test(local)
