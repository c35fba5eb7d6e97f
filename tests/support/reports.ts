import { type Applied, applyBackchannelMail } from '../../server/features/recipients/index.ts'
import { readBackchannel } from '../../server/mail/reports/read-backchannel.ts'
import type { TestApp } from './posthaste.ts'

/** A mail of ours, by the token in its return path. */
interface About {
  token: string
  email: string
}

/** A delivery status notification (RFC 3464) comes back about a mail. */
export const bounceAbout = (app: TestApp, about: About, status = '5.1.1', says = 'no such user') =>
  refusalAbout(app, about, { status, answer: `550 ${status} ${says}` })

/** The same, with all that the other server said, in one line or several. */
export const refusalAbout = async (
  { services, config }: TestApp,
  { token, email }: About,
  { status, answer }: { status: string; answer: string },
) =>
  applyBackchannelMail(services, {
    envelope_to: `b+${token}@${config.MAIL_DOMAIN}`,
    envelope_from: '',
    content: await readBackchannel(
      reportOf('delivery-status', [
        'Reporting-MTA: dns; mx.example.org',
        '',
        `Final-Recipient: rfc822; ${email}`,
        'Action: failed',
        `Status: ${status}`,
        `Diagnostic-Code: smtp; ${answer.replaceAll('\r\n', '\r\n    ')}`,
      ]),
    ),
  })

/** A spam report (RFC 5965) comes to the address for all of them. */
export const complaintAbout = async ({ services, config }: TestApp, { token }: Pick<About, 'token'>): Promise<Applied> =>
  applyBackchannelMail(services, {
    envelope_to: `abuse@${config.MAIL_DOMAIN}`,
    envelope_from: 'feedback@isp.example',
    content: await readBackchannel(complaintReport(`b+${token}@${config.MAIL_DOMAIN}`)),
  })

/** As an ISP sends it, about a mail with this return path. */
export const complaintReport = (returnPath: string): Buffer =>
  reportOf(
    'feedback-report',
    ['Feedback-Type: abuse', 'User-Agent: test/1', 'Version: 1'],
    ['--b', 'Content-Type: message/rfc822', '', `Return-Path: <${returnPath}>`, 'Subject: Hello', '', 'Hi'],
  )

const reportOf = (type: string, fields: string[], more: string[] = []): Buffer =>
  Buffer.from(
    [
      'From: postmaster@mx.example.org',
      'Subject: About your mail',
      'MIME-Version: 1.0',
      `Content-Type: multipart/report; report-type=${type}; boundary="b"`,
      '',
      '--b',
      'Content-Type: text/plain',
      '',
      'This is about a mail of yours.',
      '--b',
      `Content-Type: message/${type}`,
      '',
      ...fields,
      ...more,
      '--b--',
      '',
    ].join('\r\n'),
  )
