/**
 * How people ask to be taken off a list, as whole sentences in lower case without punctuation. A pattern must match all of the
 * sentence, so that one which merely contains the word does not count.
 */
const whole = (source: string) => new RegExp(`^(?:${source})$`, 'u')

const please = "(?:please |pls |plz |kindly |hi |hello |hey |can you |could you |would you |i want you to |i'd like you to |just )*"
const thanks =
  '(?: please| pls| plz| thanks| thank you| thx| now| immediately| asap| today| at once| from now on| right away| right now| already| ok| okay| cheers| many thanks| thanks a lot| thank you very much)*'
const me = '(?:me|us|my (?:e-?mail(?: address)?|address|name|account)|this (?:e-?mail(?: address)?|address)|[^ @]+@[^ @]+)'
const theList =
  '(?:the|this|your|all|any|these|those|all of your|all your|future|further)? ?(?:mailing |mail |e-?mail |news ?letter |marketing |distribution )*(?:list|lists|mailing|mailings|news ?letter|news ?letters|e-?mails?|mails?|messages?|database|subscription|updates?|everything|all)'
const from = `(?: (?:from|off|of|to) (?:${theList}|it|this|here))?`

export const commands: readonly RegExp[] = [
  // English
  whole(
    `${please}(?:stop|stopp|stop all|stopall|unsubscribe|unsub|un-subscribe|un subscribe|unsuscribe|unsubcribe|unsubscribed|opt ?-?out|remove|cancel|end|quit)(?: (?:stop|unsubscribe|remove|all|${me}))*${from}${thanks}`,
  ),
  whole(
    `${please}(?:take|get|remove|delete|drop|strike|unsubscribe|opt|sign|erase) ${me} (?:off|out|from|of)?(?: of)? ?(?:${theList}|it|this|here)?${thanks}`,
  ),
  whole(
    `${please}(?:stop|quit|cease) (?:sending|e-?mailing|mailing|writing|contacting|spamming|bothering|messaging|writing to)(?: to)?(?: me| us)?(?: (?:these|those|this|your|any|any more|more|all|all these|such|the|further)? ?(?:e-?mails?|mails?|messages?|news ?letters?|spam|stuff|things|crap|junk|updates?))?(?: to me| to this address)?(?: any ?more)?${thanks}`,
  ),
  whole(
    `${please}(?:do not|don't|dont|never) (?:send|e-?mail|mail|write(?: to)?|contact|message)(?: me| us)?(?: (?:these|this|your|any|any more|more|further|such)? ?(?:e-?mails?|mails?|messages?|news ?letters?|spam|stuff))?(?: again| any ?more| ever again| in (?:the )?future)?${thanks}`,
  ),
  whole(
    `(?:no more|no further|enough (?:of )?(?:this |these |your )?(?=e-?mails?|mails?|messages?|spam))(?: ?(?:e-?mails?|mails?|messages?|news ?letters?|of this|spam))?${thanks}`,
  ),
  whole(
    `${please}stop (?:all |these |those |this |your |the |all these |all your )*(?:e-?mails?|mails?|messages?|news ?letters?|mailings?|spam)${thanks}`,
  ),
  whole(`i want (?:off|out|out of)(?: (?:of )?${theList})?${thanks}`),
  whole(`${please}(?:cancel|end|stop|terminate) (?:my|the|this) (?:subscription|news ?letter|membership|e-?mails?|mailing)${thanks}`),
  whole(
    `i(?:'d| would)? (?:want|like|wish|need) to (?:unsubscribe|be removed|be unsubscribed|opt out|be taken off|cancel(?: my subscription)?|stop receiving)(?: (?:from )?${theList})?${thanks}`,
  ),
  whole(
    `i (?:do not|don't|dont|no longer) (?:want|wish|care)(?: to (?:receive|get|have))?(?: (?:this|these|your|any|any more|more|to be on))? ?${theList}(?: any ?more| any longer)?${thanks}`,
  ),
  whole(`(?:stop|unsubscribe|remove)(?: (?:stop|unsubscribe|remove|it|this))+${thanks}`),
  whole(`${please}leave (?:me|us) alone${thanks}`),
  // German
  whole(
    '(?:bitte )?(?:abmelden|abbestellen|austragen|kündigen|stopp?|löschen|newsletter (?:abmelden|abbestellen|kündigen|stoppen)|abmeldung|kündigung|abo (?:kündigen|beenden)|vom newsletter abmelden|aus (?:dem|ihrem) verteiler (?:nehmen|löschen|streichen|entfernen))(?: bitte| danke| vielen dank| sofort)*',
  ),
  whole(
    '(?:bitte |können sie |könnt ihr )*(?:melden sie|meldet|meld|nehmen sie|nehmt|nimm|tragen sie|tragt|trag|streichen sie|streicht|löschen sie|löscht|entfernen sie|entfernt) (?:mich|uns|meine (?:e-?mail-?)?adresse)(?: bitte)?(?: (?:von|vom|aus|von der|aus der|aus dem|von diesem|von ihrem|aus ihrem|aus eurem))?(?: (?:newsletter|verteiler|liste|mailingliste|e-?mail-?verteiler))?(?: ab| aus| heraus| raus| wieder ab)?(?: bitte| danke| vielen dank| sofort)*',
  ),
  whole(
    '(?:bitte )?(?:keine|keinen) (?:weiteren |weitere )?(?:e-?mails?|mails?|newsletter|nachrichten|werbung)(?: mehr)?(?: (?:schicken|senden|zusenden|bitte|an mich|erwünscht))*',
  ),
  whole(
    '(?:bitte )?(?:schicken|senden|schickt|sendet) (?:sie )?mir (?:bitte )?(?:keine|keinen) (?:weiteren |weitere )?(?:e-?mails?|mails?|newsletter|nachrichten)(?: mehr)?(?: bitte| danke)*',
  ),
  whole(
    'ich (?:möchte|will) (?:mich )?(?:abmelden|(?:den|ihren|diesen) newsletter (?:abbestellen|kündigen|nicht mehr (?:erhalten|bekommen))|keine (?:e-?mails?|mails?|newsletter) mehr(?: erhalten| bekommen)?|vom newsletter abmelden|(?:mich )?vom newsletter abmelden)(?: bitte| danke)*',
  ),
  whole('hiermit (?:kündige ich|bestelle ich|melde ich mich)(?: (?:den|ihren|diesen|vom))? ?(?:newsletter|abo)?(?: ab)?'),
  // French
  whole(
    "(?:(?:merci de|veuillez|svp|s'il vous plaît|pouvez-vous|je souhaite|je veux|je voudrais|prière de) )*(?:stop|désinscrire|désinscription|désabonner|désabonnement|désinscrivez-moi|désabonnez-moi|desinscription|desabonnement|retirer|supprimer|me désinscrire|me désabonner|me retirer|me supprimer|retirez-moi|supprimez-moi|enlevez-moi)(?: (?:moi|mon adresse|mon e-?mail|mon mail))?(?: (?:de|à) (?:la|votre|cette|vos) (?:liste|liste de diffusion|newsletter|lettre|mailing list|listes|envois))?(?: (?:svp|merci|s'il vous plaît|merci d'avance))*",
  ),
  whole(
    "(?:merci de |veuillez )?(?:ne (?:plus )?(?:m'envoyez|m'envoyer|m'écrivez|m'écrire|me contactez|me contacter|envoyez|envoyer)(?: plus)?)(?: (?:de|d'|vos|ces|aucun))? ?(?:e-?mails?|mails?|messages?|newsletters?|courriels?)?(?: (?:svp|merci))*",
  ),
  whole(
    'je ne (?:veux|souhaite|désire) plus (?:recevoir|avoir) (?:de |vos |ces |cette |votre |la )?(?:e-?mails?|mails?|messages?|newsletters?|courriels?|lettre)(?: (?:svp|merci))*',
  ),
  whole("plus (?:de|d'|aucun) ?(?:e-?mails?|mails?|messages?|newsletters?|courriels?)(?: (?:svp|merci))*"),
  // Spanish
  whole(
    '(?:por favor )?(?:baja|dar de baja|darme de baja|darse de baja|dame de baja|deme de baja|denme de baja|quiero darme de baja|deseo darme de baja|cancelar|(?:quiero |deseo )?cancelar (?:la |mi )?suscripción|anular (?:la |mi )?suscripción|desuscribir|desuscribirme|desuscribirse|eliminar|elimíname|elimínenme|bórrame|bórrenme|quítame|quítenme|parar|alto)(?: (?:de|en) (?:la|su|esta|tu|vuestra) (?:lista|lista de correo|newsletter|boletín|base de datos))?(?: (?:por favor|gracias|muchas gracias))*',
  ),
  whole(
    '(?:por favor )?no (?:me )?(?:envíen|envíe|envíes|enviéis|manden|mande|mandes|escriban|quiero recibir|deseo recibir|quiero)(?: más)?(?: (?:correos|e-?mails?|mensajes|mails?|boletines))?(?: más)?(?: (?:por favor|gracias))*',
  ),
  whole(
    '(?:quiero|deseo|quisiera) dejar de recibir (?:sus |estos |los |más )?(?:correos|e-?mails?|mensajes|mails?|boletines)(?: (?:por favor|gracias))*',
  ),
  whole('no más (?:correos|e-?mails?|mensajes|mails?)(?: (?:por favor|gracias))*'),
  // Portuguese
  whole(
    '(?:por favor |favor )?(?:descadastrar|descadastre|descadastrem|descadastre-me|cancelar(?: (?:a )?(?:minha )?(?:inscrição|assinatura|subscrição))?|cancelar inscrição|remover|remova-me|remova|remover-me|me remova|me remova da lista|me descadastre|sair|parar|pare|quero sair|quero cancelar(?: (?:a )?(?:minha )?(?:inscrição|assinatura|subscrição))?|quero me descadastrar|desinscrever|desinscrever-me|retirar)(?: (?:meu e-?mail|o meu e-?mail|me))?(?: (?:da|desta|dessa|de sua|da sua) (?:lista|newsletter|base|mailing|lista de e-?mails))?(?: (?:por favor|obrigad[oa]))*',
  ),
  whole(
    '(?:por favor )?não (?:me )?(?:enviem?|mandem?|quero (?:mais )?receber|desejo (?:mais )?receber|quero)(?: mais)?(?: (?:e-?mails?|mensagens|newsletters?))?(?: mais)?(?: (?:por favor|obrigad[oa]))*',
  ),
  // Italian
  whole(
    '(?:per favore |per cortesia |vi prego di |prego )*(?:cancellami|cancellatemi|cancellazione|cancellarmi|cancella|disiscrivimi|disiscrivetemi|disiscrizione|disiscrivermi|disiscrivi|disiscriviti|disdire|rimuovimi|rimuovetemi|rimuovere|toglietemi|toglimi|stop|basta|voglio cancellarmi|vorrei cancellarmi|voglio disiscrivermi)(?: (?:dalla|da questa|dalla vostra|dalla tua) (?:lista|newsletter|mailing list))?(?: (?:per favore|grazie))*',
  ),
  whole(
    '(?:per favore )?non (?:inviatemi|mandatemi|scrivetemi|voglio (?:più )?ricevere|desidero (?:più )?ricevere)(?: più)?(?: (?:e-?mail|mail|messaggi|newsletter|queste mail|la newsletter))?(?: (?:per favore|grazie))*',
  ),
  // Dutch
  whole(
    '(?:graag |gelieve (?:mij )?|alstublieft |a\\.?u\\.?b\\.? |aub )*(?:afmelden|uitschrijven|uitschrijving|afmelding|opzeggen|stop|stoppen|verwijderen|verwijder mij|verwijder me|schrijf mij uit|schrijf me uit|meld mij af|meld me af|haal mij van de lijst|haal me van de lijst|nieuwsbrief (?:opzeggen|afmelden)|(?:opzeggen|afmelden) nieuwsbrief|ik wil me (?:afmelden|uitschrijven)|ik wil mij (?:afmelden|uitschrijven))(?: (?:van|uit|voor) (?:de|deze|uw|jullie) (?:lijst|mailinglijst|nieuwsbrief))?(?: (?:alstublieft|aub|graag|bedankt|dank u|dank je))*',
  ),
  whole(
    '(?:graag )?geen (?:e-?mails?|mails?|nieuwsbrief|nieuwsbrieven|berichten) meer(?: (?:sturen|ontvangen|alstublieft|aub|graag|bedankt))*',
  ),
  // Japanese, Chinese
  whole(
    '(?:メール|メルマガ|メールマガジン|ニュースレター)?の?(?:配信|登録|購読)?の?を?(?:停止|解除|退会|配信停止|購読解除|登録解除|解約)(?:を?(?:希望|お願い)(?:します|いたします|致します|です)?|して(?:ください|下さい)|してほしいです)?',
  ),
  whole('(?:もう)?(?:メール|メルマガ)を?(?:送らないで|送信しないで|止めて|やめて|不要)(?:ください|下さい|です)?'),
  whole(
    '(?:请|請|我要|我想|我想要|麻烦)*\\s?(?:退订|退訂|取消订阅|取消訂閱|取消關注|停止发送|停止發送|停止|td|t|不要再发了?|不要再发邮件了?|别再发了|别发了|别再发邮件了?|请勿再发|请不要再发(?:邮件)?了?|将我移除|把我移除|删除我)(?:邮件|郵件|此邮件|本邮件|邮件列表|名单|电子报|電子報)?(?: ?(?:谢谢|謝謝|吧|了))*',
  ),
]

