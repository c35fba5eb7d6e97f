import { ApiError } from '../base/errors.ts'
import type { Caller } from '../operations/context.ts'

/** Who a bearer credential belongs to, or null. */
export type Authenticate = (credential: string) => Promise<Caller | null>

/** Who a payment credential belongs to, for one operation, or null. */
export type AuthenticatePayer = (credential: string, operation: string) => Promise<Caller | null>

/** The credential of the Payment scheme, undecoded; 8 kB is twice what the draft asks a server to take. */
export const paymentOf = (header: string | string[] | undefined): string | null =>
  /^Payment +([A-Za-z0-9_=-]{1,8192})$/i.exec(typeof header === 'string' ? header : '')?.[1] ?? null

export const bearerOf = (authorization: string | undefined): string | null =>
  /^Bearer +([\x21-\x7e]{1,512})$/i.exec(authorization ?? '')?.[1] ?? null

export function refuseStranger(caller: Caller | null, authorization: string | undefined, metadataUrl: string): asserts caller is Caller {
  if (caller) return
  const message = authorization
    ? 'This API key or access token is not valid: it is mistyped, expired or revoked. It goes into "Authorization: Bearer …"; keys begin with sk_.'
    : 'An API key or access token is needed. Send it as "Authorization: Bearer …"; keys begin with sk_.'
  const error = authorization ? ', error="invalid_token"' : ''
  throw new ApiError('unauthorized', message, {
    headers: { 'www-authenticate': `Bearer resource_metadata="${metadataUrl}", scope="read"${error}` },
  })
}
