import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isDeliveryTokenForm } from '../base/delivery-token.ts'
import { ApiError } from '../base/errors.ts'
import { type Html, html } from '../base/html.ts'
import { formatId, parseId } from '../base/ids.ts'
import {
  type AddressAnswer,
  askForAddress,
  askForData,
  changeSubscriptions,
  findPreferences,
  pauseMail,
  preferencesUrl,
} from '../features/preferences/index.ts'
import { canReturnTo, type Preferences, pauseDays, pausedUntil, type Subscription } from '../features/preferences/preferences.ts'
import { findLeaving } from '../features/recipients/index.ts'
import type { Services } from '../operations/context.ts'
import { email } from '../operations/schemas.ts'
import { acceptForms, fieldOf } from './forms.ts'
import { sendListPage } from './list-page.ts'
import { sendPage } from './page.ts'

interface WithToken {
  Params: { token: string }
}

/** What somebody gets from one sender, behind a link of their mail. Looking changes nothing; each form is one wish. */
export function addPreferencesPages(app: FastifyInstance, services: Services): void {
  acceptForms(app, services.config)
  const path = '/preferences/:token'

  app.get<WithToken>(path, async (request, reply) => {
    const { token } = request.params
    if (isDeliveryTokenForm(token)) return leadToPreferences(services, reply, token)
    return sendPreferences(services, reply, { preferences: await findPreferences(services, token), token })
  })

  app.post<WithToken>(`${path}/lists`, async (request, reply) => {
    const { token } = request.params
    return sendPreferences(services, reply, { token, ...(await saveLists(services, request, token)) })
  })

  app.post<WithToken>(`${path}/pause`, async (request, reply) => {
    const { token } = request.params
    const days = /^\d{1,3}$/.exec(fieldOf(request, 'days'))?.[0] ?? Number.NaN
    const preferences = await pauseMail(services, token, Number(days))
    return sendPreferences(services, reply, { preferences, token, note: 'Saved.' })
  })

  app.post<WithToken>(`${path}/address`, async (request, reply) => {
    const { token } = request.params
    const parsed = email.safeParse(fieldOf(request, 'email'))
    const asked = parsed.success ? await askForAddress(services, token, parsed.data) : null
    const said = asked === 'asked' ? { note: lookHere } : { problem: asked === null ? noAddress : hindrances[asked] }
    return sendPreferences(services, reply, { preferences: await findPreferences(services, token), token, ...said })
  })

  app.post<WithToken>(`${path}/data`, async (request, reply) => {
    const { token } = request.params
    const asked = await askForData(services, token)
    const preferences = asked === null ? null : await findPreferences(services, token)
    const said = asked
      ? { note: preferences?.is_suppressed ? linkSentAnyway(preferences) : linkSent }
      : { problem: 'We have sent you this link several times today. Look among the spam, or try again tomorrow.' }
    return sendPreferences(services, reply, { preferences, token, ...said })
  })
}

/** Newsletters name whom they are for by the token that they have anyway; the page's own names the person, and outlives what is known of the mail. */
async function leadToPreferences(services: Services, reply: FastifyReply, token: string): Promise<FastifyReply> {
  const leaving = await findLeaving(services, token)
  if (!leaving?.subscriber || leaving.has_moved) return sendPage(reply, 404, 'Link not valid', unknownLink)
  return reply.redirect(preferencesUrl(services, leaving.subscriber), 303)
}

async function saveLists(services: Services, request: FastifyRequest, token: string): Promise<Omit<Page, 'token'>> {
  try {
    const changed = await changeSubscriptions(services, token, { shown: listsIn(request, 'shown'), wanted: listsIn(request, 'list') })
    return { preferences: changed?.preferences ?? null, note: changed?.isAsked ? savedAndAsked : 'Saved.' }
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'rate_limited') throw error
    return { preferences: await findPreferences(services, token), problem: askedTooOften }
  }
}

const savedAndAsked = 'Saved. Look into your mailbox: to get a list once more, press the button behind the link that we have sent you.'
const askedTooOften = 'You have asked for a list several times. Look among the spam for our mail, or try again later.'
const lookHere =
  'Look into your mailbox, the one that you have now: we have sent you a link. Once you have agreed there, we ask the new one. Nothing changes before both have.'
const noAddress = 'This is not an e-mail address. Please check it.'
const hindrances: Record<Exclude<AddressAnswer, 'asked'>, string> = {
  throw_away: 'Please use an address that you keep: this one is thrown away soon.',
  same: 'It goes to this address already.',
  unreachable: 'No mail goes to your present address, so it cannot agree. Subscribe with the new one instead.',
  too_often: 'We have sent you a mail about this several times today. Look among the spam, or try again tomorrow.',
}
const linkSent = 'Look into your mailbox: we have sent you a link that shows and deletes what is known of you.'
const linkSentAnyway = ({ list }: Preferences): string =>
  `We have sent you a link that shows and deletes what is known of you, this one mail all the same. If it does not come, write to ${contactOf(list)}.`
