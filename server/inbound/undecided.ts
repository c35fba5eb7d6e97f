import type { Verdicts } from '../mail/inbound/parsed-mail.ts'

/** Where nothing could be judged. Apart from the judge, so that nobody loads that for it. */
export const undecided = (result: 'temperror' | 'permerror'): Verdicts => ({
  spf: { result, domain: null },
  dkim: [],
  dmarc: { result, policy: null, domain: null },
  arc: { result },
  authenticated_domain: null,
})
