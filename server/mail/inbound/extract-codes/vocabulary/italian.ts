import { each, phrases, type Vocabulary } from './vocabulary.ts'

/** Fewer words than the six languages that are measured. */
export const italian: Vocabulary = {
  codes: phrases(`
    codice verifica | codice conferma | codice sicurezza | codice accesso | codice d'attivazione | codice attivazione
    codice convalida | codice recupero | codice d'autenticazione | codice autenticazione | codice login | codice ripristino
    codice monouso | password monouso | codice temporaneo | password temporanea | codice otp | codice usa e getta | codice a 6 cifre
  `).concat(
    each(
      'codice | pin | password',
      "di verifica | di conferma | di sicurezza | di accesso | d'accesso | di attivazione | di convalida | di recupero | di autenticazione | di login | di ripristino",
    ),
    each('numero', 'di verifica | di sicurezza'),
  ),
  maybeCodes: phrases(`codice | codice pin | cifre`),
  commands: phrases(`inserisci | inserisca | utilizza | utilizzi | digita | digiti`),
  otherNumbers: phrases(`
    codice promozionale | codice sconto | codice postale | codice a barre | codice fiscale | codice cliente | codice di tracciamento
    codice prenotazione | codice ordine | buono | ordine | numero ordine | numero d'ordine | fattura | spedizione | prenotazione
    volo | treno | conto | carta | che termina con | termina con | telefono | chiama | cap | partita iva | p iva | versione | anno
    totale
  `),
  units: phrases(`secondi | minuti | ore | giorni | euro | punti | persone | anni`),
  expiry: phrases(`scade | scadrà | valido | valida | validità | una sola volta`),
  caution: phrases(`
    non condividere | non condividerlo | non hai richiesto | non ha richiesto | ignora questa | ignora questo | ignori questa
    con nessuno | non comunicare
  `),
  wayOut: phrases(`non sei stato tu | non eri tu | non riconosci | proteggi il tuo account`),
  sign_in: phrases(`accedi | accedere | accesso | login | effettuare il login | entra in`),
  verification: phrases(`
    verifica | verificare | conferma il tuo | conferma la tua | confermare | confermi | attiva il tuo | attivare
    conferma l'indirizzo
  `).concat(
    each(
      'conferma | confermi | confermare | attiva | attivi | attivare',
      'il tuo | la tua | il suo | la sua',
      'account | email | e mail | indirizzo | iscrizione | registrazione | profilo',
    ),
  ),
  password_reset: phrases(`
    reimposta | reimpostare | reimpostazione | ripristina | ripristinare | nuova password | recupero password | recuperare la password
    password dimenticata
  `),
  buttons: phrases(`conferma | continua | attiva | prosegui`),
  here: phrases(`clicca qui | qui | questo link | il link`),
  otherLinks: phrases(`
    annulla iscrizione | disiscriviti | cancellati | privacy | termini | aiuto | preferenze | scopri di più | annulla
  `),
  occasions: phrases(`il tuo ordine | consegna | sconto | buono | prenotazione | volo | hotel | riunione | offerta | pacco`),
}
