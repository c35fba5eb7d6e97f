import type { Resolver } from 'node:dns/promises'
import { isIPv6 } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Refusal } from './refusal.ts'

/** A list that does not answer in time lists nobody: mail does not stop because somebody's name server has. */
const answerMs = 3_000

/** Asks all lists at once (RFC 5782) and answers with the refusal that names the first that has the address. */
export async function findListing(resolver: Resolver, lists: string[], address: string): Promise<Refusal | null> {
  const name = reversed(address)
  const asked = lists.map(async (list) => ((await isListed(resolver, `${name}.${list}`)) ? list : null))
  const found = (await Promise.race([Promise.all(asked), sleep(answerMs, [], { ref: false })])).find((list) => list !== null)
  return found ? { code: 554, enhanced: '5.7.1', text: `Your address ${address} is on the list of ${found}` } : null
}

async function isListed(resolver: Resolver, name: string): Promise<boolean> {
  const answers = await resolver.resolve4(name).catch(() => [])
  // Lists answer within 127.0.0.0/8. 127.255.255.0/24 is how they say that they do not answer us, and anything else is a parked domain.
  return answers.some((answer) => answer.startsWith('127.') && !answer.startsWith('127.255.255.'))
}

function reversed(address: string): string {
  if (!isIPv6(address)) return address.split('.').reverse().join('.')
  const [before = [], after = []] = address.split('::').map((side) => side.split(':').filter(Boolean))
  const groups = [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after]
  return [...groups.map((group) => group.padStart(4, '0')).join('')].reverse().join('.')
}
