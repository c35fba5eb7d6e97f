import { isIP } from 'node:net'
import type { Config } from '../../base/config.ts'

type Places = Pick<Config, 'PUBLIC_URL' | 'SITES_AT'>

/**
 * Where a list's site is without a domain of its own: a subdomain of this installation, or a path where there is none (no such names in
 * DNS, or an IP address). The path works everywhere.
 */
export function defaultSiteUrl({ PUBLIC_URL, SITES_AT }: Places, subdomain: string): string {
  const url = new URL(PUBLIC_URL)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  return SITES_AT === 'path' || isIP(host) ? `${PUBLIC_URL}/s/${subdomain}` : `${url.protocol}//${subdomain}.${url.host}`
}

/** The one address of a site that readers, search engines and feeds are told: its own domain, once that is live. */
export const canonicalUrl = (config: Places, site: { subdomain: string; domain: string | null }): string =>
  site.domain === null ? defaultSiteUrl(config, site.subdomain) : `https://${site.domain}`
