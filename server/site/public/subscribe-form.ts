import { type Html, html } from '../../base/html.ts'
import type { Services } from '../../operations/context.ts'
import type { Site } from './layout.ts'
import { emptyField, stampOf } from './traps.ts'
import { formatCount } from './words.ts'

interface FormOptions {
  /** Sets the form apart where a page has several. */
  id?: string
  /** Asks for a name as well. */
  withName?: boolean
  typed?: { email: string; name: string }
  problem?: string
}

/** The way onto a list. `shown` and the field that nobody sees are the traps for programs. */
export function subscribeForm(services: Pick<Services, 'secrets' | 'clock'>, site: Site, options: FormOptions = {}): Html {
  const { words, base } = site
  const { id = 'subscribe', withName = false, typed, problem } = options
  const wrong = problem === undefined ? null : html`<p class="wrong" role="alert" id="${id}-problem">${problem}</p>`
  const described = problem === undefined ? null : html` aria-invalid="true" aria-describedby="${id}-problem"`
  const address = html`<input type="text" id="${id}-email" name="email" inputmode="email" autocomplete="email" autocapitalize="off" spellcheck="false" maxlength="320"${withName ? null : html` placeholder="${words.yourEmail}"`} required value="${typed?.email ?? ''}"${described}>`
  const label = html`<label${withName ? null : html` class="hidden"`} for="${id}-email">${words.yourEmail}</label>`
  const hidden = html`<input type="hidden" name="shown" value="${stampOf(services)}">${emptyField(`${id}-website`)}`
  const form = withName
    ? html`<p>${label}${address}</p><p><label for="${id}-name">${words.yourName}</label><input type="text" id="${id}-name" name="name" autocomplete="name" maxlength="200" value="${typed?.name ?? ''}"></p>${hidden}<button>${words.subscribe}</button>`
    : html`${label}<div class="inline">${address}<button>${words.subscribe}</button></div>${hidden}`
  return html`${wrong}<form method="post" action="${base}/subscribe">${form}</form>${fine(site)}`
}

const fine = (site: Site): Html => {
  const count = subscribersOf(site)
  return html`<p class="fine">${count && html`${count} · `}${site.words.weAsk}</p>`
}

/** How many there are already; null unless the list shows it. */
export const subscribersOf = ({ subscriber_count, language, words }: Site): Html | null =>
  subscriber_count === null
    ? null
    : html`<strong>${words.subscribers(formatCount(subscriber_count, language), subscriber_count === 1)}</strong>`
