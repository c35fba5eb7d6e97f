/** Where anybody gets a mailbox, one at a time. At any other domain whoever owns it has as many addresses as they like. */
const largeProviders = new Set(
  `gmail.com googlemail.com outlook.com outlook.de outlook.fr outlook.es outlook.it hotmail.com hotmail.co.uk hotmail.fr hotmail.de hotmail.it hotmail.es
  live.com live.co.uk live.fr live.nl live.de msn.com yahoo.com yahoo.co.uk yahoo.co.jp yahoo.co.in yahoo.in yahoo.fr yahoo.de yahoo.it yahoo.es yahoo.ca
  yahoo.com.br yahoo.com.au yahoo.com.mx ymail.com rocketmail.com aol.com icloud.com me.com mac.com proton.me protonmail.com pm.me zoho.com fastmail.com
  hey.com tuta.com tutanota.com mail.com gmx.com gmx.net gmx.de gmx.at gmx.ch web.de t-online.de freenet.de posteo.de mailbox.org bluewin.ch orange.fr
  wanadoo.fr free.fr sfr.fr laposte.net libero.it virgilio.it tiscali.it telenet.be skynet.be ziggo.nl kpnmail.nl btinternet.com sky.com virginmedia.com
  comcast.net verizon.net att.net sbcglobal.net bellsouth.net cox.net charter.net shaw.ca rogers.com bigpond.com uol.com.br bol.com.br terra.com.br
  mail.ru yandex.ru yandex.com ya.ru bk.ru inbox.ru list.ru rambler.ru ukr.net seznam.cz wp.pl o2.pl onet.pl interia.pl abv.bg qq.com foxmail.com
  163.com 126.com sina.com naver.com daum.net hanmail.net docomo.ne.jp ezweb.ne.jp softbank.ne.jp rediffmail.com`.split(/\s+/),
)

/** The second labels below which countries give names away: example.co.uk is one owner's, co.uk nobody's. */
const shared = new Set(['ac', 'co', 'com', 'edu', 'go', 'gob', 'gov', 'ltd', 'me', 'ne', 'net', 'nom', 'or', 'org', 'plc'])

/** The domain that somebody registered, whatever stands before it; null for a large provider's, where a domain says nothing of who is behind. */
export function ownedDomain(email_key: string): string | null {
  const domain = email_key.slice(email_key.lastIndexOf('@') + 1)
  if (largeProviders.has(domain)) return null
  const labels = domain.split('.')
  const [second = '', top = ''] = labels.slice(-2)
  return labels.slice(top.length === 2 && shared.has(second) ? -3 : -2).join('.')
}