const contactOf = ({ reply_to, mailbox_address }: Preferences['list']): string => reply_to ?? mailbox_address

const listsIn = ({ body }: FastifyRequest, name: string): Set<string> =>
  new Set((body instanceof URLSearchParams ? body.getAll(name) : []).flatMap((text) => parseId('lst', text) ?? []))

interface Page {
  /** Null when the link is nobody's. */
  preferences: Preferences | null
  token: string
  note?: string
  problem?: string
}

function sendPreferences(services: Services, reply: FastifyReply, { preferences, token, note, problem }: Page): FastifyReply {
  if (!preferences) return sendPage(reply, 404, 'Link not valid', unknownLink)
  const { list, subscriber, is_suppressed } = preferences
  const content = html`<h1>What you get</h1>
${note ? html`<p class="done" role="status">${note}</p>` : null}${problem ? html`<p class="wrong" role="alert">${problem}</p>` : null}
<p>For <strong>${subscriber.email}</strong>.</p>
${is_suppressed ? html`<p class="wrong">No mail goes to this address at the moment: it was reported as spam, or its mailbox refused our mail. Write to ${contactOf(list)} to change that.</p>` : null}
${listsForm(preferences, token)}${pauseForm(preferences, token, services.clock.now())}${is_suppressed ? null : addressForm(token)}${dataForm(token)}`
  return sendListPage(reply, { list, status: problem ? 422 : 200, title: `What you get: ${list.name}`, content })
}

function listsForm({ subscriptions, is_suppressed }: Preferences, token: string): Html {
  const lines = subscriptions.map((one) => {
    const id = formatId('lst', one.list_id)
    const isFixed = one.status !== 'active' && (is_suppressed || !canReturnTo(one))
    return html`<label class="choice"><input type="checkbox" name="list" value="${id}"${one.status === 'active' ? html` checked` : null}${isFixed ? html` disabled` : null}> <span>${one.name}${standing(one)}</span></label>
${isFixed ? null : html`<input type="hidden" name="shown" value="${id}">`}`
  })
  return html`<form method="post" action="/preferences/${token}/lists"><fieldset><legend>Lists</legend>${lines}</fieldset><button>Save</button></form>`
}

const standings: Record<Subscription['status'], string> = {
  active: '',
  pending: ' (not confirmed yet)',
  unsubscribed: '',
  bounced: ' (our mail came back)',
}
const standing = ({ status, type }: Subscription): string => `${type === 'waitlist' ? ' (waitlist)' : ''}${standings[status]}`

const dateOf = (date: Date): string => date.toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' })

function pauseForm(preferences: Preferences, token: string, now: Date): Html {
  if (!preferences.subscriptions.some(({ status }) => status === 'active')) return html``
  const until = pausedUntil(preferences, now)
  const action = `/preferences/${token}/pause`
  if (until)
    return html`<section class="part"><h2>Paused</h2><p>You stay subscribed, and get nothing before ${dateOf(until)}.</p>
<form method="post" action="${action}"><input type="hidden" name="days" value="0"><button class="quiet">Go on now</button></form></section>`
  const choices = pauseDays.map((days) => html`<option value="${days}">${days} days</option>`)
  return html`<section class="part"><h2>Take a break</h2><form method="post" action="${action}"><label for="days">You stay subscribed, and get nothing for</label>
<div class="inline"><select id="days" name="days">${choices}</select><button class="quiet">Pause</button></div></form></section>`
}

const addressForm = (token: string): Html =>
  html`<section class="part"><h2>Another address</h2><form method="post" action="/preferences/${token}/address"><label for="email">Send it all to</label>
<div class="inline"><input type="text" id="email" name="email" inputmode="email" autocomplete="email" autocapitalize="off" spellcheck="false" maxlength="320" required><button class="quiet">Change my address</button></div></form>
<p class="fine">We ask both mailboxes, first the one that you have now. You cannot read that one any more? Then subscribe with the new address.</p></section>`

const dataForm = (token: string): Html =>
  html`<section class="part"><h2>Your data</h2><p>See, download or delete what is known of you here. For that we send a link of its own to your mailbox.</p>
<form method="post" action="/preferences/${token}/data"><button class="quiet">Send me the link</button></form></section>`

export const unknownLink = html`<h1>This link is not valid</h1><p>It may have been cut off on its way, or you are not on the list any more. Copy the whole link from the mail, or use the one in a newer mail.</p>`
