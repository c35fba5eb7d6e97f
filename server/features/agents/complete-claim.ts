import { ApiError } from '../../base/errors.ts'
import type { Transaction } from '../../database/database.ts'
import type { OpenContext } from '../../operations/context.ts'
import { defineAgentOperation } from '../../operations/define-operation.ts'
import { type CodeOutcome, findOrCreatePerson, hasUsedCode, mayComeIn, reopenCode, tryCode } from '../identity/index.ts'
import { insertToken, makeKey } from '../tokens/index.ts'
import { type Claimed, ClaimProof, CompletedClaim, claimedScopes, type RegistrationRow } from './agent.ts'
import { refuseExpired, unknownToken } from './claim-agent.ts'
import { linkAgent } from './link-agent.ts'
import { mergeAgent } from './merge-agent.ts'
import { noteStep } from './registration-audit.ts'
import { endClaim, findRegistration, lockRegistration } from './registration-queries.ts'
import { retryOnConflict } from './retry-on-conflict.ts'

export const completeClaim = defineAgentOperation({
  id: 'agents.complete',
  method: 'POST',
  path: '/agent/auth/claim/complete',
  summary: 'Complete a claim with the code from the human’s mail',
  description:
    'Answers a new API key that reads and writes, once. `merge`: what the agent has is in the human’s project now, and its first key works there. `link`: the agent keeps its project below the human’s account, and the human is asked to join it. The code is good for ten minutes and five tries.',
  body: ClaimProof,
  result: CompletedClaim,
  status: 200,
  errors: [
    'otp_not_generated',
    'invalid_claim_token',
    'otp_invalid',
    'previously_claimed',
    'claim_expired',
    'otp_expired',
    'otp_attempts_exceeded',
  ],

  async run(context, { body: { claim_token, otp } }) {
    const asked = refuseUnclaimable(await findRegistration(context.database, claim_token), context.clock.now())
    const proof = await tryCode(context, { purpose: 'claim', binding: claim_token, code: otp })
    if (proof.outcome !== 'right') {
      // Two who bring the right code at once: it is used up by the first.
      if (proof.outcome === 'none' && (await hasUsedCode(context.database, 'claim', claim_token))) throw alreadyClaimed()
      throw refusalOf(proof.outcome)
    }
    const done = retryOnConflict(() =>
      context.database.transaction(async (tx) => {
        const registration = refuseUnclaimable(await lockRegistration(tx, claim_token), tx.now)
        // The code said yes to what was asked then, not to what was asked since.
        if (registration.email_key !== proof.email_key || registration.link !== asked.link) throw refusalOf('none')
        // Once more: an invitation may have been taken back since.
        if (!(await mayComeIn(context, tx, proof.email_key))) throw refusalOf('none')
        return confirm(context, tx, registration, { address: proof.email, key: proof.email_key })
      }),
    )
    return done.catch(async (error: unknown) => {
      // Our own fault is not to cost the human another code.
      if (!(error instanceof ApiError)) await reopenCode(context.database, proof.id)
      throw error
    })
  },
})

function refuseUnclaimable(registration: RegistrationRow | null, now: Date): RegistrationRow {
  if (!registration) throw unknownToken()
  if (registration.claimed_at) throw alreadyClaimed()
  refuseExpired(registration, now)
  if (registration.email_key === null) throw refusalOf('none')
  return registration
}

const alreadyClaimed = () =>
  new ApiError(
    'previously_claimed',
    'This code has been used already: a claim token and a code work once. If no key came of it, POST /agent/auth/claim sends a new code.',
  )

function refusalOf(outcome: Exclude<CodeOutcome['outcome'], 'right'>): ApiError {
  switch (outcome) {
    case 'wrong':
      return new ApiError('otp_invalid', 'This is not the code that was mailed last. After five wrong tries it ends.')
    case 'expired':
      return new ApiError('otp_expired', 'This code has ended: it is good for ten minutes. POST /agent/auth/claim sends a new one.')
    case 'exhausted':
      return new ApiError('otp_attempts_exceeded', 'This code was tried too often and has ended. POST /agent/auth/claim sends a new one.')
    case 'none':
      return new ApiError('otp_not_generated', 'No code is open for this claim token. POST /agent/auth/claim sends one.')
  }
}

/** Everything that a claim changes, in one transaction. */
async function confirm(
  context: OpenContext,
  tx: Transaction,
  registration: RegistrationRow,
  address: { address: string; key: string },
): Promise<(typeof CompletedClaim)['_zod']['output']> {
  const human = await findOrCreatePerson(tx, address)
  const mode = registration.link ? 'link' : 'merge'
  const claimed: Claimed = registration.link
    ? await linkAgent(context, tx, { registration, human, address })
    : await mergeAgent(context, tx, { registration, human })
  const credential = makeKey(false)
  await insertToken(tx, {
    project_id: claimed.project_id,
    user_id: claimed.user_id,
    name: claimed.key_name,
    key: credential,
    scopes: claimedScopes,
    mailbox_id: null,
    agent_mailbox_id: claimed.mailbox?.id ?? null,
    expires_at: null,
  })
  await endClaim(tx, {
    id: registration.id,
    claimed_by: human.user_id,
    mode,
    user_id: registration.user_id ?? (registration.link ? claimed.user_id : null),
    project_id: registration.project_id ?? (registration.link ? claimed.project_id : null),
    merged_into: mode === 'merge' && registration.project_id ? claimed.project_id : null,
  })
  const { user_id, project_id } = claimed
  const { log, request_id } = context
  await noteStep(tx, 'claim.confirmed', { registration, request_id, user_id, project_id })
  tx.afterCommit(() => log.info({ registration_id: registration.id, mode, user_id, project_id, request_id }, 'an agent was claimed'))
  return {
    credential,
    credential_type: 'api_key',
    credential_expires: null,
    user_id,
    project_id,
    scopes: [...claimedScopes],
    mode,
    mailbox: claimed.mailbox,
    registration_id: registration.id,
  }
}
