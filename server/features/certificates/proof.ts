import { type Dns, isFound, shown } from '../../dns/index.ts'

/** Whether the authority would find what it is told to look for; if not, why, in words for the owner. */
export type Readiness = { isReady: true } | { isReady: false; reason: string }

const ready: Readiness = { isReady: true }
const notYet = (reason: string): Readiness => ({ isReady: false, reason })

/** Asked before the authority is: a check that fails there counts against the host. */
export async function leadsHere(dns: Dns, host: string, target: string | null): Promise<Readiness> {
  const own = await dns.authoritative(host).addresses(host)
  if ('trouble' in own) return notYet(`DNS cannot say where ${host} is: ${own.trouble}.`)
  if (!isFound(own)) return notYet(`${host} has no address in DNS yet.`)
  if (target === null || own.aliases.includes(target)) return ready
  const ours = await dns.addresses(target)
  // Whoever set the target up wrongly has trouble with all hosts, and the authority tells them which.
  if (!isFound(ours)) return ready
  return own.found.some((address) => ours.found.includes(address))
    ? ready
    : notYet(`${host} leads to ${own.found.slice(0, 3).join(', ')}, and not to ${target}.`)
}

export async function hasChallengeRecord(dns: Dns, host: string, value: string): Promise<Readiness> {
  const name = `_acme-challenge.${host}`
  const answer = await dns.authoritative(host).txt(name)
  if ('trouble' in answer) return notYet(`DNS cannot say what is at ${name}: ${answer.trouble}.`)
  if (!isFound(answer)) return notYet(`There is no TXT record at ${name} yet.`)
  if (answer.found.includes(value)) return ready
  return notYet(`The TXT record at ${name} has another value: ${shown(answer.found[0] ?? '')}.`)
}
