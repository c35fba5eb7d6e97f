import type { UserId } from '../../base/ids.ts'
import { hashOfSecret } from '../../base/secrets.ts'
import type { Transaction } from '../../database/database.ts'
import { leaveAuditRow } from '../../operations/audit.ts'
import type { Services } from '../../operations/context.ts'
import {
  type CodeOutcome,
  findHomeProject,
  findOrCreatePerson,
  issueCode,
  mayComeIn,
  type Notice,
  takeSignInLink,
  tryCode,
} from '../identity/index.ts'
import { startSession } from './session.ts'

/** The browser that asks, and the request by which the log finds it again. */
export interface Browser {
  user_agent: string | null
  ip: string | null
  request_id: string
}

interface Asked {
  address: { address: string; key: string }
  /** What only this browser knows. */
  binding: string
  /** As limits count it. */
  peer: string
  /** What this browser was given when it last signed in, if it did. */
  known: string | null
}

/**
 * Mails a code, or, where people come by invitation and this one has none, a mail that says so. Both ways do the same work and leave the
 * same answer: whether an address has an account is told to its mailbox alone.
 */
export async function sendSignInCode(services: Services, { address, binding, peer, known }: Asked): Promise<void> {
  const host = new URL(services.config.AUTH_URL).host
  const isKnown = known !== null && isKnownBrowser(services, known, address.key)
  await services.database.transaction(async (tx) => {
    const isWelcome = await mayComeIn(services, tx, address.key)
    await issueCode(services, tx, {
      purpose: 'sign_in',
      address,
      binding,
      ip: peer,
      isDecoy: !isWelcome,
      isKnown,
      notice: (code) => (isWelcome ? codeNotice(host, code) : noAccountNotice(host)),
    })
  })
}

const codeNotice = (host: string, code: string): Omit<Notice, 'to'> => ({
  kind: 'sign_in_code',
  subject: 'Your code to sign in',
  parts: [
    `Somebody, most likely you, is signing in at ${host}. This is the code:`,
    { code },
    'Type it into the page that asked for it. It works for ten minutes, in that browser only. Nobody from Posthaste will ever ask you for it.',
    'It was not you? Then do nothing: without the code, nobody gets in.',
  ],
})

const noAccountNotice = (host: string): Omit<Notice, 'to'> => ({
  kind: 'sign_in_code',
  subject: 'There is no account for this address',
  parts: [
    `Somebody, most likely you, tried to sign in at ${host} with this address. It has no account there.`,
    'People come in by invitation. Ask whoever told you about it, or whoever runs it, to invite this address to their project; then sign in again.',
    'It was not you? Then do nothing.',
  ],
})

/** For a browser to keep after it has signed in: strangers who ask for codes do not use up its share. It opens nothing. */
const markBrowser = ({ secrets }: Services, email_key: string): string => secrets.sign('known_browser', hashOfSecret(email_key))

const isKnownBrowser = ({ secrets }: Services, known: string, email_key: string): boolean =>
  secrets.verify('known_browser', known)?.equals(hashOfSecret(email_key)) === true

export type SignInOutcome = { outcome: 'signed_in'; secret: string; known: string } | Exclude<CodeOutcome, { outcome: 'right' }>

export async function signInWithCode(
  services: Services,
  { binding, code, browser }: { binding: string; code: string; browser: Browser },
): Promise<SignInOutcome> {
  const tried = await tryCode(services, { purpose: 'sign_in', binding, code })
  if (tried.outcome !== 'right') return tried
  return services.database.transaction(async (tx): Promise<SignInOutcome> => {
    // Once more: an invitation may have been taken back since.
    if (!(await mayComeIn(services, tx, tried.email_key))) return { outcome: 'none' }
    const { user_id } = await findOrCreatePerson(tx, { address: tried.email, key: tried.email_key })
    return { outcome: 'signed_in', secret: await start(services, tx, { user_id, browser }), known: markBrowser(services, tried.email_key) }
  })
}

/** Null for a link that is used up, over or never was. */
export const signInWithLink = (services: Services, { secret, browser }: { secret: string; browser: Browser }): Promise<string | null> =>
  services.database.transaction(async (tx) => {
    const user_id = await takeSignInLink(tx, secret)
    return user_id && start(services, tx, { user_id, browser })
  })

async function start({ log }: Services, tx: Transaction, { user_id, browser }: { user_id: UserId; browser: Browser }): Promise<string> {
  const { user_agent, ip, request_id } = browser
  tx.afterCommit(() => log.info({ user_id, request_id }, 'somebody signed in'))
  await noteForPerson(tx, { user_id, operation: 'sessions.create', request_id })
  return startSession(tx, { user_id, user_agent, ip })
}

/** The audit log is kept by project; what somebody does with their own sign-ins stands in the log of their home project. */
export async function noteForPerson(
  tx: Transaction,
  { user_id, operation, request_id, target = {} }: { user_id: UserId; operation: string; request_id: string; target?: object },
): Promise<void> {
  const home = await findHomeProject(tx, user_id)
  if (home) await leaveAuditRow(tx, { project_id: home.id, operation, caller: { user_id, key_id: null }, target, request_id })
}
