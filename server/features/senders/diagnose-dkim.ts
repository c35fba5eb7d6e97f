import { type Found, isFound, isTrouble } from '../../dns/index.ts'
import {
  conflict,
  doubledName,
  type Finding,
  found,
  mayBeOld,
  missing,
  shortName,
  shown,
  unknown,
  valuesOf,
  wrong,
} from '../dns-records/index.ts'
import type { SenderCase } from './records.ts'
import { commonSelectors } from './survey.ts'

interface PublicKey {
  /** Without its spaces, which mean nothing (RFC 6376 section 3.2); null where there is no p=. */
  p: string | null
  k: string
}

export function diagnoseDkim(given: SenderCase): Finding {
  const { record, answers } = given
  const answer = answers[`TXT ${record.name}`]
  if (!answer) return missing(`TXT ${record.name} was not looked for yet.`)
  if (isTrouble(answer)) return unknown(record, answer)
  return isFound(answer) ? judge(given, answer) : findElsewhere(given)
}

function judge(given: SenderCase, answer: Found): Finding {
  const { record } = given
  const keys = answer.found.filter((text) => keyIn(text).p !== null)
  const ours = answer.found.find((text) => isSame(keyIn(text), keyIn(record.value)))
  if (ours !== undefined) {
    // RFC 6376 section 3.6.2.2: what happens then is undefined.
    if (keys.length > 1)
      return conflict(`TXT ${record.name} has ${keys.length} keys, and receivers take either. Remove all but ours.${mayBeOld(answer)}`)
    const flaw = flawIn(ours)
    return flaw === null ? found : wrong(`TXT ${record.name} ${flaw} Enter the value as it is given.${mayBeOld(answer)}`)
  }
  if (isSplit(answer.found, record.value))
    return wrong(
      `TXT ${record.name} is spread over ${answer.found.length} records. It has to be one record; within it the value may be in several strings, "…" "…".`,
    )
  const seen = answer.found.find((text) => keyIn(text).p !== null) ?? (answer.found[0] as string)
  return wrong(`TXT ${record.name} ${mistakeIn(seen, given)}${mayBeOld(answer)}`)
}

