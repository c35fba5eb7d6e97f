import type { FailureClass } from './report.ts'

/**
 * What servers say when they refuse, as data. A new wording is a new line here and a new pair of files in fixtures/. Patterns have no
 * unbounded middle (`.{0,40}`, never `.*`): they run on text of strangers.
 */
export interface BounceRule {
  class: FailureClass
  reason: string
  patterns: RegExp
}

const any = (...patterns: RegExp[]) => new RegExp(patterns.map((pattern) => `(?:${pattern.source})`).join('|'), 'iu')

const noSuchMailbox = 'There is no such mailbox'
const mailboxOff = 'The mailbox is switched off'
const mailboxFull = 'The mailbox is full'
const noSuchDomain = 'The domain does not exist or takes no mail'
const tooLarge = 'The message is too large for the receiver'
const refusedSender = 'The receiving server does not take mail from this sender'
const refusedContent = 'The receiving server took the message for spam'
const noAnswer = 'The receiving server could not be reached'
const tooMany = 'The receiver takes no more mail for now'

/**
 * RFC 3463 and its registry, by "subject.detail" for permanent failures; "subject.*" for the rest of a subject. `isVague`: used for so
 * many things that the words decide.
 */
export const statusReasons: Record<string, { class: FailureClass; reason: string; isVague?: boolean }> = {
  '1.*': { class: 'hard', reason: noSuchMailbox },
  '1.2': { class: 'hard', reason: noSuchDomain },
  '1.6': { class: 'hard', reason: 'The mailbox has moved and left no new address' },
  // The sender's address, not the recipient's.
  '1.7': { class: 'policy', reason: refusedSender },
  '1.8': { class: 'policy', reason: refusedSender },
  '1.9': { class: 'soft', reason: 'The message was passed to a server that cannot report back' },
  '1.10': { class: 'hard', reason: noSuchDomain },
  '2.*': { class: 'soft', reason: 'The mailbox cannot take mail', isVague: true },
  '2.1': { class: 'hard', reason: mailboxOff },
  '2.2': { class: 'soft', reason: mailboxFull },
  '2.3': { class: 'policy', reason: tooLarge },
  '2.4': { class: 'soft', reason: 'The mailing list behind the address does not work' },
  '3.*': { class: 'soft', reason: 'The receiving server has a problem', isVague: true },
  '3.1': { class: 'soft', reason: 'The receiving server is full' },
  '3.4': { class: 'policy', reason: tooLarge },
  '4.*': { class: 'soft', reason: noAnswer, isVague: true },
  '4.6': { class: 'soft', reason: 'The message went round in circles between servers' },
  '4.7': { class: 'soft', reason: noAnswer },
  '5.*': { class: 'soft', reason: 'The two servers did not understand each other', isVague: true },
  '6.*': { class: 'policy', reason: 'The receiving server cannot read this kind of message' },
  '7.*': { class: 'policy', reason: refusedSender },
}

