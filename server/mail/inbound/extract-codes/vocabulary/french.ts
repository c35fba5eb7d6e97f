import { each, phrases, type Vocabulary } from './vocabulary.ts'

export const french: Vocabulary = {
  codes: phrases(`
    mot de passe temporaire | mot de passe provisoire | code provisoire | code de votre connexion | code à usage unique
    code unique | mot de passe à usage unique | mot de passe unique | code temporaire | code secret | code otp | code d'inscription
    code pour vous connecter | code pour te connecter | code à six chiffres | code à 6 chiffres | code à quatre chiffres
    code à 4 chiffres | code à 8 chiffres | code d'accès temporaire | code à usage limité | clé temporaire
  `).concat(
    each(
      'code | clé | clef | mot de passe | pin',
      "de vérification | de confirmation | de sécurité | de connexion | de validation | d'activation | de récupération | de réinitialisation | d'authentification | d'identification",
    ),
    each('numéro', 'de vérification | de sécurité'),
  ),
  maybeCodes: phrases(`code | code d'accès | code pin | chiffres | code suivant | code ci dessous`),
  commands: phrases(`saisissez | saisis | entrez | entre | utilisez | utilise | tapez | renseignez | indiquez | saisir`),
  otherNumbers: phrases(`
    code du portail | code de la porte | code du bâtiment | code promo | code promotionnel | code de réduction | code réduction | code avantage | code postal | code cadeau | code parrainage
    code de parrainage | code erreur | code barres | code barre | code qr | code de retrait | code retrait | code d'erreur
    code de réservation | code réservation | code de suivi | code ape | code naf | code porte | code de livraison | code d'immeuble
    code wifi | code article | code produit | code source | code privilège | code de la réunion | code client | code d'invitation
    code d'entrée | commande | numéro de commande | commande no | facture | numéro de facture | numéro de suivi | suivi | colis
    référence | réf | dossier | numéro de dossier | ticket | réservation | numéro de réservation | vol | train | siège | voiture
    place | chambre | client | numéro client | numéro de client | compte | numéro de compte | contrat | numéro de contrat | adhérent
    numéro d'adhérent | carte | se terminant par | terminant par | finissant par | se termine par | derniers chiffres | téléphone
    tél | appelez le | appelez | fax | siret | siren | rcs | tva | iban | bic | version | année | numéro | no | montant | total
    solde | bp | cedex | facturation | identifiant | numéro de série | transaction | numéro de transaction | demande
  `),
  units: phrases(`
    seconde* | minute* | heure* | jour* | semaine* | mois | an | ans | années | euros | points | lecteurs | abonnés | membres
    clients | personnes | paris | lyon | cedex | marseille | pages
  `),
  expiry: phrases(`
    expire dans | expirera | expire à | expire au bout | valable | valide pendant | est valide | valide | a une durée | usage unique
    qu'une seule fois | qu'une fois | reste actif
  `),
  caution: phrases(`
    ne partagez | ne le partagez | ne communiquez | ne le communiquez | ne transmettez | ne le transmettez | ne partage
    ne le partage | ne divulguez | n'avez pas demandé | n'as pas demandé | n'êtes pas à l'origine | n'es pas à l'origine | ignorez ce
    ignorer ce | ignore ce | n'avez pas effectué | n'avez pas fait | ne tenez pas compte | ne vous demandera | ne vous demanderons
    n'avez pas tenté | n'avez rien demandé | confidentiel | n'avez pas créé | à personne | n'avez pas sollicité | par erreur
  `),
  wayOut: phrases(`
    ce n'était pas vous | ce n'est pas vous | n'était pas vous | n'est pas vous | pas vous | n'êtes pas l'auteur | ne reconnaissez pas
    sécurisez votre compte | pas toi
  `),
  sign_in: phrases(`
    connexion | vous connecter | te connecter | connectez vous | se connecter | connecte toi | lien de connexion | code de connexion
    identifiez vous | vous identifier | authentification | me connecter | nouvel appareil | double authentification | lien magique
  `),
  verification: phrases(`
    vérifier | vérifiez | vérifie | vérification | code de confirmation | code de validation | confirmation d'inscription | finaliser votre inscription
    finalisez votre inscription | terminer votre inscription | terminez votre inscription | activation de votre compte | activation du compte
    confirmation de votre adresse | confirmation de votre inscription | code d'activation
  `).concat(
    each(
      'confirmer | confirmez | confirme | je confirme | valider | validez | valide | je valide | activer | activez | active',
      "votre | ton | ta | mon | cette | l' | notre",
      'adresse | e mail | email | mail | application | appli | appareil | profil | espace | compte | inscription | abonnement | identité | courriel',
    ),
  ),
  password_reset: phrases(`
    réinitialiser | réinitialisation | réinitialisez | réinitialise | mot de passe oublié | nouveau mot de passe
    changer votre mot de passe | changer mon mot de passe | récupération de compte | récupérer votre compte
    changement de mot de passe | choisir un mot de passe
  `),
  buttons: phrases(`confirmer | continuer | oui | je confirme | activer | valider | commencer | accéder | je valide`),
  here: phrases(`ici | cliquez ici | clique ici | en cliquant ici | ce lien | le lien | lien suivant | lien ci dessous`),
  otherLinks: phrases(`
    désabonner | désinscrire | désabonnement | se désinscrire | me désinscrire | confidentialité | conditions | mentions légales
    aide | contact* | préférences | dans le navigateur | en savoir plus | lire la suite | version en ligne | suivre mon colis
    annuler | refuser | supprimer | signaler | paramètres
  `),
  occasions: phrases(`
    votre commande | ta commande | livraison | colis | réduction | promo | réservation | vol | hôtel | embarquement | réunion
    rendez vous | facture | offre | soldes | point relais | séjour | billet
  `),
}