/** What comes after "The record …". */
function mistakeIn(seen: string, { record, wanted }: SenderCase): string {
  const ours = keyIn(record.value).p as string // our own value has one
  if (/["“”„]/.test(seen)) return 'has quotation marks inside its value. Enter the value without them.'
  if (seen.includes('\\')) return 'has backslashes inside its value. Enter the value without them.'
  const { p, k } = keyIn(seen)
  if (p === null)
    return seen.replace(/\s/g, '').includes(ours)
      ? `lacks its beginning: it has to begin with ${record.value.slice(0, record.value.indexOf('p=') + 2)}`
      : `says ${shown(seen)}, which is no key. Enter the value as it is given.`
  if (p === '') return 'has nothing after p=, which means that the key was withdrawn. Enter the value as it is given.'
  const other = wanted.find((one) => one.kind === 'dkim' && one !== record && isSame(keyIn(seen), keyIn(one.value)))
  if (other) return `has the value that belongs to ${other.name}. The two are swapped.`
  if (p === ours) return `says k=${k}; it has to be ${keyIn(record.value).k}. Enter the value as it is given.`
  if (ours.startsWith(p))
    return `is cut off after ${seen.length} characters of ${record.value.length}. If your provider takes only 255 at once, split the value into two strings of one record.`
  if (lacksMiddle(p, ours)) return 'lacks a piece in its middle, as happens when one of its strings is lost. Enter the whole value.'
  return `has another key, ${shown(seen)}. Replace it with the value as it is given.`
}

/** Names and values without their spaces, which mean nothing between them, in the order in which they are written. */
const tagsIn = (text: string): [name: string, value: string][] =>
  text
    .replace(/\s+/g, '')
    .split(';')
    .filter((tag) => tag !== '')
    .map((tag) => [tag.split('=', 1)[0] ?? '', tag.slice(tag.indexOf('=') + 1)])

function keyIn(text: string): PublicKey {
  const tags = new Map(tagsIn(text).map(([name, value]) => [name.toLowerCase(), value]))
  return { p: tags.get('p') ?? null, k: tags.get('k')?.toLowerCase() || 'rsa' }
}

/** Why receivers do not take a key that is ours (RFC 6376 sections 3.2 and 3.6.1); null when they do. */
function flawIn(text: string): string | null {
  const tags = tagsIn(text)
  const names = tags.map(([name]) => name)
  const said = (name: string) => tags.find((tag) => tag[0] === name)?.[1]
  const lists = (name: string, ...known: string[]) =>
    said(name)
      ?.split(':')
      .some((one) => known.includes(one)) ?? true
  const capital = names.find((name) => /^[VKPHS]$/.test(name))
  if (capital !== undefined) return `has ${capital}= with a capital letter, which receivers do not know.`
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) return `has ${shown(`${twice}=`)} twice, and receivers then take none of it.`
  if (names.indexOf('v') > 0) return 'does not begin with v=DKIM1, which has to come first.'
  if ((said('v') ?? 'DKIM1') !== 'DKIM1') return `says v=${shown(said('v') as string)}; it has to be DKIM1.`
  if (!lists('h', 'sha256')) return `says h=${shown(said('h') as string)}, which allows no signature of ours, by sha256.`
  if (!lists('s', '*', 'email')) return `says s=${shown(said('s') as string)}, which makes it no key for e-mail.`
  return null
}

/** t=y: receivers may treat what is signed with it as if it were not. */
export const isOnTrial = (text: string): boolean => tagsIn(text).some(([name, value]) => name === 't' && value.split(':').includes('y'))

const isSame = (one: PublicKey, other: PublicKey): boolean => one.p === other.p && one.k === other.k

/** Two or three records that together are the one. */
function isSplit(texts: string[], value: string): boolean {
  if (texts.length < 2 || texts.length > 3) return false
  const plain = (text: string) => text.replace(/["\s]/g, '')
  return orders(texts).some((order) => plain(order.join('')) === plain(value))
}

const orders = (texts: string[]): string[][] =>
  texts.length < 2 ? [texts] : texts.flatMap((first, index) => orders(texts.toSpliced(index, 1)).map((rest) => [first, ...rest]))

function lacksMiddle(p: string, ours: string): boolean {
  if (p.length >= ours.length || p.length < 32) return false
  let same = 0
  while (p[same] === ours[same] && same < p.length) same++
  return same >= 16 && ours.endsWith(p.slice(same))
}

function findElsewhere(given: SenderCase): Finding {
  const { domain, record, wanted, answers } = given
  const { name } = record
  const isAt = (place: string) => valuesOf(answers, `TXT ${place}`).some((text) => isSame(keyIn(text), keyIn(record.value)))
  if (isAt(`${name}.${domain}`)) return doubledName(given)
  if (isAt(domain))
    return wrong(`The value of TXT ${name} is at ${domain} itself. Change the name of that record to ${shortName(name, domain)}.`)
  if (isAt(name.replace('._domainkey.', '.domainkey.'))) return wrong(`The name of TXT ${name} lacks the underscore before domainkey.`)
  const selector = name.slice(0, name.indexOf('.'))
  const places = [`${selector}.${domain}`, ...commonSelectors.map((one) => `${one}_domainkey.${domain}`), ...wanted.map((one) => one.name)]
  const place = places.find((one) => one !== name && isAt(one))
  if (place) return wrong(`The value of TXT ${name} is at ${place}, under another selector. Change the name to ${shortName(name, domain)}.`)
  const [target] = valuesOf(answers, `CNAME ${name}`)
  if (target !== undefined)
    return wrong(`At ${name} there is a CNAME to ${shown(target)}, where nothing is. Replace it with the TXT record.`)
  return missing(`TXT ${name} is not there yet.`)
}
