const elsewhere = '/account'
const local = /^\/(?![/\\])[^\s\\\p{C}]{0,1999}$/u

/**
 * Where to go after signing in: a path of this site, never another one. Browsers take `//host`, `/\host` and both with a tab in between
 * for an address of somewhere else, so anything unusual leads to the account page.
 */
export function localPath(next: unknown): string {
  if (typeof next !== 'string' || !local.test(next)) return elsewhere
  const { origin, pathname, search } = new URL(next, 'http://here.invalid')
  const path = pathname + search
  // Dots are resolved by now: `/.//host` has become `//host`.
  return origin === 'http://here.invalid' && local.test(path) ? path : elsewhere
}
