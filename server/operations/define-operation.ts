import type { Readable } from 'node:stream'
import { z } from 'zod'
import type { ErrorCode } from '../base/errors.ts'
import type { Context, OpenContext, Scope } from './context.ts'
import type { Page } from './page.ts'

/**
 * One operation is one object: its contract, and the rule that fulfils it. REST routes, openapi.json, scope checks and the audit
 * row all come from here; nothing about access is written in the body of `run`.
 */
interface Contract {
  /** `lists.create`: the noun is the tag in the documents, the whole is the audit log's word for it. */
  id: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: `/${string}`
  /** `api` paths hang below `/v1`; `identity` paths stand at the root of AUTH_URL. */
  base?: 'api' | 'identity'
  /** `any`: every valid credential will do. `none`: none is needed. */
  scope: Scope | 'any' | 'none'
  /** A key bound to one mailbox is refused unless the operation says otherwise. */
  mailboxKeys?: 'refused' | 'allowed'
  /** An agent without the scope may still ask, for the mailbox that it was given; the rule holds it to that. */
  agentMailbox?: 'refused' | 'allowed'
  /** Reaches beyond the project, for the person behind the credential: lesser keys and apps are refused. */
  actsForPerson?: boolean
  /** May be paid for and repeated: takes Idempotency-Key and Payment-Authorization, and can answer 402 with a challenge. */
  isPayable?: boolean
  summary: string
  description?: string
  status: 200 | 201 | 202 | 204
  /** Beside those that any operation can answer (401, 403, 422 for bad input, 429, 503). */
  errors: ErrorCode[]
  /** Largest body in bytes; 1 MiB unless said. */
  bodyLimit?: number
  /** Another path does the same, and should be used. */
  deprecated?: { since: Date; successor: `/${string}` }
}

export interface Input<Params, Query, Body> {
  params: Params
  query: Query
  body: Body
}

const none = z.object({})
type None = typeof none

type Result<R extends z.ZodType> = z.output<R> extends (infer Item)[] ? Item[] | Page<Item> : z.output<R> | Answer<z.output<R>>

/** A result with something to say beside it: that nothing was done again (200), or that a payment was taken. */
export class Answer<Value> {
  readonly value: Value
  readonly isRepeat: boolean
  /** The Payment-Receipt, encoded. */
  readonly receipt: string | null
  constructor(value: Value, { isRepeat = false, receipt = null }: { isRepeat?: boolean; receipt?: string | null }) {
    this.value = value
    this.isRepeat = isRepeat
    this.receipt = receipt
  }
}

interface Shape<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType, R extends z.ZodType> extends Contract {
  scope: Scope | 'any'
  params?: P
  query?: Q
  body?: B
  /** The answer is serialised from this schema, so an undeclared field cannot leak. Left out for 204. */
  result?: R
  run(context: Context, input: Input<z.output<P>, z.output<Q>, z.output<B>>): Promise<Result<R>>
  /** The same operation with a streamed text/csv body, for what does not fit in memory. */
  csv?: { about: string; run(context: Context, input: Input<z.output<P>, z.output<Q>, Readable>): Promise<Result<R>> }
}

export interface Operation extends Contract {
  base: 'api' | 'identity'
  mailboxKeys: 'refused' | 'allowed'
  agentMailbox: 'refused' | 'allowed'
  actsForPerson: boolean
  isPayable: boolean
  /** Answers are `{ ok: true, data }` and `{ ok: false, error }`. */
  isEnveloped: boolean
  params: z.ZodObject
  query: z.ZodObject
  body: z.ZodType | null
  result: z.ZodType | null
  run(context: Context, input: Input<unknown, unknown, unknown>): Promise<unknown>
  csv: { about: string; run(context: Context, input: Input<unknown, unknown, Readable>): Promise<unknown> } | null
}

export const defineOperation = <
  P extends z.ZodObject = None,
  Q extends z.ZodObject = None,
  B extends z.ZodType = z.ZodUndefined,
  R extends z.ZodType = z.ZodVoid,
>(
  shape: Shape<P, Q, B, R>,
): Operation =>
  ({
    base: 'api',
    mailboxKeys: 'refused',
    agentMailbox: 'refused',
    actsForPerson: false,
    isPayable: false,
    isEnveloped: false,
    ...shape,
    params: shape.params ?? none,
    query: shape.query ?? none,
    body: shape.body ?? null,
    result: shape.result ?? null,
    csv: shape.csv ?? null,
  }) as Operation

interface OpenShape<B extends z.ZodType, R extends z.ZodType> extends Omit<Contract, 'scope' | 'base' | 'mailboxKeys'> {
  body: B
  result: R
  run(context: OpenContext, input: Input<unknown, unknown, z.output<B>>): Promise<z.output<R>>
}

/** An operation of the agent endpoints: no credential, at the root of AUTH_URL, answers in the envelope `{ ok, data }`. */
export const defineAgentOperation = <B extends z.ZodType, R extends z.ZodType>(shape: OpenShape<B, R>): Operation =>
  ({
    base: 'identity',
    scope: 'none',
    mailboxKeys: 'allowed',
    agentMailbox: 'allowed',
    actsForPerson: false,
    isPayable: false,
    ...shape,
    isEnveloped: true,
    params: none,
    query: none,
    csv: null,
  }) as unknown as Operation

/** What a download operation's `run` answers, in place of JSON. */
export interface Download {
  filename: string
  stream: Readable
}

/** `result: csvDownload`: the answer is a streamed text/csv file. */
export const csvDownload = z.custom<Download>()

/** What an operation with a file for its result answers. */
export interface FileAnswer {
  content_type: string
  headers: Record<string, string>
  body: Buffer | Readable
}

const contentTypes = new WeakMap<z.ZodType, string>()

/** `result: fileOf('message/rfc822')`: the answer is no JSON but a file, or a stream. The type is for the documents. */
export function fileOf(contentType: string) {
  const schema = z.custom<FileAnswer>()
  contentTypes.set(schema, contentType)
  return schema
}

/** The type of the files that an operation answers with; null for one that answers with JSON. */
export const fileTypeOf = ({ result }: Pick<Operation, 'result'>): string | null =>
  result === csvDownload ? 'text/csv' : ((result && contentTypes.get(result)) ?? null)
