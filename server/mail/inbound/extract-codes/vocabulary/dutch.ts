import { phrases, type Vocabulary } from './vocabulary.ts'

/** Fewer words than the six languages that are measured. */
export const dutch: Vocabulary = {
  codes: phrases(`
    verificatiecode | verificatie code | bevestigingscode | bevestigings code | beveiligingscode | beveiligings code | inlogcode
    inlog code | logincode | login code | aanmeldcode | aanmeld code | activatiecode | activatie code | activeringscode
    activerings code | toegangscode | toegangs code | controlecode | controle code | herstelcode | herstel code | eenmaligecode
    eenmalige code | eenmalig wachtwoord | tijdelijke code | tijdelijk wachtwoord | code om in te loggen | 6 cijferige code
  `),
  maybeCodes: phrases(`code | pincode | cijfers`),
  commands: phrases(`voer | vul | gebruik | typ`),
  otherNumbers: phrases(`
    kortingscode | actiecode | vouchercode | postcode | boekingscode | afhaalcode | qr code | streepjescode | foutcode
    reserveringscode | bestelling | bestelnummer | ordernummer | factuur | factuurnummer | klantnummer | zending | pakket
    trackingnummer | boeking | reservering | vlucht | trein | rekening | kaart | eindigend op | eindigt op | telefoon | bel | kvk
    btw | versie | jaar | totaal | zaaknummer
  `),
  units: phrases(`seconden | minuten | uur | dagen | euro | punten | mensen | jaar`),
  expiry: phrases(`verloopt | geldig | vervalt | eenmalig te gebruiken`),
  caution: phrases(`
    deel deze | deel hem niet | niet delen | niet aangevraagd | negeer deze | niet met anderen | met niemand | nooit om
  `),
  wayOut: phrases(`was jij dit niet | was u dit niet | herken je | niet herkent | beveilig je account`),
  sign_in: phrases(`inloggen | aanmelden | log in | in te loggen | aan te melden | inlogcode | inloglink | meld je aan`),
  verification: phrases(`
    verifieer | verifiëren | verificatie | bevestig je | bevestig uw | bevestigen | activeer je | activeer uw | activeren
    aanmelding bevestigen
  `),
  password_reset: phrases(`
    wachtwoord resetten | wachtwoord opnieuw | nieuw wachtwoord | wachtwoord vergeten | wachtwoord herstellen
    wachtwoord te herstellen | wachtwoord wijzigen | herstelcode | wachtwoord te resetten
  `),
  buttons: phrases(`bevestigen | bevestig | doorgaan | activeren`),
  here: phrases(`klik hier | hier | deze link | de link`),
  otherLinks: phrases(`afmelden | uitschrijven | privacy | voorwaarden | help | voorkeuren | lees meer | annuleren`),
  occasions: phrases(`
    je bestelling | uw bestelling | bezorging | korting | boeking | reservering | vlucht | hotel | vergadering | aanbieding | pakket
  `),
}