/** May stand beside a request without making it another thing. */
export const pleasantries = whole(
  [
    '(?:many )?thanks?(?: you)?(?: (?:very much|so much|a lot|in advance))?|thx|ty|cheers|please|sorry|(?:thanks but )?no thanks?|no thank you|bye|goodbye|good bye|that is all|ok|okay|hi|hello|hey',
    'i (?:have )?(?:already )?asked you to stop(?: (?:before|already))?',
    "i (?:never|did not|didn't) (?:sign(?:ed)? up|subscribe|subscribed|ask(?:ed)?)(?: (?:for|to) (?:this|it|these|your (?:list|newsletter|e-?mails)|this (?:list|newsletter)|these e-?mails))?",
    "(?:i(?:'m| am) )?(?:not|no longer) interested(?: any ?more)?|i get too (?:many|much) (?:e-?mails?|mail)|too many e-?mails?|nothing personal|no hard feelings|all the best|have a (?:nice|good|great) (?:day|week|weekend)",
    'danke(?: schön| im voraus)?|vielen dank(?: im voraus)?|besten dank|bitte|kein interesse(?: mehr)?|schönen tag(?: noch)?|hallo|guten tag|ich habe (?:mich nie|nie) (?:angemeldet|bestellt)',
    "merci(?: (?:beaucoup|d'avance|par avance|bien))?|svp|s'il vous plaît|bonne journée|bonjour|je ne suis (?:pas|plus) intéressée?",
    'gracias|muchas gracias|por favor|de antemano gracias|no me interesa|saludos|hola|buenos días|obrigad[oa]|muito obrigad[oa]|não tenho interesse|olá|bom dia',
    'grazie|grazie mille|per favore|non mi interessa|ciao|bedankt|dank u(?: wel)?|dank je(?: wel)?|alvast bedankt|alstublieft|geen interesse',
    'よろしくお願い(?:します|いたします|致します)|お願い(?:します|いたします|致します)|ありがとうございました?|谢谢|謝謝|多谢|您好|你好',
  ].join('|'),
)

