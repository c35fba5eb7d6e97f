/** How mail that tells of a failure in plain text is recognised, in the languages that providers write it. */

const any = (...patterns: RegExp[]) => new RegExp(patterns.map((pattern) => `(?:${pattern.source})`).join('|'), 'iu')

/** Programs that write bounces, by the local part or the name they sign with. */
export const mailSystemSender = any(
  /^"?(?:mailer[-_. ]?daemon|mail[-_. ]?daemon|mdaemon|postmaster|post[-_. ]master|mmdf|mailmaster|mail[-_.]delivery[-\w.]*|mailsystem|mail-?system|bounces?|double-bounce|microsoftexchange[\da-f]+)(?:[+=-][^@]*)?"?@/,
  /(?:mail delivery (?:sub)?system|mail administrator|mail delivery service|system administrator|microsoft (?:outlook|exchange)|mailer-daemon|メール配信|邮件系统|系统退信)/,
)

/** Anchored: "Re: Undeliverable" is a person talking about one. */
export const bounceSubject = any(
  /^\s*(?:\*+ ?)?(?:undeliver(?:able|ed)|unzustellbar|nicht zustellbar|non remis|no se puede entregar|não entregue|non recapitabile|onbestelbaar)/,
  /^\s*(?:mail |message |e-?mail |returned mail:? ?|warning: |automatically )*(?:delivery|deliver) (?:status notification|failure|failed|failing|problem|error|report|notification|has failed|unsuccessful|incomplete)/,
  /^\s*(?:failure|failed|permanent|undelivered|returned|return|rejected|bounced)[ :-]+(?:notice|mail|delivery|message|to deliver|e-?mail|receipt)/,
  /^\s*(?:mail|message|e-?mail|your message)[^\n]{0,40}(?:undeliver|could ?n[o']t be delivered|not delivered|returned to sender|failure|failed|bounced|rejected|delayed|still being retried)/,
  /^\s*(?:nondeliverable|non-?delivery|nachricht (?:nicht|konnte nicht)|mail konnte nicht|unzustellbare|zustellung|échec|avis de non|message non distribué|rapport de non|notificación de (?:error|estado)|error de entrega|mensaje (?:no|devuelto)|correo devuelto|falha|mensagem (?:não|devolvida)|mancata consegna|messaggio non|impossibile|niet bezorgd|undelivered|nie dostarczono|zwrot|недоставленн|не доставлен|delivery status)/,
  /^\s*(?:退信|系统退信|邮件(?:投递|发送)失败|投递失败|無法(?:投遞|傳遞)|未送達|配信不能|送信エラー|メールが送信できません|宛先不明|배달 실패)/,
  /^\s*warning: (?:could not send|message)/,
  /^\s*(?:dsn|ndn|ndr)\s*[:-]/,
)

export const failurePhrase = any(
  /(?:could|can|would|will|was|is|has|have)(?: ?n[o']t| not)(?: be| been)? (?:be )?(?:delivered|deliver|reach|send|sent)|cannot be delivered|unable to deliver|undeliver(?:able|ed)|delivery (?:to the following|has failed|failed|failure|status)|permanent (?:fatal )?errors?|fatal errors|couldn't be delivered|wasn't delivered|weren't able to deliver|failed to (?:deliver|send)|could not be sent|returned to (?:the )?sender|not been delivered|hi\. this is the|message you sent|rejected your message|not delivered|error (?:while )?delivering/,
  /(?:nicht|konnte[^.\n]{0,60}nicht) (?:zugestellt|zustellen|ausgeliefert|übermittelt)|unzustellbar|zustellung[^.\n]{0,40}fehlgeschlagen/,
  /n['’](?:a|ont) (?:pas )?pu être (?:remis|distribu|délivr|livr|envoy)|pas (?:pu )?(?:être )?(?:remis|distribu|délivr|livr)|échec (?:de|définitif)|non (?:remis|distribué|délivré)/,
  /no (?:se )?(?:ha )?(?:podido|pudo|puede) (?:ser )?(?:entreg|envi)|no (?:ha sido|fue) entregad|não (?:pôde|pode|foi|foram) (?:ser )?entregue|impossibile (?:consegnare|recapitare)|non (?:è stato|può essere|consegnat)[^.\n]{0,30}|niet (?:worden |kunnen )?(?:bezorgd|afgeleverd)/,
  /не (?:может быть|было|удалось)[^.\n]{0,30}достав|nie (?:mogła|może|została)[^.\n]{0,30}dostarcz/,
  /无法(?:送达|投递|发送|投遞)|退回|退信|投递失败|未能送达|配信できません|送信できません|届けることができません|お届けできません|配信でき(?:な|ま)|送達できません/,
)

/** Still under way: a warning, not a bounce. */
export const delayNotice = any(
  /this is a warning message only|do not need to resend|will (?:continue|keep) (?:to (?:try|be)|trying)|delivery[^.\n]{0,40}(?:delayed|is delayed|has been delayed)|has not yet been delivered|not yet been delivered|still being retried|\(delay\)|is delayed|delivery incomplete|temporary problem delivering/,
  /verzögert|retard(?:é|ée)|retrasad|atrasad|ritardat|vertraagd/,
)

/** Where the notice ends and the returned message begins. */
export const returnedMessageMark = any(
  /^[\s>]*[-=_*]{2,}[^\n]{0,80}(?:copy of (?:the|your) message|original message|unsent message|returned message|message header|message text|headers? follow|message follows|original-nachricht|ursprüngliche nachricht|message d['’]origine|mensaje original|mensagem original|messaggio originale|原邮件|原始邮件|元のメール|返送)/,
  /^[\s>]*(?:original message headers|original message|headers of the original|der header der e-?mail|die ursprüngliche nachricht|en-têtes du message|encabezados|ursprungsnachricht)\s*:\s*$/,
  /^(?:received|return-path|dkim-signature|arc-seal): /,
)

/** Automatic, but no bounce: absence, questions back, summaries. */
export const otherAutomaticSubject = any(
  /^\s*(?:re: |aw: )?(?:auto(?:matic|mated)?[- ]?(?:reply|response|antwort)|out of (?:the )?office|ooo\b|vacation|abwesen|automatische (?:antwort|nachricht)|réponse automatique|absence|absent|respuesta automática|fuera de (?:la )?oficina|resposta automática|fora do escritório|ausência|risposta automatica|fuori (?:sede|ufficio)|automatisch antwoord|afwezig|自动回复|自動返信|自動応答|不在|autosvar|automatisk svar)/,
  /(?:please (?:verify|confirm) (?:you|your)|confirm (?:your|that) (?:message|e-?mail|you)|challenge|verification required|sender verification)/,
  /^\s*(?:report domain|dmarc|\[?preview\]? report domain|tls-?rpt|quarantine|spam (?:digest|report|summary)|daily (?:digest|summary)|read:|gelesen:|lu ?:|leído:|lida:|letto:|gelezen:|开封|既読)/,
)
