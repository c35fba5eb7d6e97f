import { type Html, html } from '../../base/html.ts'
import type { Services } from '../../operations/context.ts'
import type { Site } from './layout.ts'
import { subscribeForm, subscribersOf } from './subscribe-form.ts'

/** The way onto the list: a form, or for a waitlist the page that tells how it works. */
export function invitation(services: Services, site: Site, where: 'home' | 'post'): Html {
  const { base, words, type, waitlist_closed } = site
  if (type === 'waitlist') {
    if (waitlist_closed) return html`<p>${words.closed}</p>`
    return html`<p><a class="button" href="${base}/join">${words.join}</a></p>${counted(site)}`
  }
  return subscribeForm(services, site, { id: where })
}

const counted = (site: Site): Html | null => {
  const count = subscribersOf(site)
  return count && html`<p class="fine">${count}</p>`
}
