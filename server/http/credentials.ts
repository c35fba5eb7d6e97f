import { ApiError } from '../base/errors.ts'
import type { Caller } from '../operations/context.ts'
import type { Operation } from '../operations/define-operation.ts'

/** Who a bearer credential belongs to, or null. */
export type Authenticate = (credential: string) => Promise<Caller | null>

export const bearerOf = (authorization: string | undefined): string | null =>
  /^Bearer +([\x21-\x7e]{1,512})$/i.exec(authorization ?? '')?.[1] ?? null

export function refuseStranger(caller: Caller | null, authorization: string | undefined, metadataUrl: string): asserts caller is Caller {
  if (caller) return
  const message = authorization
    ? 'This API key is not valid: it is mistyped, expired or revoked. Keys begin with sk_ and go into "Authorization: Bearer sk_…".'
    : 'An API key is needed. Send it as "Authorization: Bearer sk_…".'
  const error = authorization ? ', error="invalid_token"' : ''
  throw new ApiError('unauthorized', message, {
    headers: { 'www-authenticate': `Bearer resource_metadata="${metadataUrl}", scope="read"${error}` },
  })
}

/** What the operation declares, held against what the credential has. */
export function refuseForbidden(caller: Caller, operation: Operation, metadataUrl: string): void {
  if (caller.mailbox_id && operation.mailboxKeys === 'refused') {
    throw new ApiError('forbidden', 'This key belongs to one mailbox and does not reach beyond it. Use a project-wide key.')
  }
  if (operation.scope !== 'any' && !caller.scopes.includes(operation.scope)) {
    throw new ApiError('forbidden', `This key lacks the scope "${operation.scope}". It has: ${caller.scopes.join(', ') || 'none'}.`, {
      headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${operation.scope}", resource_metadata="${metadataUrl}"` },
    })
  }
}
