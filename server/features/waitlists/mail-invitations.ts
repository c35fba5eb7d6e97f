import { html } from '../../base/html.ts'
import { enqueueMessages } from '../../delivery/enqueue.ts'
import { defineJob } from '../../jobs/jobs.ts'
import type { Services } from '../../operations/context.ts'
import { findList, type ListKey, type ListRow, senderOf } from '../lists/index.ts'
import { preferencesUrl } from '../subscribers/index.ts'
import { linesWithDueMail, takeDueMail } from './waitlist-queries.ts'
import { acceptUrl, statusUrl } from './waitlist-token.ts'

const chunk = 500
const chunksAtOnce = 2

/** The first thousand are queued with the request; what is left is a job, and what a crash leaves, the schedule finds. */
export async function mailNow(services: Services, key: ListKey): Promise<void> {
  for (let done = 0; done < chunksAtOnce; done++) if ((await mailSome(services, key)) < chunk) return
  await services.database.transaction((tx) => services.jobs.enqueue(tx, mailInvitations, key))
}

/** Queues the mail for everybody who was invited. Killed in between it goes on where it was: who is done is noted with their mail. */
export const mailInvitations = defineJob<Partial<ListKey>>({
  name: 'waitlists.mail_invitations',
  schedule: '*/10 * * * *',
  async run(services, { project_id, list_id }) {
    const lines = project_id && list_id ? [{ project_id, list_id }] : await linesWithDueMail(services.database)
    for (const key of lines) while ((await mailSome(services, key)) === chunk);
  },
})

async function mailSome(services: Services, key: ListKey): Promise<number> {
  return services.database.transaction(async (tx) => {
    const list = await findList(tx, key)
    if (!list) return 0
    const due = await takeDueMail(tx, key, chunk)
    const people = due.flatMap(({ id, email, email_key }) => (email === null ? [] : [{ ...key, id, email, email_key }]))
    const mails = people.map((person) => invitationMail(services, list, person))
    await enqueueMessages(tx, { project_id: key.project_id, kind: 'waitlist_invitation', list_id: key.list_id, mails })
    return due.length
  })
}

type Person = Parameters<typeof acceptUrl>[1] & { email: string; email_key: string | null }

function invitationMail(services: Services, list: ListRow, person: Person) {
  const [accept, leave, preferences] = [acceptUrl(services, person), statusUrl(services, person), preferencesUrl(services, person)]
  const opening = `Your turn has come: you are invited to ${list.name}.`
  const closing = 'You get this because you joined the waitlist. You do not want it any more? Leave it here:'
  return {
    ...senderOf(list),
    to: person.email,
    subject: `You are invited: ${list.name}`,
    text: [
      opening,
      `To accept, open this page and press the button:\n${accept}`,
      `${closing}\n${leave}`,
      `Preferences: ${preferences}`,
      list.postal_address,
    ]
      .filter(Boolean)
      .join('\n\n'),
    html: html`<p>${opening}</p><p><a href="${accept}">Accept the invitation</a></p><p>${closing} <a href="${leave}">leave the waitlist</a> · <a href="${preferences}">Preferences</a></p>${list.postal_address ? html`<p>${list.postal_address}</p>` : null}`
      .text,
    // RFC 8058: a POST to the same address takes them off the list. RFC 3834: no vacation notice should answer this.
    headers: {
      'List-Unsubscribe': `<${leave}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      'Auto-Submitted': 'auto-generated',
    },
  }
}
