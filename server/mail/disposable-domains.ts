import { readFileSync } from 'node:fs'

/** One domain a line; those that hand out mailboxes for minutes to anybody. */
const known = new Set(
  readFileSync(new URL('disposable-domains.txt', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#')),
)

/** A throw-away address, also below such a domain. `email_key` has its domain in lower-case A-labels. */
export function isDisposable(email_key: string, more: readonly string[]): boolean {
  const labels = email_key.slice(email_key.lastIndexOf('@') + 1).split('.')
  return labels.some((_, index) => {
    const domain = labels.slice(index).join('.')
    return known.has(domain) || more.includes(domain)
  })
}
