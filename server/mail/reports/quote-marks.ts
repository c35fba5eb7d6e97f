/** How mail programs announce what they quote, in the languages their users have set. Patterns run on single lines of bounded length. */

const any = (...patterns: RegExp[]) => new RegExp(patterns.map((pattern) => `(?:${pattern.source})`).join('|'), 'iu')

/** A line, put together from up to three, that ends in a colon and says who wrote when. */
export const attributionLine = any(
  /^\W{0,3}on\s(?=.*\d).{4,250}\s(?:wrote|writes)\s?:$/,
  /^.{0,200}<[^<>\s@]+@[^<>\s@]+>\s?(?:wrote|writes|schrieb|a écrit|escribió|escreveu|ha scritto|schreef|skrev|napisał\(a\)|пишет|написал\(а\)|写道|寫道)\s?[:：]$/,
  /^\W{0,3}am\s(?=.*\d).{4,250}\sschrieb\b.{0,150}:$/,
  /^.{2,150}\sschrieb\s(?:am|um)\s(?=.*\d).{4,120}:$/,
  /^\W{0,3}le\s(?=.*\d).{4,250}\sa\sécrit\s?:$/,
  /^\W{0,3}el\s(?=.*\d).{4,250}\sescribió\s?:$/,
  /^\W{0,3}(?:em|no dia|a)\s(?=.*\d).{4,250}\sescreveu\s?:$/,
  /^\W{0,3}(?:il(?: giorno)?|in data)\s(?=.*\d).{4,250}\sha scritto\s?:$/,
  /^\W{0,3}op\s(?=.*\d).{4,250}\s(?:schreef|heeft\s.{2,120}\sgeschreven).{0,150}:$/,
  /^\W{0,3}(?:den|på)\s(?=.*\d).{4,250}\sskrev\b.{0,150}:$/,
  /^(?=.*\d).{4,250}\s(?:napisał|napisała|пишет|написал|написала)(?:\([^)]{0,3}\))?:$/,
  /^(?=.{0,220}[:：]$)(?:19|20)\d\d年.{3,60}\d[:：時].{3}/,
  /^(?=.*\d).{4,250}(?:さんは?(?:書きました|wrote)|のメール|からのメッセージ)\s?[:：]$/,
  /^(?=.*\d).{4,300}(?:写道|寫道)\s?[:：]$/,
)

/** "-----Original Message-----" */
export const originalMark = any(
  /^[-_=*\s]{2,}(?:original message|original appointment|ursprüngliche nachricht|originalnachricht|original-nachricht|message d['’]origine|message original|mensaje original|mensagem original|messaggio originale|oorspronkelijk bericht|origineel bericht|ursprungligt meddelande|oprindelig meddelelse|wiadomość oryginalna|исходное сообщение|元のメッセージ|オリジナルメッセージ|original message|原始邮件|原始郵件|邮件原件|回复的原邮件)[-_=*\s]{2,}$/,
)

export const forwardMark = any(
  /^[-_=*\s]{2,}(?:forwarded message|weitergeleitete nachricht|message transféré|mensaje reenviado|mensagem encaminhada|messaggio inoltrato|doorgestuurd bericht|転送されたメッセージ|转发的?邮件|转发邮件信息)[-_=*\s]{2,}$/,
  /^(?:begin forwarded message|anfang der weitergeleiteten (?:e-mail|nachricht)|début du message (?:réexpédié|transféré)|inicio del mensaje reenviado|inizio messaggio inoltrato)\s?:$/,
)

/** Names of the lines of a repeated header: sender, time, recipient, subject. A block begins with the first. */
export const headerNames: readonly RegExp[] = [
  /^(?:from|von|de|da|van|från|fra|od|от|差出人|送信者|发件人|寄件者|寄件人)$/iu,
  /^(?:sent|date|gesendet|datum|envoyé(?: le)?|enviado(?: el)?|enviada(?: em)?|fecha|data|inviato|verzonden|skickat|送信日時|日時|日付|发送时间|發送時間|日期|寄件日期)$/iu,
  /^(?:to|cc|an|kopie|à|a|para|aan|till|宛先|收件人|收件者|抄送)$/iu,
  /^(?:subject|betreff|objet|asunto|assunto|oggetto|onderwerp|ämne|件名|主题|主旨|主題)$/iu,
]

/** What phones and apps put below a mail by themselves. */
export const mobileSignature = any(
  /^(?:sent|get) (?:from|with|via|outlook|using)\b.{0,60}$/,
  /^(?:von meinem .{1,40} gesendet|gesendet (?:von|mit|über) .{1,60}|diese nachricht wurde von meinem .{1,80})$/,
  /^(?:envoyé (?:de|depuis|à partir de) .{1,60}|télécharger outlook pour .{1,30})$/,
  /^(?:enviado (?:desde|do|de|a partir do|via) .{1,60}|obtener outlook para .{1,30}|obter o outlook para .{1,30})$/,
  /^(?:inviato (?:da|dal) .{1,60}|ottieni outlook per .{1,30})$/,
  /^(?:verstuurd vanaf .{1,60}|verzonden (?:vanaf|met|via) .{1,60}|outlook voor .{1,20} downloaden)$/,
  /^(?:(?:my )?(?:iphone|ipad|android|スマートフォン).{0,20}から送信.{0,10}|(?:发自|發自|来自)我?的?\s?.{1,40})$/,
)

/**
 * A line that begins with one of these neither quotes nor signs, nor divides unless it has a colon: no pattern above has to be tried on it. Who adds a
 * signature or a mark there takes its first letter out here, in both cases.
 */
export const plainBeginnings: ReadonlySet<number> = new Set(
  [...'\n0123456789BCFHJKLNPQRUWXYZbcfhjklnpqruwxyz!"#$%&\'()+,./;<?@'].map((letter) => letter.charCodeAt(0)),
)
