import { isUtf8 } from 'node:buffer'
import { endOfHead } from './limits.ts'

/** Room for some thousand recipients. Reading addresses is the dearest part of a head, and nobody has as many as a monster can name. */
const maxAddressBytes = 64 * 1024

/** The same message with a head that can be read, and in good time. */
export function withMendedHead(raw: Buffer): Buffer {
  const end = endOfHead(raw)
  const head = raw.subarray(0, end)
  const mended = withFewerAddresses(withoutUselessMultipart(asUtf8(head)))
  return mended === head ? raw : Buffer.concat([mended, raw.subarray(end)])
}

/** Names and subjects in an old eight-bit alphabet without a word about it: nearly always the western one. */
const asUtf8 = (head: Buffer): Buffer => (isUtf8(head) ? head : Buffer.from(new TextDecoder('windows-1252').decode(head)))

/** Parts that nothing divides are no parts: without a boundary it is text (RFC 2045 section 5.2 has that for what cannot be understood). */
function withoutUselessMultipart(head: Buffer): Buffer {
  const text = head.toString('latin1')
  const [field, name] = /^(content-type[ \t]*:)(?:.*\r?\n[ \t])*.*$/im.exec(text) ?? []
  if (!field || !/:\s*multipart\//i.test(field) || /boundary/i.test(field)) return head
  return Buffer.from(text.replace(field, `${name} text/plain; charset=utf-8`), 'latin1')
}

/** Without the lines of address fields that are too many. */
function withFewerAddresses(head: Buffer): Buffer {
  if (head.length <= maxAddressBytes) return head
  let bytes = 0
  let isAddressField = false
  const kept = head
    .toString('latin1')
    .split(/(?<=\n)/)
    .filter((line) => {
      if (!/^[ \t]/.test(line)) isAddressField = /^(?:from|sender|reply-to|to|cc|bcc|delivered-to|return-path)[ \t]*:/i.test(line)
      if (isAddressField) bytes += line.length
      return !isAddressField || bytes <= maxAddressBytes
    })
  return Buffer.from(kept.join(''), 'latin1')
}
