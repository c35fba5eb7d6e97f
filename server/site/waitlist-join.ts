import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../base/errors.ts'
import { type Html, html } from '../base/html.ts'
import { peerOf } from '../base/peer-address.ts'
import { findListBySubdomain, type ListRow } from '../features/lists/index.ts'
import { findHurdle, type Joined, join, remind } from '../features/waitlists/index.ts'
import type { Services } from '../operations/context.ts'
import { email } from '../operations/schemas.ts'
import { acceptForms, fieldOf } from './forms.ts'
import { sendListPage } from './list-page.ts'
import { sendPage } from './page.ts'
import { emptyField, isTimely, isTrapped, stampOf } from './public/traps.ts'

/**
 * Where people join a list, a waitlist above all. The answer is the same whether or not the address is on the list: what is so is told to
 * its mailbox. Programs that fill in every field they find, or answer faster than anybody types, put nobody on a list.
 */
export function addJoinPages(app: FastifyInstance, services: Services): void {
  acceptForms(app, services.config, { isSite: true })
  const path = '/s/:subdomain/join'

  app.get<Visit>(path, async (request, reply) => {
    const list = await findListBySubdomain(services.database, request.params.subdomain)
    if (!list) return sendPage(reply, 404, 'Not found', unknownList)
    const { ref } = request.query
    const hurdle = await findHurdle(services, list)
    if (hurdle) return sendListPage(reply, { list, title: list.name, content: hurdles[hurdle](list) })
    return sendForm(services, reply, { list, ref: typeof ref === 'string' ? ref : '' })
  })

  app.post<Visit>(path, async (request, reply) => {
    const list = await findListBySubdomain(services.database, request.params.subdomain)
    if (!list) return sendPage(reply, 404, 'Not found', unknownList)
    const form = { list, ref: fieldOf(request, 'ref'), typed: fieldOf(request, 'email') }
    if (isTrapped(request)) return sendListPage(reply, { list, title: list.name, content: checkMail(list) })
    if (!isTimely(services, fieldOf(request, 'shown')))
      return sendForm(services, reply, { ...form, status: 422, problem: 'Please press the button once more.' })
    const parsed = email.safeParse(form.typed)
    if (!parsed.success)
      return sendForm(services, reply, { ...form, status: 422, problem: 'This is not an e-mail address. Please check it.' })
    try {
      const hurdle = await findHurdle(services, list)
      const joined = await joinByForm(services, request, { ...form, address: parsed.data })
      // Said to those who are on the list as well: they hear of it by mail.
      return hurdle
        ? sendListPage(reply, { list, title: list.name, content: hurdles[hurdle](list) })
        : sendOutcome(services, reply, { ...form, joined })
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      reply.headers(error.headers)
      return sendForm(services, reply, { ...form, status: error.status, problem: error.message.replace(/^email: /, '') })
    }
  })
}

interface Visit {
  Params: { subdomain: string }
  Querystring: { ref?: unknown }
}

interface Form {
  list: ListRow
  ref: string
  typed?: string
  status?: number
  problem?: string
}

interface Filled extends Form {
  address: { address: string; key: string }
}

async function joinByForm(services: Services, request: FastifyRequest, { list, ref, address }: Filled): Promise<Joined> {
  const from = services.secrets.mac('waitlist_peer', peerOf(request))
  const name = fieldOf(request, 'name').replace(/\s+/g, ' ').slice(0, 200)
  const joined = await join(services, { list, email: address, name, ref: ref.slice(0, 100), source: 'form', from })
  if (joined.status === 'exists') await remind(services, list, joined.subscriber)
  return joined
}

function sendOutcome(services: Services, reply: FastifyReply, { joined, ...form }: Form & { joined: Joined }): FastifyReply {
  const { list } = form
  const reason = 'reason' in joined ? joined.reason : null
  if (reason === 'disposable')
    return sendForm(services, reply, {
      ...form,
      status: 422,
      problem: 'Please use an address that you keep: this one is thrown away soon.',
    })
  if (reason === 'closed' || reason === 'full') return sendListPage(reply, { list, title: list.name, content: hurdles[reason](list) })
  return sendListPage(reply, { list, title: list.name, content: checkMail(list) })
}

function sendForm(services: Services, reply: FastifyReply, form: Form): FastifyReply {
  const { list, ref, typed = '', status = 200, problem } = form
  const words = wordsOf(list)
  const wrong = problem === undefined ? null : html`<p class="wrong" role="alert">${problem}</p>`
  const content = html`<h1>${list.name}</h1>${list.description ? html`<p>${list.description}</p>` : null}${wrong}
<form method="post"><input type="hidden" name="ref" value="${ref.slice(0, 100)}"><input type="hidden" name="shown" value="${stampOf(services)}">
<p><label for="email">Your e-mail address</label><input type="text" id="email" name="email" inputmode="email" autocomplete="email" autocapitalize="off" spellcheck="false" required value="${typed.slice(0, 254)}"></p>
<p><label for="name">Your name, if you like</label><input type="text" id="name" name="name" autocomplete="name" maxlength="200"></p>
${emptyField()}
<button>${words.button}</button></form>
<p class="soft">You get a mail with a link. Without pressing the button behind it you hear nothing more from us.</p>`
  return sendListPage(reply, { list, status, title: `${words.title}: ${list.name}`, content })
}

const wordsOf = ({ type }: ListRow) =>
  type === 'waitlist' ? { title: 'Join the waitlist', button: 'Join the waitlist' } : { title: 'Subscribe', button: 'Subscribe' }

const unknownList = html`<h1>There is no such list</h1><p>It may have been removed, or the link was cut off on its way.</p>`
const checkMail = ({ name }: ListRow): Html =>
  html`<h1>Look into your mailbox</h1><p>We have sent you a mail about <strong>${name}</strong>. Press the button behind its link. Nothing there after some minutes? Look among the spam.</p>`
const closed = ({ name }: ListRow): Html =>
  html`<h1>This waitlist is closed</h1><p>Nobody can join <strong>${name}</strong> at the moment.</p>`
const full = ({ name }: ListRow): Html =>
  html`<h1>This waitlist is full</h1><p>All places on the waitlist of <strong>${name}</strong> are taken. Try again later: some may become free.</p>`
const hurdles = { closed, full }
