import assert from 'node:assert/strict'
import { test } from 'node:test'
import { threadMs } from '../../base/thread-time.ts'
import { textOfHtml } from './html-text.ts'
import { splitQuoted } from './quoted-text.ts'

const answer = 'Yes, Friday is fine.'
const original = 'Shall we meet on Friday?'

/** What follows the answer, by mail program and language. `> ` is put before the original where that program does. */
const announced: Record<string, string> = {
  'Gmail, English': `On Mon, Nov 2, 2026 at 9:00 AM Bob Ray <bob@example.net> wrote:\n\n> ${original}`,
  'Gmail, English, folded': `On Mon, Nov 2, 2026 at 9:00 AM The Quite Long Name of a Letter\n<letter@example.com>\nwrote:\n\n> ${original}`,
  'Apple Mail, English': `> On 2 Nov 2026, at 09:00, Bob Ray <bob@example.net> wrote:\n> \n> ${original}`,
  'phone, English, without marks': `On Nov 2, 2026, at 9:00 AM, Bob Ray <bob@example.net> wrote:\n\n${original}`,
  'Thunderbird, English': `On 02.11.26 09:00, Bob Ray wrote:\n> ${original}`,
  'Outlook, English': `________________________________\nFrom: Bob Ray <bob@example.net>\nSent: Monday, November 2, 2026 9:00 AM\nTo: Ann Lee <ann@example.org>\nSubject: Friday\n\n${original}`,
  'Outlook, English, bold': `*From:* Bob Ray <bob@example.net>\n*Sent:* Monday, November 2, 2026 9:00 AM\n*To:* Ann Lee\n*Subject:* Friday\n\n${original}`,
  'Outlook Express': `-----Original Message-----\nFrom: Bob Ray\nSent: Monday\n\n${original}`,
  'Gmail, German': `Am Mo., 2. Nov. 2026 um 09:00 Uhr schrieb Bob Ray <bob@example.net>:\n\n> ${original}`,
  'Thunderbird, German': `Am 02.11.26 um 09:00 schrieb Bob Ray:\n> ${original}`,
  'Outlook, German': `Von: Bob Ray <bob@example.net>\nGesendet: Montag, 2. November 2026 09:00\nAn: Ann Lee\nBetreff: Freitag\n\n${original}`,
  'old Outlook, German': `-----Ursprüngliche Nachricht-----\nVon: Bob\n\n${original}`,
  'Gmail, French': `Le lun. 2 nov. 2026 à 09:00, Bob Ray <bob@example.net> a écrit :\n\n> ${original}`,
  'Outlook, French': `De : Bob Ray <bob@example.net>\nEnvoyé : lundi 2 novembre 2026 09:00\nÀ : Ann Lee\nObjet : Vendredi\n\n${original}`,
  'old Outlook, French': `-----Message d'origine-----\nDe : Bob\n\n${original}`,
  'Gmail, Spanish': `El lun, 2 nov 2026 a las 9:00, Bob Ray (<bob@example.net>) escribió:\n\n> ${original}`,
  'Outlook, Spanish': `De: Bob Ray <bob@example.net>\nEnviado: lunes, 2 de noviembre de 2026 9:00\nPara: Ann Lee\nAsunto: Viernes\n\n${original}`,
  'Gmail, Portuguese': `Em seg., 2 de nov. de 2026 às 09:00, Bob Ray <bob@example.net> escreveu:\n\n> ${original}`,
  'Outlook, Portuguese': `De: Bob Ray <bob@example.net>\nEnviada em: segunda-feira, 2 de novembro de 2026 09:00\nPara: Ann Lee\nAssunto: Sexta\n\n${original}`,
  'Gmail, Italian': `Il giorno lun 2 nov 2026 alle ore 09:00 Bob Ray <bob@example.net> ha scritto:\n\n> ${original}`,
  'Outlook, Italian': `Da: Bob Ray <bob@example.net>\nInviato: lunedì 2 novembre 2026 09:00\nA: Ann Lee\nOggetto: Venerdì\n\n${original}`,
  'Gmail, Dutch': `Op ma 2 nov 2026 om 09:00 schreef Bob Ray <bob@example.net>:\n\n> ${original}`,
  'Outlook, Dutch': `Van: Bob Ray <bob@example.net>\nVerzonden: maandag 2 november 2026 09:00\nAan: Ann Lee\nOnderwerp: Vrijdag\n\n${original}`,
  'Gmail, Japanese': `2026年11月2日(月) 9:00 Bob Ray <bob@example.net>:\n\n> ${original}`,
  'Outlook, Japanese': `差出人: Bob Ray <bob@example.net>\n送信日時: 2026年11月2日 9:00\n宛先: Ann Lee\n件名: 金曜日\n\n${original}`,
  'Gmail, Chinese': `Bob Ray <bob@example.net> 于2026年11月2日周一 09:00写道：\n\n> ${original}`,
  'Outlook, Chinese': `发件人: Bob Ray <bob@example.net>\n发送时间: 2026年11月2日 9:00\n收件人: Ann Lee\n主题: 星期五\n\n${original}`,
  'QQ, Chinese': `------------------ 原始邮件 ------------------\n发件人: "Bob Ray" <bob@example.net>\n\n${original}`,
  'forwarded, English': `---------- Forwarded message ---------\nFrom: Bob Ray <bob@example.net>\n\n${original}`,
}

