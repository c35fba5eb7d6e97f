import { BlockList, isIPv6 } from 'node:net'

/** The registries of special-purpose addresses (RFC 6890 and its successors): this machine, private networks, documentation, multicast. */
const special = new BlockList()
for (const range of [
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24',
  // Not in the registry, but only an Azure machine can reach it, and there it is the platform itself.
  '168.63.129.16/32',
  '192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4',
].flatMap((line) => line.split(' ')))
  special.addSubnet(...subnetOf(range), 'ipv4')
for (const range of [
  '::/96 ::ffff:0:0:0/96 2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20',
  // Only 2000::/3 is given out (RFC 4291 section 2.4): what is beside it is special, unused, or somebody's own network.
  '1::/16 2::/15 4::/14 8::/13 10::/12 20::/11 40::/10 80::/9 100::/8 200::/7 400::/6 800::/5 1000::/4 4000::/2 8000::/1',
].flatMap((line) => line.split(' ')))
  special.addSubnet(...subnetOf(range), 'ipv6')

function subnetOf(range: string): [string, number] {
  const [net, bits] = range.split('/') as [string, string]
  return [net, Number(bits)]
}

/** Whether an IP address is one of the open internet. An IPv4 address in the clothes of an IPv6 one counts as what it is. */
export const isPublicAddress = (ip: string): boolean => !special.check(ip, isIPv6(ip) ? 'ipv6' : 'ipv4')
