import type { Resolver } from 'node:dns/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { domainToASCII } from 'node:url'
import { authenticate, type DNSResolver } from 'mailauth'
import { findHead } from '../mail/inbound/limits.ts'
import type { Mailbox, Verdicts } from '../mail/inbound/parsed-mail.ts'
import { storable } from '../mail/inbound/plain-letters.ts'
import { isEndless } from './authors.ts'
import { createUnsignedJudge, type Judged } from './judge-unsigned.ts'
import { createLookUp, noAnswer } from './look-ups.ts'
import { createPatience } from './patience.ts'
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

/** Whether it is asked about the policy of whom readers see. */
const isOnFrom = ({ from }: ToJudge, name: string): boolean => {
  const domain = from ? domainOf(from.address) : ''
  return name.startsWith('_dmarc.') && domain !== '' && `.${domain}`.endsWith(`.${name.slice('_dmarc.'.length)}`)
}

/** Should anything else than a look-up have no end, it is not waited for. */
const unendingMs = 6_000

interface Needs {
  resolver: Resolver
  mailDomain: string
  /** How many it may have before it at one time. */
  places: number
}

/** Says how senders proved who they are: SPF, DKIM, DMARC and ARC. Nothing is refused for it. */
export function createJudge({ resolver, mailDomain, places }: Needs): Judge {
  const look = createLookUp(resolver)
  const patience = createPatience({ places })
  const judgeUnsigned = createUnsignedJudge({ mailDomain })
  const lookForPolicy: DNSResolver = async (name, type) => {
    const late = Promise.withResolvers<never>()
    const waiting = patience.beginQuestion(() => late.reject(noAnswer(name)))
    return Promise.race([look(name, type), late.promise]).finally(waiting.done)
  }
  return async (message) => {
    const { raw, envelope_from: sender, address } = message
    const head = findHead(raw)
    if (!head || isEndless(head)) return undecided('permerror')
    const late = Promise.withResolvers<void>()
    const waiting = patience.beginMessage(late.resolve)
    const lookInTime: DNSResolver = (name, type) =>
      Promise.race([look(name, type), late.promise.then(() => Promise.reject(noAnswer(name)))])
    const resolve: DNSResolver = (name, type) => (isOnFrom(message, name) ? lookForPolicy(name, type) : lookInTime(name, type))
    // What comes without a name, or with one that is none, is judged by its address.
    const helo = /^[\w.:[\]-]{1,255}$/.test(message.helo) ? message.helo : ''
    const judging: Promise<Judged> = isSigned(head)
      ? authenticate(raw, {
          ...{ sender, ...(address === null ? {} : { ip: address }), helo, mta: mailDomain },
          ...{ resolver: resolve, rejectRsaSha1: true, disableBimi: true },
        })
      : judgeUnsigned({ head, sender, address, helo, resolver: resolve })
    try {
      const result = await Promise.race([judging, late.promise.then(() => sleep(unendingMs, null))])
      return result ? verdictsOf(result, message) : undecided('temperror')
    } catch {
      // The parts that were to be judged could not be read: the same as if nobody had vouched for them.
      return undecided('permerror')
    } finally {
      waiting.done()
    }
  }
}

/** Without a signature nobody looks at the body; hashing it would be most of the work. */
const isSigned = (head: Buffer): boolean => /^(?:dkim-signature|arc-)/im.test(head.toString('latin1'))

const maxSignatures = 20
/** Strangers wrote these, too, and they are stored. */
const nameIn = (text: string | null | undefined): string => storable(text ?? '', 255)

function verdictsOf({ spf: asked, dkim, dmarc, arc }: Judged, { from, address }: ToJudge): Verdicts {
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
function authenticatedDomain({ spf, dkim, dmarc }: Omit<Judged, 'arc'>, from: Mailbox | null): string | null {
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
