import { z } from 'zod'
import { idOf, type MailboxId, type ProjectId, type RegistrationId, type UserId } from '../../base/ids.ts'
import { scopes } from '../../operations/context.ts'
import { email, timestamp } from '../../operations/schemas.ts'

/**
 * An agent registers by itself (anonymous: it gets an account, a mailbox and a key that reads) or for somebody (with an e-mail
 * address: it gets nothing yet). A human claims it with a code from their mail: merged, what it has becomes the human's; linked, it
 * stays an account of its own below the human's, who can switch it off. An agent that nobody claims stays as it is.
 */
export const anonymousScopes = ['read'] as const
export const claimedScopes = ['read', 'write'] as const

/** How long a claim token is good for. The key of an agent that nobody claims goes on working. */
export const claimValidMs = { anonymous: 30 * 24 * 3_600_000, email: 24 * 3_600_000 } as const

export type RegistrationKind = keyof typeof claimValidMs

export interface RegistrationRow {
  id: RegistrationId
  kind: RegistrationKind
  /** The agent and its project; null for one with an e-mail address, until it is claimed with link. */
  user_id: UserId | null
  project_id: ProjectId | null
  claim_expires_at: Date
  email: string | null
  email_key: string | null
  link: boolean | null
  claimed_at: Date | null
}

/** An agent as its human sees it. */
export interface AgentRow {
  id: UserId
  name: string
  email: string | null
  project_id: ProjectId
  scopes: (typeof scopes)[number][]
  disabled_at: Date | null
  created_at: Date
  last_used_at: Date | null
}

export const Agent = z
  .object({
    id: idOf('usr'),
    name: z.string(),
    email: z.string().nullable().meta({ description: 'The mailbox that it was given' }),
    project_id: idOf('prj').meta({ description: 'The project that the agent works in' }),
    scopes: z.array(z.enum(scopes)).meta({ description: 'What its keys may do' }),
    status: z.enum(['active', 'disabled']),
    created_at: timestamp,
    last_used_at: timestamp.nullable(),
  })
  .meta({ id: 'Agent' })

export const toAgent = (row: AgentRow): z.output<typeof Agent> => ({
  ...row,
  scopes: scopes.filter((scope) => row.scopes.includes(scope)),
  status: row.disabled_at === null ? 'active' : 'disabled',
})

export const AgentChanges = z.object({
  status: z.enum(['active', 'disabled']).optional().meta({ description: 'disabled: its keys stop within a second' }),
  send: z.boolean().optional().meta({ description: 'Whether its keys have the scope to send' }),
})

const registrationTypes = ['anonymous', 'identity_assertion'] as const
const assertion = z.object({ type: z.literal('verified_email'), email })
const assertionOnTheWire = {
  type: 'object',
  required: ['type', 'email'],
  properties: { type: { const: 'verified_email' }, email: { type: 'string', format: 'email' } },
}

/** The contract nests the address in `assertions`; others send it flat. Both are taken. */
export const NewRegistration = z
  .object({
    type: z.string().pipe(z.enum(registrationTypes)).meta({ enum: registrationTypes }),
    requested_credential_type: z.string().max(100).optional().meta({ description: 'api_key, the only one there is' }),
    assertions: z
      .array(z.unknown())
      .max(1, 'must have one item: the address of the human')
      .pipe(z.array(assertion).min(1, 'must have one item: the address of the human'))
      .optional()
      .meta({ type: 'array', minItems: 1, maxItems: 1, items: assertionOnTheWire }),
    assertion_type: z.literal('verified_email').optional().meta({ description: 'The flat form, with `assertion`' }),
    assertion: email.optional(),
    link: z.boolean().default(false).meta({ description: 'With an address: stay an agent of its own below the human’s account' }),
  })
  .check(({ value, issues }) => {
    if (value.type !== 'identity_assertion' || value.assertions || value.assertion) return
    issues.push({ code: 'custom', input: value, path: ['assertions'], message: 'is required: [{"type": "verified_email", "email": "…"}]' })
  })

const claimToken = z.string().max(200)

export const NewClaim = z.object({
  claim_token: claimToken,
  email: email.meta({ description: 'The address of the human who claims the agent' }),
  link: z
    .boolean()
    .default(false)
    .meta({ description: 'true: keep the agent apart, below the human’s account; false: merge it into that' }),
})

export const ClaimProof = z.object({
  claim_token: claimToken,
  otp: z.string().max(40).meta({ description: 'The six digits from the mail' }),
})

const registered = {
  claim_token: z.string().meta({ description: 'What a human claims the agent with; shown this once' }),
  claim_token_expires: timestamp,
  registration_id: idOf('reg'),
  registration_type: z.enum(['anonymous', 'email-verification']),
  post_claim_scopes: z.array(z.enum(scopes)),
}

export const Registration = z
  .object({
    ...registered,
    credential: z.string().optional().meta({ description: 'anonymous: the API key, shown this once' }),
    credential_type: z.literal('api_key').optional(),
    credential_expires: timestamp.nullable().optional(),
    scopes: z.array(z.enum(scopes)).optional(),
    user_id: idOf('usr').optional(),
    project_id: idOf('prj').optional(),
    mailbox: z
      .object({ id: idOf('mbx'), address: z.string() })
      .optional()
      .meta({ description: 'anonymous: the mailbox that the agent was given' }),
    verification_required: z.boolean().optional().meta({ description: 'With an address: true, a code was sent to it' }),
    message: z.string().optional(),
  })
  .meta({ id: 'AgentRegistration' })

export const Claim = z
  .object({
    verification_required: z.boolean(),
    message: z.string(),
    registration_id: idOf('reg'),
    status: z.literal('initiated'),
    expires_at: timestamp.meta({ description: 'When the code ends' }),
  })
  .meta({ id: 'AgentClaim' })

export const CompletedClaim = z
  .object({
    credential: z.string().meta({ description: 'A new API key, shown this once' }),
    credential_type: z.literal('api_key'),
    credential_expires: timestamp.nullable(),
    user_id: idOf('usr').meta({ description: 'merge: the human; link: the agent' }),
    project_id: idOf('prj').meta({ description: 'Where the key belongs' }),
    scopes: z.array(z.enum(scopes)),
    mode: z.enum(['merge', 'link']),
    mailbox: z
      .object({ id: idOf('mbx'), address: z.string() })
      .nullable()
      .meta({ description: 'The agent’s mailbox, where it has one' }),
    registration_id: idOf('reg'),
  })
  .meta({ id: 'CompletedAgentClaim' })

/** What a claim ends in. */
export interface Claimed {
  user_id: UserId
  project_id: ProjectId
  mailbox: { id: MailboxId; address: string } | null
  /** What the new key is called. */
  key_name: string
}
