import type { CaaProperty, DnsRecord, MailExchange, RecordData, RecordType, Reply } from './message.ts'
import { shownName } from './shown.ts'

/**
 * What a look-up found. `missing` is said by the zone: there is no such name, or none of that type. `trouble` is everything that says
 * nothing about the record: SERVFAIL, REFUSED, no answer in time.
 */
export type Answer<Value = string> = Found<Value> | { missing: 'nxdomain' | 'nodata' } | { trouble: string }

export interface Found<Value = string> {
  found: Value[]
  /** Seconds for which others may still be told the same; a zone's own server tells the full time. */
  ttl: number
  /** The names that the question was led on to by CNAME, first to last; none as a rule. */
  aliases: string[]
  /** The zone's own server said so: it is what is there now, and nobody's memory. */
  isFirstHand?: boolean
}

export interface LookUps {
  /** One text for each record: its strings are put together. */
  txt(name: string): Promise<Answer>
  /** Where the name points at; not followed. */
  cname(name: string): Promise<Answer>
  mx(name: string): Promise<Answer<MailExchange>>
  /** IPv4 first, then IPv6. */
  addresses(name: string): Promise<Answer>
  caa(name: string): Promise<Answer<CaaProperty>>
  ns(name: string): Promise<Answer>
}

export const isFound = <Value>(answer: Answer<Value>): answer is Found<Value> => 'found' in answer
export const isMissing = <Value>(answer: Answer<Value>): answer is { missing: 'nxdomain' | 'nodata' } => 'missing' in answer
export const isTrouble = <Value>(answer: Answer<Value>): answer is { trouble: string } => 'trouble' in answer

/** Asks some server for the records of a name. Throws when none answers. */
export type AskFor = (name: string, type: RecordType) => Promise<Reply & Pick<Found, 'isFirstHand'>>

const codes: Record<number, string> = { 1: 'FORMERR', 2: 'SERVFAIL', 4: 'NOTIMP', 5: 'REFUSED' }
const mostAliases = 8

export function createLookUps(askFor: AskFor): LookUps {
  const look = async <Type extends RecordType>(written: string, type: Type): Promise<Answer<RecordData[Type]>> => {
    let name = written.toLowerCase().replace(/\.$/, '')
    const aliases: string[] = []
    let isFirstHand = true
    try {
      for (;;) {
        const reply = await askFor(name, type)
        isFirstHand &&= reply.isFirstHand === true
        if (reply.code !== 0 && reply.code !== 3)
          return { trouble: `the name server answered ${codes[reply.code] ?? `with code ${reply.code}`} for ${shownName(name)}` }
        const { last, ttl } = followAliases(reply.answers, { name, type, aliases })
        const records = reply.answers.filter((record) => record.type === type && record.name === last)
        if (records.length > 0) {
          const found = records.map((record) => record.data as RecordData[Type])
          return { found, ttl: Math.min(ttl, ...records.map((record) => record.ttl)), aliases, ...(isFirstHand && { isFirstHand }) }
        }
        if (aliases.length > mostAliases) return { trouble: `${written} is led on by too many CNAME records` }
        // A zone's own server tells where a name is led, and not what is there.
        if (last !== name && reply.code === 0 && !saysNo(reply.authority)) {
          name = last
          continue
        }
        return { missing: reply.code === 3 ? 'nxdomain' : 'nodata' }
      }
    } catch (error) {
      return { trouble: (error as Error).message }
    }
  }
  return {
    txt: (name) => look(name, 'TXT'),
    cname: (name) => look(name, 'CNAME'),
    mx: (name) => look(name, 'MX'),
    caa: (name) => look(name, 'CAA'),
    ns: (name) => look(name, 'NS'),
    addresses: async (name) => mergeAddresses(await Promise.all([look(name, 'A'), look(name, 'AAAA')])),
  }
}

interface Following {
  name: string
  type: RecordType
  /** Added to. */
  aliases: string[]
}

function followAliases(answers: DnsRecord[], { name, type, aliases }: Following): { last: string; ttl: number } {
  let last = name
  let ttl = Number.POSITIVE_INFINITY
  while (type !== 'CNAME' && aliases.length <= mostAliases) {
    const next = answers.find((record) => record.type === 'CNAME' && record.name === last)
    if (!next) break
    last = (next.data as string).toLowerCase()
    ttl = Math.min(ttl, next.ttl)
    aliases.push(last)
  }
  return { last, ttl }
}

/** RFC 2308 section 2: a SOA beside an empty answer says that there is nothing. */
const saysNo = (authority: DnsRecord[]): boolean => authority.some(({ type }) => type === 'SOA')

/** Half an answer is one: many have no IPv6. Trouble with one of two that are not there is trouble. */
function mergeAddresses(answers: [Answer, Answer]): Answer {
  const found = answers.filter(isFound)
  const [first] = found
  if (first)
    return {
      found: found.flatMap((one) => one.found),
      ttl: Math.min(...found.map(({ ttl }) => ttl)),
      aliases: first.aliases,
      ...(found.every(({ isFirstHand }) => isFirstHand) && { isFirstHand: true }),
    }
  return answers.find(isTrouble) ?? answers[0]
}
