import type { z } from 'zod'
import { ApiError } from '../../base/errors.ts'
import { makeSecret } from '../../base/secrets.ts'
import type { OpenContext } from '../../operations/context.ts'
import { defineAgentOperation } from '../../operations/define-operation.ts'
import { insertToken, makeKey } from '../tokens/index.ts'
import { anonymousScopes, claimedScopes, claimValidMs, NewRegistration, Registration, type RegistrationRow } from './agent.ts'
import { createAgent } from './create-agent.ts'
import { noteStep } from './registration-audit.ts'
import { refuseTooManyRegistrations } from './registration-limits.ts'
import { insertRegistration } from './registration-queries.ts'
import { codeSent, requestCode } from './request-code.ts'
import { retryOnConflict } from './retry-on-conflict.ts'

export const registerAgent = defineAgentOperation({
  id: 'agents.register',
  method: 'POST',
  path: '/agent/auth',
  summary: 'Register as an agent, with nobody’s help or for a human',
  description:
    '`anonymous` answers an API key that reads, a mailbox, and a claim token that a human can claim the agent with within 30 days; unclaimed, the agent stays as it is. `identity_assertion` mails a code to the human instead, and answers a claim token for /agent/auth/claim/complete, good for 24 hours.',
  body: NewRegistration,
  result: Registration,
  status: 201,
  errors: ['anonymous_not_enabled', 'verified_email_not_enabled', 'unsupported_credential_type'],

  async run(context, { body }) {
    const { type, requested_credential_type = 'api_key' } = body
    refuseIfOff(context, type)
    if (requested_credential_type !== 'api_key')
      throw new ApiError('unsupported_credential_type', 'Only api_key can be asked for. Leave requested_credential_type out, or send that.')
    return type === 'anonymous' ? registerAnonymous(context) : registerForHuman(context, body)
  },
})

function refuseIfOff({ config }: OpenContext, type: z.output<typeof NewRegistration>['type']): void {
  const [kind, code, other] =
    type === 'anonymous'
      ? ([
          'anonymous',
          'anonymous_not_enabled',
          'Register with type identity_assertion and the address of a human, where that is on.',
        ] as const)
      : (['email', 'verified_email_not_enabled', 'Register with type anonymous, where that is on, and be claimed afterwards.'] as const)
  if (!config.AGENT_SIGN_UPS.includes(kind))
    throw new ApiError(code, `This way to register is switched off on this server (AGENT_SIGN_UPS). ${other}`)
}

const logRegistration = ({ log, request_id }: OpenContext, { id, kind, user_id }: RegistrationRow): void =>
  log.info({ registration_id: id, kind, user_id, request_id }, 'an agent registered')

const makeClaimToken = (): string => `ct_${makeSecret()}`

const registerAnonymous = (context: OpenContext) =>
  retryOnConflict(() =>
    context.database.transaction(async (tx) => {
      await refuseTooManyRegistrations(context, tx, 'anonymous')
      const { user_id, project_id, name, mailbox } = await createAgent(context, tx, 'anonymous')
      const [credential, claim_token] = [makeKey(false), makeClaimToken()]
      await insertToken(tx, {
        project_id,
        user_id,
        name: `Agent ${name}`,
        key: credential,
        scopes: anonymousScopes,
        mailbox_id: null,
        agent_mailbox_id: mailbox.id,
        expires_at: null,
      })
      const claim_expires_at = new Date(tx.now.getTime() + claimValidMs.anonymous)
      const registration = await insertRegistration(tx, {
        kind: 'anonymous',
        user_id,
        project_id,
        claim_token,
        claim_expires_at,
        ip: context.peer,
      })
      await noteStep(tx, 'registration.created', { registration, request_id: context.request_id, user_id })
      tx.afterCommit(() => logRegistration(context, registration))
      return {
        credential,
        credential_type: 'api_key' as const,
        credential_expires: null,
        scopes: [...anonymousScopes],
        user_id,
        project_id,
        mailbox,
        claim_token,
        claim_token_expires: claim_expires_at,
        registration_id: registration.id,
        registration_type: 'anonymous' as const,
        post_claim_scopes: [...claimedScopes],
      }
    }),
  )

/** Nothing is made yet: whose the agent will be, and where it will live, is known when the code comes back. */
const registerForHuman = (context: OpenContext, { assertions, assertion, link }: z.output<typeof NewRegistration>) =>
  context.database.transaction(async (tx) => {
    const email = assertions?.[0]?.email ?? assertion
    if (!email) throw new Error('the schema asks for an address')
    await refuseTooManyRegistrations(context, tx, 'email')
    const claim_token = makeClaimToken()
    const claim_expires_at = new Date(tx.now.getTime() + claimValidMs.email)
    const registration = await insertRegistration(tx, {
      kind: 'email',
      user_id: null,
      project_id: null,
      claim_token,
      claim_expires_at,
      ip: context.peer,
    })
    await noteStep(tx, 'registration.created', { registration, request_id: context.request_id })
    tx.afterCommit(() => logRegistration(context, registration))
    await requestCode(context, tx, { registration, claim_token, email, link })
    return {
      claim_token,
      claim_token_expires: claim_expires_at,
      verification_required: true,
      message: codeSent,
      registration_id: registration.id,
      registration_type: 'email-verification' as const,
      post_claim_scopes: [...claimedScopes],
    }
  })
