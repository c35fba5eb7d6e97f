import { ApiError, invalid } from '../../base/errors.ts'
import type { Transaction } from '../../database/database.ts'
import { defineAgentOperation } from '../../operations/define-operation.ts'
import { findOpenCode } from '../identity/index.ts'
import { findMailboxByAddress } from '../mailboxes/index.ts'
import { Claim, NewClaim, type RegistrationRow } from './agent.ts'
import { lockRegistration } from './registration-queries.ts'
import { codeSent, requestCode } from './request-code.ts'

export const claimAgent = defineAgentOperation({
  id: 'agents.claim',
  method: 'POST',
  path: '/agent/auth/claim',
  summary: 'Ask a human to claim the agent: mails them a code',
  description:
    'Asking again for the same address and the same `link` sends nothing while a code is open; another address or another `link` replaces the claim. At most five codes an hour go out for one claim token and to one address, and one a minute. The answer is the same whether or not the address has an account.',
  body: NewClaim,
  result: Claim,
  status: 200,
  errors: ['invalid_claim_token', 'claimed_or_in_flight', 'claim_expired'],

  async run(context, { body: { claim_token, email, link } }) {
    return context.database.transaction(async (tx) => {
      const registration = await lockRegistration(tx, claim_token)
      if (!registration) throw unknownToken()
      if (registration.claimed_at)
        throw new ApiError('claimed_or_in_flight', 'This agent has been claimed already. A claim token works once; use the key from then.')
      refuseExpired(registration, tx.now)
      await refuseOwnMailbox(tx, registration, email.key)
      const isSame = registration.email_key === email.key && registration.link === link
      const open = isSame ? await findOpenCode(tx, 'claim', claim_token) : null
      if (!open) await requestCode(context, tx, { registration, claim_token, email, link })
      const code = open ?? (await findOpenCode(tx, 'claim', claim_token))
      return {
        verification_required: true,
        message: codeSent,
        registration_id: registration.id,
        status: 'initiated' as const,
        expires_at: code!.expires_at, // just issued, in this transaction
      }
    })
  },
})

/** An agent reads the mail of its own mailbox: a code that goes there proves no human. */
async function refuseOwnMailbox(tx: Transaction, { project_id }: RegistrationRow, email_key: string): Promise<void> {
  if (project_id && (await findMailboxByAddress(tx, project_id, email_key)))
    throw invalid('email', 'is the agent’s own mailbox; it must be the address of the human')
}

export const unknownToken = () =>
  new ApiError('invalid_claim_token', 'This claim token is not known. It begins with ct_ and was answered by POST /agent/auth, once.')

export function refuseExpired({ claim_expires_at }: RegistrationRow, now: Date): void {
  if (claim_expires_at > now) return
  throw new ApiError('claim_expired', 'This claim token has ended. The agent’s key still works; register again to be claimed.')
}
