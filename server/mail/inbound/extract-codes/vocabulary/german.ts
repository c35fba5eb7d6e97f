import { each, phrases, type Vocabulary } from './vocabulary.ts'

export const german: Vocabulary = {
  codes: phrases(`
    verifizierungsnummer | prüfnummer | sicherheitsnummer | aktivierungsschlüssel | zugangsschlüssel | einmal tan | bestätigungscode
    bestätigungspin | sicherheitscode | sicherheitspin | verifizierungscode | verifizierungspin | verifikationscode
    verifikationspin | anmeldecode | anmeldepin | logincode | loginpin | einmalcode | einmalpin | zugangscode | zugangspin
    aktivierungscode | aktivierungspin | freischaltcode | freischaltpin | prüfcode | prüfpin | authentifizierungscode
    authentifizierungspin | registrierungscode | registrierungspin | wiederherstellungscode | wiederherstellungspin
    zurücksetzungscode | zurücksetzungspin | identifizierungscode | identifizierungspin | legitimationscode | legitimationspin
    autorisierungscode | autorisierungspin | freigabecode | freigabepin | einmalpasswort | einmalkennwort | einmal passwort
    einmal kennwort | tan | mobile tan | otp code | 2fa code | code zur anmeldung | code zum anmelden | code zur bestätigung
    code zur verifizierung | code zum zurücksetzen | code für die anmeldung | code für deine anmeldung | code für ihre anmeldung
    code für den login | zahlencode | einmaligen code | einmaliger code | zwei faktor code | reset code | e mail code
  `).concat(
    each(
      'bestätigungs | sicherheits | verifizierungs | verifikations | anmelde | login | einmal | zugangs | aktivierungs | freischalt | prüf | authentifizierungs | registrierungs | wiederherstellungs | zurücksetzungs | identifizierungs | legitimations | autorisierungs | freigabe',
      'code | pin',
    ),
  ),
  maybeCodes: phrases(`
    code | kennwort | ziffern | zahlenfolge | zugangscode | passcode | freischaltnummer | ziffernfolge | zeichenfolge
  `),
  commands: phrases(`
    gib | geben sie | gib bitte | bitte gib | bitte geben sie | verwende | verwenden sie | nutze | nutzen sie | eingeben | trage
    tippe
  `),
  otherNumbers: phrases(`
    code für die tür | code der tür | code für das tor | gutscheincode | gutschein code | rabattcode | rabatt code | aktionscode | aktions code | promocode | promo code | qrcode | qr code
    barcode | bar code | abholcode | abhol code | buchungscode | buchungs code | fehlercode | fehler code | einladungscode
    einladungs code | freundschaftscode | freundschafts code | vorteilscode | vorteils code | türcode | tür code | paketcode
    paket code | empfehlungscode | empfehlungs code | geschenkcode | geschenk code | liefercode | liefer code | reservierungscode
    reservierungs code | ländervorwahlcode | ländervorwahl code | ländercode | länder code | strichcode | strich code | farbcode
    farb code | stornocode | storno code | retourencode | retouren code | artikelcode | artikel code | trackingcode | tracking code
    packstationcode | packstation code | bestellnummer | bestellnr | bestell nr | bestell nummer | auftragsnummer | auftragsnr
    auftrags nr | auftrags nummer | rechnungsnummer | rechnungsnr | rechnungs nr | rechnungs nummer | kundennummer | kundennr
    kunden nr | kunden nummer | vertragsnummer | vertragsnr | vertrags nr | vertrags nummer | vorgangsnummer | vorgangsnr
    vorgangs nr | vorgangs nummer | ticketnummer | ticketnr | ticket nr | ticket nummer | sendungsnummer | sendungsnr | sendungs nr
    sendungs nummer | artikelnummer | artikelnr | artikel nr | artikel nummer | buchungsnummer | buchungsnr | buchungs nr
    buchungs nummer | reservierungsnummer | reservierungsnr | reservierungs nr | reservierungs nummer | telefonnummer | telefonnr
    telefon nr | telefon nummer | kontonummer | kontonr | konto nr | konto nummer | mitgliedsnummer | steuernummer | ust id | hrb
    handelsregister | amtsgericht | referenz | referenznummer | aktenzeichen | bestellung | rechnung | auftrag | sendung | ticket
    fall | anfrage | vorgang | flug | zug | gleis | sitz | zimmer | plz | postleitzahl | postfach | tel | telefon | mobil | fax
    hotline | anrufen | durchwahl | endet auf | endend auf | endziffern | endnummer | mit der endung | letzten vier ziffern | karte
    kreditkarte | konto | iban | bic | version | jahr | jahre | nummer | nr | betrag | summe | gesamt | stand | zählerstand
    zählernummer | wohneinheit | kennzeichen | fahrzeug | vorgangs id | kunden id | policennummer | versicherungsnummer | seriennummer
    geburtsdatum | transaktion | transaktionsnummer | beleg | belegnummer
  `),
  units: phrases(`
    sekunde* | minute* | stunde* | tag | tage | tagen | woche* | monat* | jahr* | uhr | euro | punkte* | meilen | leser* | nutzer*
    personen | mitglieder* | kunden | stück | seiten | prozent | berlin | hamburg | münchen | köln | wien | zürich | frankfurt
    leipzig | stuttgart | kwh
  `),
  expiry: phrases(`
    gültig | läuft ab | läuft in | verfällt | verliert seine gültigkeit | abgelaufen | gilt für | gilt nur | gilt noch | nur einmal
    einmal verwendbar
  `),
  caution: phrases(`
    nicht weiter | niemandem | niemals weiter | nicht mit anderen | nicht angefordert | nicht selbst angefordert
    ignorieren sie diese | ignoriere diese | ignorier diese | ignorieren | nicht registriert | keine anmeldung | nicht angemeldet
    niemanden weiter | geheim | versehentlich | nicht du warst | nicht beantragt | nichts weiter tun | nichts zu tun
    nicht veranlasst | fragt nie nach | fragen sie nie
  `),
  wayOut: phrases(`
    nicht du | nicht sie | warst du das nicht | waren sie das nicht | du das nicht | sie das nicht | nicht von dir | nicht von ihnen
    nicht selbst | sichere dein konto
  `),
  sign_in: phrases(`
    anmelden | anmeldung | anzumelden | einloggen | einzuloggen | login | anmeldelink | anmeldecode | melde dich | melden sie sich
    logge dich | einmalcode | zwei faktor | neues gerät | jetzt anmelden | einmalpasswort | loggen sie sich | angemeldet zu werden
    login code | einmal code | login link
  `),
  verification: phrases(`
    verifizieren | verifiziere | verifizierung | verifizierungscode | bestätigungscode | bestätigungslink | aktivierungscode | freischaltcode
    registrierung abschließen | registrierung abzuschließen | anmeldung abschließen | konto freischalten | konto freizuschalten
    anmeldung zum newsletter | newsletter anmeldung | bestätigen sie die änderung | änderung bestätigen | neue e mail adresse
  `).concat(
    each(
      'e mail | e mail adresse | mailadresse | adresse | konto | registrierung | anmeldung | abonnement | abo | identität | account | app | gerät | zugang',
      'bestätigen | zu bestätigen | aktivieren | zu aktivieren',
    ),
    each(
      'bestätige | bestätigen sie | aktiviere | aktivieren sie',
      'deine | dein | ihre | ihr | die | das',
      'e mail* | mail* | adresse | konto | registrierung | anmeldung | abonnement | abo | identität | account | app | gerät | zugang',
    ),
  ),
  password_reset: phrases(`
    passwort zurücksetzen | passwort zurückzusetzen | kennwort zurücksetzen | kennwort zurückzusetzen | passwort vergessen
    kennwort vergessen | neues passwort | neues kennwort | zurücksetzen deines passworts | zurücksetzen ihres passworts
    passwort ändern | passwort neu | kennwort neu | passworts | wiederherstellungscode | zurücksetzen des passworts | passwort zurück
    konto wiederherstellen | kontowiederherstellung | passwort reset
  `),
  buttons: phrases(
    `ja bestätigen | bestätigen | weiter | jetzt bestätigen | fortfahren | ja | loslegen | öffnen | aktivieren | abschließen`,
  ),
  here: phrases(`
    hier | hier klicken | klicke hier | klicken sie hier | diesen link | folgenden link | dem link | den link | auf den link
  `),
  otherLinks: phrases(`
    abmelden | abbestellen | austragen | datenschutz | impressum | agb | hilfe | kontakt | einstellungen | im browser | mehr erfahren
    weiterlesen | ablehnen | sendung verfolgen | kündigen | nutzungsbedingungen | löschen | melden sie dies | widerrufen | stornieren
  `),
  occasions: phrases(`
    ihre bestellung | deine bestellung | bestellnummer | lieferung | paket | rabatt | gutschein | buchung | reservierung | flug
    hotel | abholung | packstation | besprechung | einwahl | meeting | termin | rechnung | angebot | übernachtung | webinar | check in
  `),
}
