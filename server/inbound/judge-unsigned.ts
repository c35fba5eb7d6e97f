import { isIP } from 'node:net'
import { type AuthenticateResult, type DNSResolver, dmarc, spf } from 'mailauth'
import { createAuthorReader } from './authors.ts'

/** What verdicts are made of. */
export type Judged = Pick<AuthenticateResult, 'spf' | 'dmarc' | 'arc'> & {
  dkim: Pick<AuthenticateResult['dkim'], 'headerFrom' | 'fromFields' | 'results'>
}

export interface Unsigned {
  head: Buffer
  sender: string
  /** Null when no address says anything about the sender. */
  address: string | null
  helo: string
  resolver: DNSResolver
}

/**
 * Judges mail that nobody signed by the two questions that are left: may this address send for that domain (SPF), and what does the
 * domain in From say about mail that it does not vouch for (DMARC). `authenticate` of mailauth comes to the same, and a test holds this to
 * it; but it reads the head as if signatures were in it, and writes header fields that nobody wants, for most of its time.
 */
export function createUnsignedJudge({ mailDomain }: { mailDomain: string }): (mail: Unsigned) => Promise<Judged> {
  const authorsOf = createAuthorReader()
  const mayKeep = ({ status }: { status: { result: string } }) => status.result !== 'temperror'
  const spfOf = keepBriefly(spf, mayKeep)
  const policyOf = keepBriefly(dmarc, (found) => found === false || mayKeep(found))
  return async ({ head, sender, address, helo, resolver }) => {
    const authors = await authorsOf(head)
    const allowed =
      address === null ? false : await spfOf({ sender, ip: address, helo: nameOf(helo || address), mta: mailDomain }, resolver)
    const spfDomains = allowed && allowed.status.result === 'pass' ? [allowed.domain] : []
    return {
      spf: allowed,
      dkim: { ...authors, results: [] },
      dmarc: await policyOf({ ...authors, spfDomains, dkimDomains: [] }, resolver),
      arc: false,
    }
  }
}

/** An address stands in brackets where a name is expected (RFC 5321 section 4.1.3). */
const nameOf = (helo: string): string => (isIP(helo) ? `[${helo}]` : helo)

/** As long as the records that they were made of: `look-ups.ts`. */
const keptForMs = 500
const maxKept = 1_000

/** The same question gets the same answer for half a second. While nobody knows the answer each asks for themselves, and waits as long as they may. */
function keepBriefly<Question extends object, Answer>(
  ask: (question: Question & { resolver: DNSResolver }) => Promise<Answer>,
  mayKeep: (answer: Answer) => boolean,
): (question: Question, resolver: DNSResolver) => Promise<Answer> {
  const known = new Map<string, { answer: Answer; until: number }>()
  return async (question, resolver) => {
    const key = JSON.stringify(question)
    const at = performance.now()
    const kept = known.get(key)
    if (kept && kept.until > at) return kept.answer
    const answer = await ask({ ...question, resolver })
    if (known.size >= maxKept) known.clear()
    if (mayKeep(answer)) known.set(key, { answer, until: at + keptForMs })
    return answer
  }
}
