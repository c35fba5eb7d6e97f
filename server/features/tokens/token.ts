import { randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { z } from 'zod'
import { idOf, type KeyId, type MailboxId, type ProjectId, type UserId } from '../../base/ids.ts'
import { type Role, type Scope, scopes } from '../../operations/context.ts'
import { line, timestamp } from '../../operations/schemas.ts'

export interface TokenRow {
  project_id: ProjectId
  id: KeyId
  user_id: UserId
  name: string
  prefix: string
  scopes: Scope[]
  mailbox_id: MailboxId | null
  agent_mailbox_id: MailboxId | null
  grant_id: string | null
  created_at: Date
  last_used_at: Date | null
  expires_at: Date | null
}

const fields = {
  id: idOf('key'),
  name: z.string(),
  scopes: z.array(z.enum(scopes)),
  prefix: z.string().meta({ description: 'The first characters of the key, to recognise it by' }),
  mailbox_id: idOf('mbx').nullable(),
  created_at: timestamp,
  last_used_at: timestamp.nullable(),
  expires_at: timestamp.nullable(),
}

export const Token = z.object(fields).meta({ id: 'Token' })
export const CreatedToken = z
  .object({ ...fields, key: z.string().meta({ description: 'The key itself, shown this once' }) })
  .meta({ id: 'CreatedToken' })

/** `read,write` on the wire, a list of scopes inside. */
const scopeText = z
  .string()
  .transform((text) => [
    ...new Set(
      text
        .split(',')
        .map((part) => part.trim())
        .filter(Boolean),
    ),
  ])
  .pipe(z.array(z.enum(scopes)).min(1, 'must name at least one of read, write, send, admin'))
  .meta({ description: 'Comma-separated: read, write, send, admin' })

export const NewToken = z.object({
  name: line(100),
  scope: scopeText,
  project_id: idOf('prj').optional().meta({
    description:
      'Another project that the caller is an owner or admin of. It takes a key with every scope that its maker has; apps cannot do it',
  }),
  mailbox_id: idOf('mbx').nullable().optional().meta({ description: 'Binds the key to one mailbox' }),
  expires_at: timestamp.nullable().optional(),
})

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** `sk_` (or `sk_mbx_`), 32 random letters, and a 6-letter checksum by which a scanner tells a real key from noise. */
export function makeKey(boundToMailbox: boolean): string {
  const body = (boundToMailbox ? 'sk_mbx_' : 'sk_') + Array.from({ length: 32 }, () => base62[randomInt(62)]).join('')
  let checksum = ''
  for (let rest = crc32(body), digit = 0; digit < 6; digit++, rest = Math.floor(rest / 62)) checksum = base62[rest % 62] + checksum
  return body + checksum
}

/** Enough to recognise a key by, far too little to use it. */
export const shownPrefix = (key: string): string => key.slice(0, key.startsWith('sk_mbx_') ? 11 : 7)

/** A key with what decides over it now: where it belongs, and what its owner may still do there. */
export interface LiveToken extends TokenRow {
  role: Role
  space: string
}
