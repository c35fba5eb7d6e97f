import { isIP } from 'node:net'

/**
 * What limits count an address by: an IPv4 address itself; of an IPv6 one its first four groups, with the gap of `::` filled in,
 * because one subscriber line usually holds a whole /64.
 */
export function addressSubject(ip: string): string {
  if (!ip.includes(':') || ip.includes('.')) return `ip:${ip.replace(/^::ffff:/i, '')}`
  const [before = [], after = []] = ip.split('::').map((side) => side.split(':').filter(Boolean))
  const groups = [...before, ...Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0'), ...after]
  return `ip:${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}`
}

/** Where a request came from. A proxy may pass on something that is no address: then it counts for the proxy itself. */
export const addressOf = ({ ip, socket }: { ip: string; socket: { remoteAddress?: string | undefined } }): string =>
  isIP(ip) ? ip : (socket.remoteAddress ?? '')

export const peerOf = (request: Parameters<typeof addressOf>[0]): string => addressSubject(addressOf(request))
