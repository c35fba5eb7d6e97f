import type { DeliveryPurpose, DeliveryTokens } from '../../base/delivery-token.ts'
import { escapeHtml } from '../../base/html.ts'
import { asText, liquidTemplate, type Mode, type Scope } from './liquid.ts'
import { liquidSource, type Tag, type Variable } from './merge-tags.ts'
import { fieldOf, type PostSource } from './post-source.ts'
import type { TemplateField } from './template-error.ts'

export interface Recipient {
  /** Opaque, of letters that a URL and a local part may have: they name the delivery in every link, and in the return path. */
  tokens: DeliveryTokens
  email: string
  name: string | null
  /** With its domain, or without: then the frame's is added. */
  message_id: string
  /** What merge tags may say beside email, name and first_name: `{ contact: { metadata: … } }`. */
  values: Record<string, unknown>
}

/** A URL or address of ours with the recipient's token in it: what stands before the token, and what after. */
export type TokenText = readonly [before: string, after: string]

export function tokenText(template: string): TokenText {
  const pieces = template.split('{token}')
  if (pieces.length !== 2) throw new Error(`${template} must have {token} in it, once`)
  return pieces as unknown as TokenText
}

/** What is the same for every reader of a post, and can be named in a merge tag. */
export interface Fixed {
  unsubscribe: TokenText
  /** Has the same token: whoever may unsubscribe somebody may as well say what they get. */
  preferences: TokenText
  list_name: string
  postal_address: string
}

/** One template of a post, compiled: a row of fixed texts and slots, or Liquid when it needs logic. Plain data, kept with the broadcast. */
export type Part = Slots | { kind: 'logic'; field: TemplateField; mode: Mode; source: string }
/** The same, ready to be filled. */
export type OpenPart = Slots | { kind: 'logic'; render(scope: Scope): string }
interface Slots {
  kind: 'slots'
  pieces: Piece[]
}
export type Piece = string | Slot
export type Slot = { kind: 'token'; purpose: DeliveryPurpose } | { kind: 'variable'; variable: Variable; mode: Mode }

export interface PartSource {
  field: TemplateField
  pieces: (string | Tag)[]
  mode: Mode
}

export function makePart(source: PartSource, fixed: Fixed): Part {
  const { field, pieces, mode } = source
  if (needsLogic(pieces)) return { kind: 'logic', field, mode, source: liquidSource(pieces) }
  return { kind: 'slots', pieces: joined(pieces.flatMap((piece) => toPieces(piece, mode, fixed))) }
}

export const needsLogic = (pieces: (string | Tag)[]): boolean =>
  pieces.some((piece) => typeof piece !== 'string' && (piece.kind === 'output' || piece.kind === 'control'))

/** `written` is the post as its author wrote it, to say where an error is. */
export const openPart = (part: Part, written: PostSource): OpenPart =>
  part.kind === 'slots' ? part : { kind: 'logic', render: liquidTemplate({ ...part, original: fieldOf(written, part.field) }) }

function toPieces(piece: string | Tag, mode: Mode, fixed: Fixed): Piece[] {
  if (typeof piece === 'string') return [piece]
  if (piece.kind === 'literal') return [piece.text]
  if (piece.kind === 'token') return [{ kind: 'token', purpose: piece.purpose }]
  if (piece.kind !== 'variable') throw new Error(`${piece.source} needs logic`)
  const escaped = (text: string): string => (mode === 'html' ? escapeHtml(text) : text)
  const { path, otherwise } = piece.variable
  const [name] = path
  if (path.length === 1) {
    if (name === 'unsubscribe_url' || name === 'preferences_url') {
      const [before, after] = name === 'unsubscribe_url' ? fixed.unsubscribe : fixed.preferences
      return [escaped(before), { kind: 'token', purpose: 'unsubscribe' }, escaped(after)]
    }
    if (name === 'list_name' || name === 'postal_address') return [escaped(fixed[name] || (otherwise ?? ''))]
  }
  return [{ kind: 'variable', variable: piece.variable, mode }]
}

/** Neighbouring fixed texts become one. */
function joined(pieces: Piece[]): Piece[] {
  const result: Piece[] = []
  for (const piece of pieces) {
    const last = result.at(-1)
    if (piece === '') continue
    if (typeof piece === 'string' && typeof last === 'string') result[result.length - 1] = last + piece
    else result.push(piece)
  }
  return result
}

/** The whole part as text, for one recipient. */
export function textOf(part: OpenPart, recipient: Recipient, fixed: Fixed): string {
  if (part.kind === 'logic') return part.render(scopeOf(recipient, fixed))
  return part.pieces.map((piece) => (typeof piece === 'string' ? piece : slotText(piece, recipient))).join('')
}

export function slotText(slot: Slot, recipient: Recipient): string {
  if (slot.kind === 'token') return recipient.tokens[slot.purpose]
  const value = lookUp(slot.variable.path, recipient)
  const text = slot.variable.otherwise !== null && isMissing(value) ? slot.variable.otherwise : asText(value)
  return slot.mode === 'html' ? escapeHtml(text) : text
}

/** When Liquid's `default` steps in. */
const isMissing = (value: unknown): boolean =>
  value === undefined || value === null || value === false || ((typeof value === 'string' || Array.isArray(value)) && value.length === 0)

function lookUp(path: string[], recipient: Recipient): unknown {
  const name = path[0] as string
  const own = ownValue(name, recipient)
  let value = own === undefined ? property(recipient.values, name) : own
  for (let at = 1; at < path.length; at++) value = property(value, path[at] as string)
  return value
}

const property = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined

/** What the recipient itself answers for; undefined leaves it to the values. */
function ownValue(name: string, recipient: Recipient): unknown {
  if (name === 'email') return recipient.email
  if (name === 'name') return recipient.name
  if (name === 'first_name') return firstName(recipient)
  return undefined
}

const firstName = ({ name, values }: Recipient): unknown => values.first_name ?? (name === null ? null : (/\S+/.exec(name)?.[0] ?? null))

/** What Liquid sees: the same names with the same meaning. */
const scopeOf = (recipient: Recipient, fixed: Fixed): Scope => ({
  ...recipient.values,
  email: recipient.email,
  name: recipient.name,
  first_name: firstName(recipient),
  unsubscribe_url: `${fixed.unsubscribe[0]}${recipient.tokens.unsubscribe}${fixed.unsubscribe[1]}`,
  preferences_url: `${fixed.preferences[0]}${recipient.tokens.unsubscribe}${fixed.preferences[1]}`,
  list_name: fixed.list_name,
  postal_address: fixed.postal_address,
  delivery_token: { click: recipient.tokens.click, open: recipient.tokens.open },
})