export const greetings = whole(
  "(?:hi|hello|hey|dear|good (?:morning|afternoon|evening)|greetings|to whom it may concern|hallo|guten (?:tag|morgen|abend)|sehr geehrte[rs]?|liebe[rs]?|moin|servus|grüezi|bonjour|bonsoir|madame|chère?s?|salut|hola|buenos días|buenas(?: tardes)?|estimad[oa]s?|olá|oi|bom dia|boa tarde|prezad[oa]s?|ciao|buongiorno|salve|gentile|beste|goedemorgen|goedendag|dag|こんにちは|お世話になって(?:おります|います)|您好|你好)(?: [\\p{L}\\p{M}'-]{1,20}){0,4}",
)

export const closings = whole(
  "(?:(?:best|kind|warm|with kind) (?:regards|wishes)|regards|sincerely|yours(?: (?:sincerely|truly|faithfully))?|best|cheers|thanks?(?: you)?|many thanks|mit freundlichen grüßen|freundliche grüße|viele grüße|liebe grüße|beste grüße|mfg|vg|lg|gruß|grüße|cordialement|bien cordialement|salutations|(?:un )?saludos?(?: cordiales)?|atentamente|cumprimentos|atenciosamente|abraços?|cordiali saluti|distinti saluti|saluti|met vriendelijke groet(?:en)?|mvg|groet(?:en|jes)?|danke|merci|gracias|obrigad[oa]|grazie|bedankt)(?: [\\p{L}\\p{M}'-]{1,20}){0,3}",
)
