import type { Transaction } from '../../database/database.ts'
import type { OpenContext } from '../../operations/context.ts'
import { findUser, issueCode, mayComeIn, type Notice } from '../identity/index.ts'
import type { RegistrationRow } from './agent.ts'
import { noteStep } from './registration-audit.ts'
import { setClaim } from './registration-queries.ts'

interface CodeWanted {
  registration: RegistrationRow
  claim_token: string
  email: { address: string; key: string }
  link: boolean
}

export const codeSent = 'A verification code was e-mailed. Ask the human for the six digits, and send them to /agent/auth/claim/complete.'

/** The claim asks this human from now on, and the code for it is on its way. The mail says what the code will do. */
export async function requestCode(context: OpenContext, tx: Transaction, { registration, claim_token, email, link }: CodeWanted) {
  const agent = registration.user_id && (await findUser(tx, registration.user_id))
  await setClaim(tx, registration.id, email, link)
  await noteStep(tx, 'claim.requested', { registration, request_id: context.request_id, user_id: registration.user_id })
  const isWelcome = await mayComeIn(context, tx, email.key)
  // The name is one that we gave it: nothing in the mail was chosen by whoever asks.
  const opening = `${agent ? `The agent ${agent.name}` : 'An agent'} says that it works for you. ${link ? linkWords : mergeWords}`
  await issueCode(context, tx, {
    purpose: 'claim',
    address: email,
    binding: claim_token,
    ip: context.peer,
    isDecoy: !isWelcome,
    notice: (code) => ({
      kind: 'claim_code',
      // Subjects are kept when the text is not: the code stays out of them.
      subject: 'An agent asks for you',
      parts: isWelcome ? [opening, ...codeParts(code)] : [opening, ...noAccountParts],
    }),
  })
  await noteStep(tx, 'otp.generated', { registration, request_id: context.request_id, user_id: registration.user_id })
}

const linkWords = 'It asks to be linked to your account: it keeps a project of its own, and you can watch it and switch it off.'
const mergeWords = 'It asks to become part of your account: it will be able to read and change what is in your project there.'

const codeParts = (code: string): Notice['parts'] => [
  'If you want that, give the agent this code. It is good for ten minutes:',
  { code },
  'If you know of no agent, do nothing: without the code nothing happens.',
]

/** Both ways do the same work and leave the same answer: whether an address has an account is told to its mailbox alone. */
const noAccountParts = [
  'There is no account for this address, and people come in here by invitation. Ask whoever runs the server to invite this address to a project; then the agent can ask again.',
  'If you know of no agent, do nothing.',
]
