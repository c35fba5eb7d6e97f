import type { FastifyInstance } from 'fastify'
import { type Html, html } from '../base/html.ts'
import type { AddressChange, OwnData } from '../features/preferences/index.ts'
import { changeAddress, eraseOwnData, exportOwnData, findAddressChange, findOwnData } from '../features/preferences/index.ts'
import type { Services } from '../operations/context.ts'
import { acceptForms, fieldOf } from './forms.ts'
import { sendListPage } from './list-page.ts'
import { sendPage } from './page.ts'
import { unknownLink } from './preferences.ts'

interface WithToken {
  Params: { token: string }
}

/** Behind the links that preferences send by mail, each for one thing and for a day: another address, and what is known of somebody. */
export function addOwnDataPages(app: FastifyInstance, services: Services): void {
  acceptForms(app, services.config)
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

function addAddressPages(app: FastifyInstance, services: Services): void {
  const path = '/preferences/address/:token'

  app.get<WithToken>(path, async (request, reply) => {
    const change = await findAddressChange(services, request.params.token)
    if (!change) return sendPage(reply, 404, 'Link not valid', unknownLink)
    const { list, to, state } = change
    if (state !== 'open')
      return sendListPage(reply, { list, status: state === 'done' ? 200 : 410, title: list.name, content: changed(change) })
    const content = html`<h1>Use this address</h1><p>Press the button, and <strong>${list.name}</strong> comes to <strong>${to.address}</strong> from now on.</p>
<form method="post"><button>Yes, send it here</button></form><p class="soft">You did not ask for this? Close the page: without the button, nothing happens.</p>`
    return sendListPage(reply, { list, title: `Use this address: ${list.name}`, content })
  })

  app.post<WithToken>(path, async (request, reply) => {
    const change = await changeAddress(services, request.params.token)
    if (!change) return sendPage(reply, 404, 'Link not valid', unknownLink)
    return sendListPage(reply, {
      list: change.list,
      status: change.state === 'done' ? 200 : 410,
      title: change.list.name,
      content: changed(change),
    })
  })
}

const changed = ({ list, to, state }: AddressChange): Html =>
  state === 'done'
    ? html`<h1>That is done</h1><p><strong>${list.name}</strong> comes to <strong>${to.address}</strong> from now on.</p>`
    : html`<h1>This link has ended</h1><p>Links like this last a day, and end when the address is changed in another way. Ask for a new one under the preferences in any mail.</p>`

const unsure = html`<p class="wrong" role="alert">Tick the box first: this cannot be undone.</p>`
const ended = html`<h1>This link has ended</h1><p>Links like this last a day. Ask for a new one under the preferences in any mail.</p>`

const choices = ({ list, subscriber }: OwnData, token: string, note: Html | null = null): Html =>
  html`<h1>Your data</h1>${note}<p>What the sender of <strong>${list.name}</strong> knows of <strong>${subscriber.email}</strong>.</p>
<form method="post" action="/preferences/data/${token}/download"><button>Download it</button></form>
<h2>Delete it</h2><p>You leave every list of this sender. The mail to and from you is deleted, and so is your address; a mark that cannot be read stays, so that nobody adds you again by mistake. It cannot be undone.</p>
<form method="post" action="/preferences/data/${token}/delete"><p><label class="choice"><input type="checkbox" name="sure" value="yes" required> <span>Yes, delete everything</span></label></p>
<button class="danger">Delete my data</button></form>`

const deleted = ({ list }: OwnData): Html =>
  html`<h1>Your data is deleted</h1><p>The sender of <strong>${list.name}</strong> does not know you any more. The last traces go within minutes.</p>`
