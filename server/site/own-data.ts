import type { FastifyInstance, FastifyReply } from 'fastify'
import { ApiError } from '../base/errors.ts'
import { type Html, html } from '../base/html.ts'
import type { AddressChange, OwnData } from '../features/preferences/index.ts'
import {
  agreeToAddress,
  changeAddress,
  eraseOwnData,
  exportOwnData,
  findAddressChange,
  findAgreement,
  findOwnData,
} from '../features/preferences/index.ts'
import type { Services } from '../operations/context.ts'
import { acceptForms, fieldOf } from './forms.ts'
import { sendListPage } from './list-page.ts'
import { sendPage } from './page.ts'
import { unknownLink } from './preferences.ts'
import { atSameTime } from './same-time.ts'

interface WithToken {
  Params: { token: string }
}

/** Behind the links that preferences send by mail, each for one thing and for a day: another address, and what is known of somebody. */
export function addOwnDataPages(app: FastifyInstance, services: Services): void {
  acceptForms(app, services.config)
  addAgreementPages(app, services)
  addAddressPages(app, services)
  const path = '/preferences/data/:token'

  app.get<WithToken>(path, async (request, reply) => {
    const own = await findOwnData(services, request.params.token)
    if (!own) return sendPage(reply, 404, 'Link not valid', unknownLink)
    const content = own.isOpen ? choices(own, request.params.token) : ended
    return sendListPage(reply, { list: own.list, status: own.isOpen ? 200 : 410, title: `Your data: ${own.list.name}`, content })
  })

  app.post<WithToken>(`${path}/download`, async (request, reply) => {
    const file = await exportOwnData(services, request.params.token)
    if (!file) return sendPage(reply, 410, 'Link not valid', ended)
    return reply
      .type('application/json; charset=utf-8')
      .headers({ 'content-disposition': 'attachment; filename="my-data.json"', 'cache-control': 'no-store' })
      .send(file)
  })

  app.post<WithToken>(`${path}/delete`, async (request, reply) => {
    const { token } = request.params
    const own = await findOwnData(services, token)
    if (own?.isOpen && fieldOf(request, 'sure') !== 'yes')
      return sendListPage(reply, { list: own.list, status: 422, title: 'Your data', content: choices(own, token, unsure) })
    const erased = await eraseOwnData(services, token)
    if (!erased) return sendPage(reply, 410, 'Link not valid', ended)
    return sendListPage(reply, { list: erased.list, title: 'Deleted', content: deleted(erased) })
  })
}

/** The mailbox that has the mail now is asked whether it may go elsewhere. */
function addAgreementPages(app: FastifyInstance, services: Services): void {
  const path = '/preferences/agree/:token'

  app.get<WithToken>(path, async (request, reply) => {
    const change = await findAgreement(services, request.params.token)
    if (!change) return sendPage(reply, 404, 'Link not valid', unknownLink)
    if (change.state !== 'open') return sendChanged(reply, change)
    return sendListPage(reply, { list: change.list, title: `Another address: ${change.list.name}`, content: agreeing(change) })
  })

  app.post<WithToken>(path, async (request, reply) => {
    const { token } = request.params
    try {
      const change = await atSameTime(agreeToAddress(services, token))
      if (!change) return sendPage(reply, 404, 'Link not valid', unknownLink)
      if (change.state !== 'open') return sendChanged(reply, change)
      return sendListPage(reply, { list: change.list, title: `Another address: ${change.list.name}`, content: agreed(change) })
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'rate_limited') throw error
      return sendPage(reply.headers(error.headers), 429, 'Too often', askedTooOften)
    }
  })
}

const agreeing = ({ list, subscriber, to }: AddressChange): Html =>
  html`<h1>Another address</h1><p>Shall <strong>${list.name}</strong>, and what else you get from its sender, go to <strong>${to.address}</strong>, and no more to <strong>${subscriber.email}</strong>?</p>
<form method="post"><button>Yes, ask the new mailbox</button></form><p class="fine">You did not ask for this? Close the page: without the button, nothing happens.</p>`
const agreed = ({ to }: AddressChange): Html =>
  html`<h1>Now look into the new mailbox</h1><p>We have sent a mail to <strong>${to.address}</strong>. Nothing changes before you press the button behind its link.</p>`
const askedTooOften = html`<h1>Too often</h1><p>You have asked for this several times. Please try again in an hour.</p>`

function addAddressPages(app: FastifyInstance, services: Services): void {
  const path = '/preferences/address/:token'

  app.get<WithToken>(path, async (request, reply) => {
    const change = await findAddressChange(services, request.params.token)
    if (!change) return sendPage(reply, 404, 'Link not valid', unknownLink)
    const { list, to, state } = change
    if (state !== 'open') return sendChanged(reply, change)
    const content = html`<h1>Use this address</h1><p>Press the button, and <strong>${list.name}</strong> comes to <strong>${to.address}</strong> from now on.</p>
<form method="post"><button>Yes, send it here</button></form><p class="fine">You did not ask for this? Close the page: without the button, nothing happens.</p>`
    return sendListPage(reply, { list, title: `Use this address: ${list.name}`, content })
  })

  app.post<WithToken>(path, async (request, reply) => {
    const change = await changeAddress(services, request.params.token)
    if (!change) return sendPage(reply, 404, 'Link not valid', unknownLink)
    return sendChanged(reply, change)
  })
}

const sendChanged = (reply: FastifyReply, change: AddressChange): FastifyReply =>
  sendListPage(reply, {
    list: change.list,
    status: change.state === 'done' ? 200 : 410,
    title: change.list.name,
    content: changed(change),
  })

const changed = ({ list, to, state }: AddressChange): Html =>
  state === 'done'
    ? html`<h1>That is done</h1><p><strong>${list.name}</strong> comes to <strong>${to.address}</strong> from now on.</p>`
    : html`<h1>This link has ended</h1><p>Links like this last a day, and end when the address is changed in another way. Ask for a new one under the preferences in any mail.</p>`

const unsure = html`<p class="wrong" role="alert">Tick the box first: this cannot be undone.</p>`
const ended = html`<h1>This link has ended</h1><p>Links like this last a day, and end when the address is changed. Ask for a new one under the preferences in any mail.</p>`

const choices = ({ list, subscriber }: OwnData, token: string, note: Html | null = null): Html =>
  html`<h1>Your data</h1>${note}<p>What the sender of <strong>${list.name}</strong> knows of <strong>${subscriber.email}</strong>.</p>
<form method="post" action="/preferences/data/${token}/download"><button>Download it</button></form>
<section class="part"><h2>Delete it</h2><p>You leave every list of this sender. The mail to and from you is deleted, and so is your address; a mark that cannot be read stays, so that nobody adds you again by mistake. It cannot be undone.</p>
<form method="post" action="/preferences/data/${token}/delete"><p><label class="choice"><input type="checkbox" name="sure" value="yes" required> <span>Yes, delete everything</span></label></p>
<button class="danger">Delete my data</button></form></section>`

const deleted = ({ list }: OwnData): Html =>
  html`<h1>Your data is deleted</h1><p>The sender of <strong>${list.name}</strong> does not know you any more. The last traces go within minutes.</p>`
