import { isIP } from 'node:net'
import type { Config } from '../../base/config.ts'
import { isLocalUrl } from '../../base/local-url.ts'
import type { Services } from '../../operations/context.ts'
import { deleteOtherOwn, upsertCertificate } from './certificate-queries.ts'
import { checkCertificate } from './order-certificate.ts'

/** Null for an address that no authority certifies, or that is not served over TLS. */
function secureHostOf(url: string): string | null {
  const { protocol, hostname } = new URL(url)
  const host = hostname.toLowerCase().replace(/\.$/, '')
  const isName = host.includes('.') && isIP(host.replace(/^\[|\]$/g, '')) === 0
  return protocol === 'https:' && isName && !isLocalUrl(url) ? host : null
}

/** The host that the sites of lists are below. */
export const mainHost = ({ PUBLIC_URL }: Pick<Config, 'PUBLIC_URL'>): string | null => secureHostOf(PUBLIC_URL)

/** The hosts that the world reaches this installation at over TLS. */
export const ownHosts = ({ PUBLIC_URL, API_URL, AUTH_URL, MCP_URL }: Config): string[] => [
  ...new Set([PUBLIC_URL, API_URL, AUTH_URL, MCP_URL].map(secureHostOf).filter((host) => host !== null)),
]

/** They get certificates without anybody asking; those that the settings do not name any more lose theirs. A start is as good as a "check". */
export async function keepOwnHosts({ database, config }: Pick<Services, 'database' | 'config'>): Promise<void> {
  const hosts = ownHosts(config)
  await database.transaction(async (tx) => {
    await deleteOtherOwn(tx, hosts)
    for (const host of hosts) {
      await upsertCertificate(tx, { project_id: null, host, target: null, challenges: ['http-01'] })
      await checkCertificate(tx, { project_id: null, host })
    }
  })
}
