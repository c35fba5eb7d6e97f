import type { FastifyRequest } from 'fastify'
import { type Html, html } from '../../base/html.ts'
import type { Services } from '../../operations/context.ts'
import { fieldOf } from '../forms.ts'

type Needs = Pick<Services, 'secrets' | 'clock'>

const quickestMs = 2_000
const longestMs = 24 * 3_600_000

/** When a form was made, signed: goes along with it as `shown`. On a page that is kept this was some time ago, and traps only what is old. */
export function stampOf({ secrets, clock }: Needs): string {
  const time = Buffer.alloc(8)
  time.writeBigUInt64BE(BigInt(clock.now().getTime()))
  return secrets.sign('join_form', time)
}

/** Nobody reads and types that fast, and nobody thinks about it for days. */
export function isTimely({ secrets, clock }: Needs, stamp: string): boolean {
  const time = secrets.verify('join_form', stamp)
  if (time?.length !== 8) return false
  const age = clock.now().getTime() - Number(time.readBigUInt64BE())
  return age >= quickestMs && age <= longestMs
}

/** People do not see it, and programs fill in whatever they find. `id` sets it apart where a page has several forms. */
export const emptyField = (id = 'website'): Html =>
  html`<p hidden><label for="${id}">Leave this empty</label><input type="text" id="${id}" name="website" tabindex="-1" autocomplete="off"></p>`

export const isTrapped = (request: FastifyRequest): boolean => fieldOf(request, 'website') !== ''
