import { z } from 'zod'
import { parseAddress } from '../mail/address.ts'

const notATime = 'must be an ISO 8601 time with an offset, such as 2026-11-15T09:00:00Z'

/** A point in time: ISO 8601 on the wire, a Date inside. Goes out in UTC with milliseconds. */
export const timestamp = z
  .codec(z.iso.datetime({ offset: true, error: ({ input }) => (input === undefined ? undefined : notATime) }), z.date(), {
    decode: (text) => new Date(text),
    encode: (date) => date.toISOString(),
  })
  .meta({ description: 'ISO 8601' })

/** An e-mail address as written and as compared. Which one a caller sees is the address. */
export const email = z
  .codec(z.string().meta({ format: 'email' }), z.custom<{ address: string; key: string }>(), {
    decode: (text, context) => {
      const parsed = parseAddress(text)
      if (parsed.ok) return { address: parsed.value.address, key: parsed.value.key }
      context.issues.push({ code: 'custom', input: text, message: parsed.problem })
      return z.NEVER
    },
    encode: (value) => value.address,
  })
  .meta({ description: 'An e-mail address; internationalised addresses are welcome.' })

/** One line, where empty is a fine answer. */
export const lineOrNone = (max: number) =>
  z
    .string()
    .trim()
    .max(max, `must have at most ${max} characters`)
    .regex(/^\P{Cc}*$/u, 'must be one line, without control characters')
/** Text a person types on one line. */
export const line = (max: number) => lineOrNone(max).min(1, 'must not be empty')
/** Of any number of lines, or none. */
export const text = (max: number) => z.string().max(max, `must have at most ${max} characters`)

const maxDepth = 20
const isNestedDeeper = (value: unknown, levels: number): boolean =>
  typeof value === 'object' && value !== null && (levels === 0 || Object.values(value).some((item) => isNestedDeeper(item, levels - 1)))

/** Free-form data a caller keeps with a thing. Bounded, because it is stored and sent on with every event. */
export const jsonObject = (maxBytes: number) =>
  z
    .record(z.string(), z.unknown())
    .refine((value) => !isNestedDeeper(value, maxDepth), `must not be nested more than ${maxDepth} deep`)
    .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= maxBytes, {
      message: `must have at most ${maxBytes} bytes`,
      when: ({ issues }) => issues.length === 0,
    })

/** A list of short texts. Its length is checked before its items are: what is wrong with each of half a million is not worth finding out. */
export const lines = (maxItems: number, maxLength: number) =>
  z
    .array(z.unknown())
    .max(maxItems, `must have at most ${maxItems} items`)
    .pipe(z.array(line(maxLength)))
    .meta({ type: 'array', items: { type: 'string', maxLength } })

/** Numbers in a query arrive as text, so a sign, a fraction or a letter is refused here. */
export const secondsUpTo = (max: number) =>
  z.preprocess(
    (given) => (given === undefined || /^\d{1,6}$/.test(String(given)) ? given : Number.NaN),
    z.coerce
      .number({ error: `must be a whole number of seconds from 0 to ${max}` })
      .int()
      .max(max, `must be at most ${max}`),
  )

/** A record that somebody is to add to a DNS zone, and whether it has been seen there. */
export const dnsRecord = z
  .object({
    type: z.string().meta({ description: 'TXT, CNAME, MX, …' }),
    name: z.string().meta({ description: 'The whole name, without a dot at its end' }),
    value: z.string(),
    found: z.boolean().meta({ description: 'Whether it was right when it was last looked for' }),
    purpose: z.string().optional().meta({ description: 'What it is good for' }),
  })
  .meta({ id: 'DnsRecord' })
