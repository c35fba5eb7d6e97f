/** Letters, digits and dashes between slashes: a key can be a path and part of an address as it is, and leads out of neither. */
const keyShape = /^[a-z\d-]{1,64}(?:\/[a-z\d-]{1,64})+$/
const prefixShape = /^(?:[a-z\d-]{1,64}\/){2,8}$/

export function checkKey(key: string): string {
  if (!keyShape.test(key)) throw new Error(`"${key}" is no key of the blob store`)
  return key
}

/** Two parts at least: a prefix that says less would take everybody's. */
export function checkPrefix(prefix: string): string {
  if (!prefixShape.test(prefix)) throw new Error(`"${prefix}" is no prefix of keys in the blob store`)
  return prefix
}