test('what a person wrote is told apart from what the mail program repeats', () => {
  for (const [program, below] of Object.entries(announced)) {
    const split = splitQuoted(`${answer}\n\n${below}\n`)
    assert.equal(split.text, answer, program)
    assert.ok(split.quoted.includes(original), program)
    assert.equal(split.signature, '', program)
    assert.deepEqual(splitQuoted(`${answer}\r\n\r\n${below.replaceAll('\n', '\r\n')}\r\n`), split, `${program}, CRLF`)
  }
})

test('answers below and between quoted lines are kept', () => {
  assert.equal(splitQuoted(`On 02.11.26 09:00, Bob Ray wrote:\n> ${original}\n\n${answer}\n`).text, answer)
  const between = splitQuoted('On 02.11.26 09:00, Bob wrote:\n> First?\n\nYes.\n\n> Second?\n\nNo.\n')
  assert.equal(between.text, 'Yes.\n\n\nNo.')
  assert.equal(between.quoted, 'On 02.11.26 09:00, Bob wrote:\n> First?\n> Second?')
})

test('a signature is set apart', () => {
  assert.deepEqual(splitQuoted(`${answer}\n\n-- \nAnn Lee\nExample Ltd`), {
    text: answer,
    quoted: '',
    signature: '-- \nAnn Lee\nExample Ltd'.replace('-- ', '--'),
  })
  for (const line of [
    'Sent from my iPhone',
    'Get Outlook for iOS',
    'Von meinem iPhone gesendet',
    'Envoyé de mon iPhone',
    'Enviado desde mi iPhone',
    'Enviado do meu iPhone',
    'Inviato da iPhone',
    'Verstuurd vanaf mijn iPhone',
    'iPhoneから送信',
    'My iPhoneから送信',
    'ANDROIDから送信',
    'androidから送信',
    'Gesendet von Outlook',
    'Diese Nachricht wurde von meinem Telefon aus gesendet',
    'diese nachricht wurde von meinem Telefon aus gesendet',
    'Télécharger Outlook pour iOS',
    'télécharger Outlook pour iOS',
    'Obtener Outlook para iOS',
    'obter o Outlook para iOS',
    'Ottieni Outlook per iOS',
    'Outlook voor iOS downloaden',
    'Verzonden met Outlook',
    '发自我的iPhone',
  ])
    assert.deepEqual(splitQuoted(`${answer}\n\n${line}`), { text: answer, quoted: '', signature: line }, line)
})

