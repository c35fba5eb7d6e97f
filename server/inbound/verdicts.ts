import type { Resolver } from 'node:dns/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { domainToASCII } from 'node:url'
import { type AuthenticateResult, authenticate, type DNSResolver } from 'mailauth'
import { rememberBriefly } from '../base/recent.ts'
import { endOfHead } from '../mail/inbound/limits.ts'
import type { Mailbox, Verdicts } from '../mail/inbound/parsed-mail.ts'
import { storable } from '../mail/inbound/plain-letters.ts'
import { undecided } from './undecided.ts'

export interface ToJudge {
  raw: Buffer
  envelope_from: string
  /** Null when it came through a relay of one's own: then the address says nothing about the sender. */
  address: string | null
  helo: string
  /** Whom readers will see as the sender. */
  from: Mailbox | null
}

export type Judge = (message: ToJudge) => Promise<Verdicts>

/** For all look-ups of one message together. A name server that hangs makes them `temperror`, and the mail is filed all the same. */
const lookUpsMs = 6_000

/** For each question about the policy of the domain in From. Others' name servers must not use up its time: the policy would not count. */
const policyMs = 3_000
const isOnFrom = ({ from }: ToJudge, name: string): boolean => {
  const domain = from ? domainOf(from.address) : ''
  return name.startsWith('_dmarc.') && domain !== '' && `.${domain}`.endsWith(`.${name.slice('_dmarc.'.length)}`)
}

/** Says how senders proved who they are: SPF, DKIM, DMARC and ARC. Nothing is refused for it. */
export function createJudge({ resolver, mailDomain }: { resolver: Resolver; mailDomain: string }): Judge {
  const look = createLookUp(resolver)
  return async (message) => {
    const late = Promise.withResolvers<void>()
    const timer = setTimeout(late.resolve, lookUpsMs)
    const judging = authenticate(partToJudge(message.raw), {
      sender: message.envelope_from,
      ...(message.address === null ? {} : { ip: message.address }),
      // What comes without a name, or with one that is none, is judged by its address.
      helo: /^[\w.:[\]-]{1,255}$/.test(message.helo) ? message.helo : '',
      mta: mailDomain,
      resolver: (name, type) =>
        Promise.race([look(name, type), (isOnFrom(message, name) ? sleep(policyMs) : late.promise).then(() => noAnswer(name))]),
      rejectRsaSha1: true,
      disableBimi: true,
    })
    try {
      // The look-ups end by themselves. Should anything else not, it is not waited for.
      const result = await Promise.race([judging, late.promise.then(() => sleep(lookUpsMs, null))])
      return result ? verdictsOf(result, message) : undecided('temperror')
    } catch {
      // The parts that were to be judged could not be read: the same as if nobody had vouched for them.
      return undecided('permerror')
    } finally {
      clearTimeout(timer)
    }
  }
}

/** Without a signature nobody looks at the body; hashing it would be most of the work. */
function partToJudge(raw: Buffer): Buffer {
  const head = raw.subarray(0, endOfHead(raw))
  return /^(?:dkim-signature|arc-)/im.test(head.toString('latin1')) ? raw : head
}

function noAnswer(name: string): never {
  throw Object.assign(new Error(`no answer in time about ${name}`), { code: 'ETIMEOUT' })
}

const maxSignatures = 20
/** Strangers wrote these, too, and they are stored. */
const nameIn = (text: string | null | undefined): string => storable(text ?? '', 255)

function verdictsOf({ spf: asked, dkim, dmarc, arc }: AuthenticateResult, { from, address }: ToJudge): Verdicts {
  const spf = address === null ? false : asked
  const signed = dkim.results.filter(({ signingDomain }) => signingDomain).slice(0, maxSignatures)
  return {
    spf: { result: spf ? spf.status.result : 'none', domain: nameIn(spf ? spf.domain : null) || null },
    dkim: signed.map(({ status, signingDomain, selector }) => ({
      result: status.result,
      domain: nameIn(signingDomain),
      selector: nameIn(selector),
    })),
    dmarc: dmarc
      ? { result: dmarc.status.result, policy: nameIn(dmarc.policy) || null, domain: nameIn(dmarc.status.header?.from) || null }
      : { result: 'none', policy: null, domain: null },
    arc: { result: arc ? arc.status.result : 'none' },
    authenticated_domain: authenticatedDomain({ spf, dkim, dmarc }, from),
  }
}

/**
 * The domain of From, when it vouched for the message itself (RFC 9989 section 5.3). `from` is what readers see: where the judge sees
 * other senders than the reader, or several, nobody is vouched for. A signature that leaves a part of the body open vouches for nothing.
 */
function authenticatedDomain(
  { spf, dkim, dmarc }: Pick<AuthenticateResult, 'spf' | 'dkim' | 'dmarc'>,
  from: Mailbox | null,
): string | null {
  const judged = [dkim.headerFrom ?? []].flat()
  const domain = from ? domainOf(from.address) : ''
  if (domain === '' || judged.length !== 1 || dkim.fromFields !== 1 || domainOf(judged[0] as string) !== domain) return null
  const isSigned = dkim.results.some(({ status }) => status.result === 'pass' && status.aligned && !status.underSized && !status.testing)
  // Without a record that says how far apart the two may be, they must be the same.
  const hasRecord = dmarc && dmarc.status.result !== 'none'
  const isSentBy = spf && spf.status.result === 'pass' && (hasRecord ? dmarc.alignment.spf.result : domainOf(`@${spf.domain}`) === domain)
  return isSigned || isSentBy ? domain : null
}

const domainOf = (address: string): string => domainToASCII(address.slice(address.lastIndexOf('@') + 1).toLowerCase())

type Answer = { records: Awaited<ReturnType<DNSResolver>> } | { error: Error }

/** A burst of mail from one domain asks the same few questions: an answer, also "there is none", is good for half a second. */
function createLookUp(resolver: Resolver): DNSResolver {
  const ask = rememberBriefly(async (question): Promise<Answer> => {
    const [type = '', name = ''] = question.split(' ')
    try {
      return { records: (await resolver.resolve(name, type)) as string[][] }
    } catch (error) {
      return { error: error as Error }
    }
  })
  return async (name, type) => {
    const answer = await ask(`${type} ${name}`)
    if ('error' in answer) throw answer.error
    return answer.records
  }
}
