import type { FastifyInstance, FastifyReply } from 'fastify'
import { ApiError } from '../base/errors.ts'
import { type Html, html } from '../base/html.ts'
import { findListBySubdomain, type ListRow } from '../features/lists/index.ts'
import { findHurdle } from '../features/waitlists/index.ts'
import type { Services } from '../operations/context.ts'
import { email } from '../operations/schemas.ts'
import { acceptForms, fieldOf } from './forms.ts'
import { sendListPage } from './list-page.ts'
import { sendPage } from './page.ts'
import { subscribe } from './public/subscribe-visitor.ts'
import { emptyField, isTimely, isTrapped, stampOf } from './public/traps.ts'

/**
 * Where people join a list, a waitlist above all. The answer is the same, and takes as long, whether or not the address is on the list: what
 * is so is told to its mailbox. Programs that fill in every field they find, or answer faster than anybody types, put nobody on a list.
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
      const visitor = { site: { project_id: list.project_id, list_id: list.id }, email: parsed.data, name: fieldOf(request, 'name') }
      const refusal = await subscribe(services, request, { ...visitor, ref: form.ref })
      if (refusal === 'disposable') return sendForm(services, reply, { ...form, status: 422, problem: throwAway })
      // Said to those who are on the list as well: they hear of it by mail.
      return sendListPage(reply, { list, title: list.name, content: refusal ? hurdles[refusal](list) : checkMail(list) })
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

const throwAway = 'Please use an address that you keep: this one is thrown away soon.'

function sendForm(services: Services, reply: FastifyReply, form: Form): FastifyReply {
  const { list, ref, typed = '', status = 200, problem } = form
  const words = wordsOf(list)
  const wrong = problem === undefined ? null : html`<p class="wrong" role="alert">${problem}</p>`
  const content = html`<h1>${list.name}</h1>${list.description ? html`<p class="lead">${list.description}</p>` : null}${wrong}
<form method="post"><input type="hidden" name="ref" value="${ref.slice(0, 100)}"><input type="hidden" name="shown" value="${stampOf(services)}">
<p><label for="email">Your e-mail address</label><input type="text" id="email" name="email" inputmode="email" autocomplete="email" autocapitalize="off" spellcheck="false" required value="${typed.slice(0, 254)}"></p>
<p><label for="name">Your name, if you like</label><input type="text" id="name" name="name" autocomplete="name" maxlength="200"></p>
${emptyField()}
<button>${words.button}</button></form>
<p class="fine">You get a mail with a link. Without pressing the button behind it you hear nothing more from us.</p>`
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
