import { BlockList, isIP, isIPv6 } from 'node:net'

/** Whether an address is one of these: `192.0.2.1`, `10.0.0.0/8`, `2001:db8::/32`. */
export function createNetworks(written: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const one of written) {
    const [net = '', bits] = one.split('/')
    const family = isIPv6(net) ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(net, family)
    else list.addSubnet(net, Number(bits), family)
  }
  return (address) => isIP(address) !== 0 && list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}
