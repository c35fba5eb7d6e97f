import { z } from 'zod'

/** What the authority answers (RFC 8555 section 7.1). Members that nobody here reads are left out. */
const address = z.url({ protocol: /^https$/ })
const time = z.iso.datetime({ offset: true }).transform((text) => new Date(text))
const problem = z.object({ type: z.string().optional(), detail: z.string().optional() })
export type ProblemDocument = z.output<typeof problem>

export const Problem = problem

export const Directory = z.object({
  newNonce: address,
  newAccount: address,
  newOrder: address,
  renewalInfo: address.optional(),
  meta: z.object({ caaIdentities: z.array(z.string()).optional() }).optional(),
})
export type Directory = z.output<typeof Directory>

export const Order = z.object({
  status: z.enum(['pending', 'ready', 'processing', 'valid', 'invalid']),
  expires: time.optional(),
  authorizations: z.array(address).min(1),
  finalize: address,
  certificate: address.optional(),
  error: problem.optional(),
})
export type Order = z.output<typeof Order>

export const Challenge = z.object({
  type: z.string(),
  url: address,
  status: z.string().optional(),
  /** RFC 8555 section 8: at least 128 bits, in letters that are safe in an address. */
  token: z
    .string()
    .regex(/^[A-Za-z0-9_-]{22,255}$/)
    .optional(),
  error: problem.optional(),
})
export type Challenge = z.output<typeof Challenge>

export const Authorization = z.object({
  status: z.enum(['pending', 'valid', 'invalid', 'deactivated', 'expired', 'revoked']),
  expires: time.optional(),
  challenges: z.array(Challenge),
})
export type Authorization = z.output<typeof Authorization>

/** RFC 9773 section 4.2. */
export const RenewalInfo = z.object({ suggestedWindow: z.object({ start: time, end: time }) })
export type RenewalInfo = z.output<typeof RenewalInfo>