test('ordinary sentences are not taken for marks', () => {
  for (const text of [
    'On Friday he wrote:\nI will come.',
    'On the 2nd I wrote to you: no answer yet.',
    'Am Freitag schrieb er mir:\nIch komme.',
    'From: my heart, I thank you.',
    'From: Berlin\nTo: Paris\nby train',
    'De: nada',
    'Two things:\none\ntwo',
    'Our address is <ann@example.org>:\nwrite to it.',
    'A line\n----\nanother line',
    '2026年の予定：\n旅行',
    'a > b and b > c',
    'See you at 9:00\n__\nAnn',
  ])
    assert.deepEqual(splitQuoted(text), { text, quoted: '', signature: '' }, text)
})

test('what is all new is not taken apart, and is what it would be when put together again', () => {
  // With a colon somewhere, it goes the long way.
  const theLongWay = (body: string) => splitQuoted(`PS: x\n${body}`).text.slice('PS: x\n'.length).trim()
  for (const body of [
    ...['', ' ', 'Yes.', 'Yes.\n\nBob', '\n\nYes.\n', 'No\n\n\n7 of 9', 'Ünder\nLine'],
    ...['Yes. \nNo.', 'Yes.\n No.', 'Yes.\u00a0\nNo.', 'Yes.\u3000\nNo.', 'Yes.\rNo.', 'Yes.\t\n\t\nNo.', 'Yes.\v\nNo. '],
  ])
    assert.deepEqual(splitQuoted(body), { text: theLongWay(body), quoted: '', signature: '' }, JSON.stringify(body))
  for (const mark of [
    '> quoted',
    '  > quoted',
    '＞ quoted',
    '| quoted',
    '== Original Message ==',
    '** Original Message **',
    '__ Forwarded Message __',
  ])
    assert.deepEqual(splitQuoted(`Yes.\n${mark}`), { text: 'Yes.', quoted: mark.trim(), signature: '' })
  assert.equal(splitQuoted('x\n'.repeat(6000)).text.split('\n').length, 5000, 'no more lines than of any other mail')
})

test('nothing at all, and too much, come back in peace', () => {
  assert.deepEqual(splitQuoted(''), { text: '', quoted: '', signature: '' })
  assert.equal(splitQuoted(`> ${original}`).text, '')
  for (const text of [
    '\n'.repeat(1_000_000),
    '>'.repeat(1_000_000),
    'On 1:\n'.repeat(100_000),
    `${'a'.repeat(290)}1:\n`.repeat(700),
    'From: a\n'.repeat(50_000),
    'On 2026 <a@b> '.repeat(50_000),
    `--${' '.repeat(190)}x\n`.repeat(1_000),
    `--original message${'- '.repeat(90)}x\n`.repeat(1_000),
    `<${'@'.repeat(290)}:\n`.repeat(700),
    `2026年${'1:'.repeat(145)}\n`.repeat(700),
  ]) {
    const began = threadMs()
    assert.equal(typeof splitQuoted(text).text, 'string')
    assert.ok(threadMs() - began < 1_000, text.slice(0, 30))
  }
})

test('HTML becomes lines of text, with ">" for what it quotes', () => {
  const html =
    '<html><head><style>p { color: red }</style><title>x</title></head><body><p>Yes,&nbsp;<b>Friday</b> is fine.</p><div>See you&#33;</div><blockquote type="cite"><p>Shall we meet<br>on Friday?</p></blockquote><!-- hidden --><script>alert(1)</script></body></html>'
  assert.equal(textOfHtml(html), 'Yes, Friday is fine.\nSee you!\n> Shall we meet\n> on Friday?')
  assert.equal(splitQuoted(textOfHtml(html)).text, 'Yes, Friday is fine.\nSee you!')
  assert.equal(textOfHtml('a &lt;b&gt; &eacute; &#x1F98A; &unknown; &#0; &#xD800;'), 'a <b> é 🦊 &unknown;')
  assert.equal(textOfHtml('<head>no closing tag, still shown'), 'no closing tag, still shown')
  for (const hostile of [
    '<'.repeat(300_000),
    '<head>'.repeat(50_000),
    '<STYLE></STYLE>'.repeat(70_000),
    '<blockquote>'.repeat(30_000),
    '<!--'.repeat(50_000),
    '&#'.repeat(100_000),
  ])
    assert.equal(typeof textOfHtml(hostile), 'string')
})