/** The first that matches decides. What is about the sender comes first: such answers often repeat "recipient rejected" as well. */
export const textRules: readonly BounceRule[] = [
  {
    class: 'policy',
    reason: refusedContent,
    patterns: any(
      /\bspam(?![\w-]*\.)(?:my)?\b/,
      /unsolicited (?:bulk |commercial )?(?:e-?)?mail|unusual rate of unsolicited/,
      /looks like (?:junk|bulk)|junk mail|bulk mail (?:rejected|refused)/,
      /content (?:rejected|refused|filter)|rejected (?:due to|for|by) (?:its )?content|message content (?:is )?(?:rejected|not accept)/,
      /phish|virus (?:found|detected|infected)|infected with|malware|suspicious (?:url|link|attachment|content)/,
      /垃圾邮件|スパムメール|迷惑メールと(?:判定|判断)|als spam|indésirable|correo no deseado/,
    ),
  },
  {
    class: 'policy',
    reason: refusedSender,
    patterns: any(
      /block ?list|blacklist|black list|denylist|spamhaus|barracudacentral|spamcop|sorbs|\bdnsbl\b|\brbl\b|listed (?:at|by|in|on) [\w.-]*bl\b/,
      /(?:poor|bad|low) (?:sender )?reputation|reputation of (?:the|your)|banned sending ip|(?:your|sending|client) (?:ip|host|server)[^\n]{0,60}(?:blocked|rejected|refused|denied|banned)/,
      /(?:spf|dkim|dmarc)[^.\n]{0,60}(?:fail|reject|required|not pass|did not pass|policy)|(?:fails?|failed|failing) (?:spf|dkim|dmarc)|unauthenticated (?:e-?mail|sender)|sender (?:is )?not authenticated|authentication (?:checks? )?(?:failed|required)/,
      /(?:relay(?:ing)?) (?:access )?(?:denied|not permitted|not allowed|prohibited)|unable to relay|not allowed to relay|we do not relay/,
      /sender (?:address )?(?:rejected|denied|blocked|verify failed|not allowed)|sender verif|policy (?:reasons|violation|restriction|rejection)|(?:rejected|refused|denied|blocked) (?:by|due to|for) (?:\w+ ){0,2}polic|against (?:our|local) policy/,
      /not allowed to send|only accepts? (?:mail|messages) from|restricted to|permission to send|delivery not authorized|authorized senders|access denied\b(?! *\.? *\[?as\(201806281\))/,
      /reverse dns|ptr record|no rdns|helo (?:command )?rejected|tls (?:is )?required|must issue a starttls/,
      /(?:ip|adresse|server) (?:wurde|ist) (?:gesperrt|blockiert)|absender(?:adresse)? (?:abgelehnt|nicht akzeptiert)|expéditeur (?:refusé|rejeté|bloqué)|发件人被拒绝|拒绝接收|被拒绝投递/,
    ),
  },
  {
    class: 'soft',
    reason: mailboxFull,
    patterns: any(
      /(?:mail ?box|inbox|account|user|recipient|maildir|folder|storage)[^.\n]{0,40}(?:is |has |was )?(?:full|over ?-?quota|over (?:its |the |their )?(?:storage )?(?:limit|quota)|out of storage|exceeded (?:its |the |their |storage |mailbox )*(?:quota|limit|size|storage|space|allocation))/,
      /over ?quota|quota (?:has been |is |was )?(?:exceeded|exceed|full|reached|violation)|exceed(?:s|ed|ing)? (?:\w+ ){0,3}quota|mailbox (?:size |storage )?limit exceeded|mailfolder is full|disk quota/,
      /insufficient (?:disk |system |mailbox )?(?:storage|space)|not enough (?:storage |disk |free )?space|no space left/,
      /(?:postfach|mailbox|briefkasten|konto)[^.\n]{0,40}(?:voll|überfüllt|überschritten|quota|speicherplatz)|speicherplatz[^.\n]{0,40}(?:erschöpft|überschritten|voll)/,
      /bo[iî]te[^.\n]{0,40}(?:pleine|satur)|quota[^.\n]{0,30}(?:dépass|atteint)|espace[^.\n]{0,30}(?:insuffisant|satur)/,
      /buz[oó]n[^.\n]{0,40}(?:llen[oa]|cuota|límite)|cuota[^.\n]{0,30}(?:excedid|superad)|bandeja[^.\n]{0,30}llena/,
      /caixa[^.\n]{0,40}(?:cheia|lotada|cota)|cota[^.\n]{0,30}excedida|casella[^.\n]{0,40}(?:piena|superat)|quota[^.\n]{0,30}superata/,
      /(?:postvak|mailbox|brievenbus)[^.\n]{0,30}(?:vol\b|overschreden)|postl[aå]da[^.\n]{0,20}full|skrzynk[^.\n]{0,40}(?:pełna|przepełniona)|ящик[^.\n]{0,30}переполнен|posta kutusu[^.\n]{0,20}dolu/,
      /邮箱(?:已满|空间不足|容量不足|已超)|信箱(?:已滿|空間不足)|容量(?:超過|を超え|不足|オーバー)|メールボックスが(?:一杯|いっぱい|満杯)|사서함[^.\n]{0,20}(?:가득|초과)/,
    ),
  },
  {
    class: 'policy',
    reason: tooLarge,
    patterns: any(
      /(?:message|mail|size)[^.\n]{0,40}(?:too (?:large|big)|exceeds? (?:the )?(?:fixed |maximum |max |message )*(?:size|limit|length))|message size (?:limit )?exceed|exceeds? (?:the )?(?:maximum|allowed|fixed) (?:message )?size/,
      /nachricht (?:ist )?zu gro(?:ß|ss)|message trop volumineux|mensaje (?:es )?demasiado grande|邮件(?:过大|太大)|メールサイズ/,
    ),
  },
  {
    class: 'soft',
    reason: tooMany,
    patterns: any(
      /(?:receiving|received) (?:mail |e-?mail |messages )?(?:at a rate|too (?:many|quickly|fast))|rate ?-?limit|too many (?:messages|recipients|connections|e-?mails|concurrent)|throttl|try again later|greylist|grey-list|temporar(?:y|ily) (?:deferred|rejected|unavailable|disabled|failure|error|problem)|resources temporarily/,
      /频率|发送过于频繁|一時的/,
    ),
  },
  {
    class: 'hard',
    reason: mailboxOff,
    patterns: any(
      /(?:mail ?box|account|user|recipient|address)[^.\n]{0,50}(?:is |has been |was |currently |been )*(?:disabled|inactive|suspended|deactivated|closed|locked|discontinued|no longer (?:active|available|in use|valid|exists?|receiv\w+|accept\w+)|not active|expired|terminated|blocked from receiving)/,
      /no longer (?:works?|employed|with (?:us|the company))|left the (?:company|organi[sz]ation)/,
      /(?:postfach|konto|adresse)[^.\n]{0,40}(?:deaktiviert|gesperrt|stillgelegt|nicht mehr (?:aktiv|gültig|vorhanden|verfügbar))|compte[^.\n]{0,40}(?:désactivé|suspendu|fermé|inactif)|cuenta[^.\n]{0,40}(?:desactivada|deshabilitada|suspendida|inactiva)|conta[^.\n]{0,30}(?:desativada|suspensa|inativa)/,
      /账(?:号|户)(?:已)?(?:被)?(?:停用|冻结|禁用|注销)|帐(?:号|户)(?:已)?(?:被)?(?:停用|冻结|禁用|注销)|用户被锁定/,
    ),
  },
  {
    class: 'hard',
    reason: noSuchDomain,
    patterns: any(
      /\b(?:host|domain)(?: or domain)?(?: name)?(?: \S{1,80})?(?: is| was)? (?:not found|unknown|does ?n[o']t exist|nonexistent|non-existent|invalid)(?!.{0,10}try again)|no such (?:domain|host)|unrout(?:e)?able (?:mail )?domain|unrouteable address|bad destination (?:host|mailbox system)|null mx|does ?n[o']t accept (?:any )?(?:e-?)?mail|couldn't find any host named|dns domain[^.\n]{0,40}does not exist|nxdomain|name or service not known|no mx (?:or a )?record/,
      /domain[^.\n]{0,30}(?:existiert nicht|nicht gefunden)|domaine[^.\n]{0,30}(?:inexistant|introuvable|n'existe pas)|dominio[^.\n]{0,30}(?:no existe|inexistente|non esiste)|域名不存在|找不到域名/,
    ),
  },
  {
    class: 'hard',
    reason: noSuchMailbox,
    patterns: any(
      /(?:user|recipient|mail ?box|address(?:ee)?|account|customer|alias|local part)[^.\n]{0,60}(?:unknown|not (?:be )?found|does ?n[o']t exist|not exist|no such|invalid|not (?:known|valid|listed|recogni[sz]ed|local|here)|unavailable|nonexistent|non-existent|is undeliverable|couldn't be found|wasn't found|was not found|has no mailbox)/,
      /(?:unknown|invalid|no such|nonexistent|non-existent|bad|illegal|undeliverable|unrecogni[sz]ed)[^.\n]{0,25}(?:user|recipient|mail ?box|address|account|person|alias|local[- ]part|rcpt)/,
      /no mail ?box (?:here|by that name|found|with)|doesn't have an? \S{1,80} account|does not have an? (?:\S{1,80} )?(?:account|mailbox)|not a (?:valid|known) (?:user|recipient|mailbox|address|account)|not our customer|not listed in (?:domino|public name)|no account by that name|nosuchuser|resolver\.adr\.(?:recip|ex)notfound|recipnotfound|recipient (?:address )?rejected|mailbox unavailable|dd requested mail action not taken|no local mailbox|there is no (?:one|user|mailbox|account)/,
      /(?:empfänger|benutzer|adresse|postfach|nutzer)[^.\n]{0,50}(?:unbekannt|existiert nicht|nicht gefunden|nicht vorhanden|ungültig|nicht bekannt)|unbekannter (?:empfänger|benutzer|nutzer)|kein (?:solches postfach|mailkonto)/,
      /(?:utilisateur|destinataire|adresse|compte|bo[iî]te)[^.\n]{0,50}(?:inconnue?|n'existe pas|inexistante?|introuvable|invalide)|adresse d'au moins un destinataire invalide|invalid recipient/,
      /(?:usuario|destinatario|dirección|cuenta|buzón)[^.\n]{0,50}(?:desconocid[oa]|no existe|no (?:se )?(?:ha )?encontrad[oa]|inexistente|no válid[oa])|(?:usuário|destinatário|endereço|conta|caixa postal)[^.\n]{0,50}(?:desconhecid[oa]|não existe|inexistente|inválid[oa]|não (?:foi )?encontrad[oa])|(?:utente|destinatario|indirizzo|casella)[^.\n]{0,50}(?:sconosciut[oa]|non esiste|inesistente|non trovat[oa])|(?:gebruiker|ontvanger|geadresseerde|adres)[^.\n]{0,50}(?:onbekend|bestaat niet|niet gevonden)/,
      /(?:пользовател|адресат|получател|ящик)[^.\n]{0,40}(?:не (?:найден|существует)|неизвест)|нет такого (?:пользователя|ящика)|nieznany użytkownik|adresat[^.\n]{0,20}nie istnieje/,
      /(?:用户|收件人|邮箱|帐号|账号|郵箱|地址)[^。\n]{0,20}(?:不存在|未找到|无效|不正确)|不存在的?(?:用户|收件人|邮箱)|(?:宛先|アドレス|ユーザー?|メールアドレス)[^。\n]{0,30}(?:不明|見つかりません|存在しません|見つかりませんでした|確認できません)|宛先不明|user unknown/,
    ),
  },
  {
    class: 'soft',
    reason: noAnswer,
    patterns: any(
      /(?:connection|connect|conversation|operation|session)[^.\n]{0,50}(?:timed out|refused|reset|lost|failed|dropped)|no route to host|network (?:is )?unreachable|not responding|did ?n[o']t respond|unable to connect|could ?n[o']t connect|retry time(?:out)?(?: not reached)? exceeded|queue too long|too old|expired|hop count|mail loop|too many hops|routing loop|host not found, try again|name service error/,
      /zeitüberschreitung|délai (?:dépassé|expiré)|tiempo de espera|连接超时|无法连接/,
    ),
  },
]
