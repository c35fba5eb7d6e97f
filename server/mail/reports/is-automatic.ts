import { mailSystemSender, otherAutomaticSubject } from './notice-rules.ts'

export type AutomaticKind = 'auto-reply' | 'list' | 'bounce' | 'none'

/** Names in any case; the envelope's sender as Return-Path, which is `<>` for what must not be answered. */
export interface HeaderField {
  name: string
  value: string
}

/** Fields that only machines write, and what in them says so. RFC 3834 section 5, and what is older than it. */
const machineFields: [name: RegExp, value: RegExp][] = [
  [/^auto-submitted$/, /^(?!no\b)\S/],
  [/^x-auto-?(?:reply|respond|response|generated|replied)(?:-from)?$/, /^(?!no\b)\S/],
  [/^x-autoreply-(?:from|sender|domain)$/, /\S/],
  [/^x-(?:mail-)?(?:autoresponder|autorespond)$/, /\S/],
  [/^x-auto-response-suppress$/, /all|autoreply|oof/],
  [/^precedence$/, /^(?:auto_?reply|junk)/],
  [/^x-precedence$/, /^auto_?reply/],
  [/^x-(?:vacation|ms-inbox-rules-loop|cron-env|fc-machinegenerated)$/, /\S/],
  [/^preference$/, /auto_?reply/],
]

/** What wrote this mail: nobody may answer a machine by machine (RFC 3834 section 2), and its words are no person's wish. */
export function automaticKind(headers: readonly HeaderField[]): AutomaticKind {
  const fields = headers.map(({ name, value }) => ({ name: name.toLowerCase(), value: value.trim().slice(0, 500) }))
  const has = (name: RegExp, value: RegExp) => fields.some((field) => name.test(field.name) && value.test(field.value.toLowerCase()))
  const from = fields.find(({ name }) => name === 'from')?.value ?? ''
  const sender = `${/<([^<>]*)>/.exec(from)?.[1] ?? from} ${from}`

  const isReport = has(/^content-type$/, /^multipart\/report\b/) || has(/^x-failed-recipients$/, /\S/)
  if (isReport || mailSystemSender.test(sender)) return 'bounce'
  if (
    has(/^list-(?:id|unsubscribe|post|help|subscribe|owner|archive)$/, /\S/) ||
    has(/^precedence$/, /^(?:list|bulk)/) ||
    has(/^(?:mailing-list|x-mailing-list|x-beenthere)$/, /\S/)
  )
    return 'list'
  if (machineFields.some(([name, value]) => has(name, value)) || has(/^subject$/, otherAutomaticSubject)) return 'auto-reply'
  return has(/^return-path$/, /^<\s*>$/) ? 'bounce' : 'none'
}
