import { linkTo } from './captured-link.ts'
import type { DemoPage } from './demo-content.ts'
import { type Demo, press } from './demo-reader.ts'

/** A waitlist, somebody who waits on it, and somebody whose turn has come. */
export async function waitlistPages({ url, connection, call }: Demo): Promise<Record<string, DemoPage>> {
  const line = await call('POST', '/lists', {
    name: 'Long Table',
    description: 'Dinner for twenty, once a month. Join, and we write when a seat is free.',
    type: 'waitlist',
  })
  const full = await call('POST', '/lists', { name: 'Small Table', description: 'Dinner for four.', type: 'waitlist' })
  await call('PATCH', `/lists/${line.id}`, { accent_color: '#3d5a80' })
  await call('PATCH', `/lists/${full.id}`, { waitlist_closed: true })
  const people = ['first', 'ada', 'ben', 'cleo', 'dan', 'waiting', 'eve', 'finn'].map((name) => `${name}@example.com`)
  let referral = ''
  for (const email of people) {
    const joined = await call('POST', `/lists/${line.id}/join`, { email })
    if (email.startsWith('waiting')) referral = joined.referral_url as string
    await press(await linkTo(connection, email, /https?:\/\/\S+\/confirm\/[\w.-]+/))
  }
  const confirm = await linkTo(connection, 'waiting@example.com', /https?:\/\/\S+\/confirm\/[\w.-]+/)
  const status = /href="([^"]+\/w\/[^"]+)"/.exec(await (await fetch(confirm)).text())?.[1] as string
  await call('POST', `/lists/${line.id}/invite`, { count: 1 })
  const at = `${url}/s/${line.subdomain}`
  return {
    waitlist: `${at}/`,
    'waitlist-join': referral,
    'waitlist-check-your-mailbox': { url: `${at}/join`, fill: { 'Your e-mail address': 'more@example.com' }, press: 'Join the waitlist' },
    'waitlist-closed': `${url}/s/${full.subdomain}/join`,
    'waitlist-confirmed': confirm,
    'waitlist-status': status,
    'waitlist-invited': await linkTo(connection, 'first@example.com', /https?:\/\/\S+\/invited\/[\w.-]+/),
  }
}
