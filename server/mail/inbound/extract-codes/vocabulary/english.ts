import { each, phrases, type Vocabulary } from './vocabulary.ts'

export const english: Vocabulary = {
  codes: phrases(`
    one time password | one time passcode | one time pin | one time pass code | single use passcode | single use password | otp
    totp | verification pin | security pin | login pin | login passcode | sign in passcode | verification number
    verification passcode | verification token | login token | sign in token | security passcode | dynamic password
    temporary passcode | temporary pin
  `).concat(
    each(
      'verification | security | authentication | authorization | authorisation | validation | identification | activation | login | log in | sign in | signin | sign on | sign up | signup | registration | one time | onetime | single use | temporary | two factor | 2 factor | two step | 2 step | 2fa | mfa | multi factor | otp | magic | recovery | reset | password reset | password recovery | account recovery | device | pairing | email | e mail | verify | temporary login | temporary access',
      'code',
    ),
  ),
  maybeCodes: phrases(`
    code | pin | pin code | passcode | pass code | confirmation code | access code | confirmation number | digit code | key code
    reset token | token | digits | pass phrase | number below | following number | this number
  `),
  commands: phrases(`enter | use | type | type in | copy | paste | enter the number | please enter | submit`),
  otherNumbers: phrases(`
    promo code | promotion code | promotional code | discount code | coupon code | voucher code | gift code | gift card code
    referral code | invite code | invitation code | offer code | zip code | postal code | post code | country code | area code
    error code | status code | exit code | dress code | source code | qr code | bar code | booking code | reservation code
    tracking code | product code | item code | swift code | sort code | bank code | tax code | vat code | department code | cost code
    course code | class code | room code | door code | gate code | entry code | pickup code | pick up code | collection code
    locker code | delivery code | parcel code | colour code | color code | model code | part code | redemption code | redeem code
    savings code | member code | meeting code | conference code | dial in code | event code | guest code | wifi code | wi fi code
    network code | branch code | airport code | hex code | order code | checkout code | sale code | return code | refund code
    ticket code | return authorization code | style code | response code | station code | driver code | lock code | order | orders
    order no | order number | order id | purchase order | po number | invoice | invoice no | invoice number | receipt | receipt number
    bill | bill number | reference | reference number | ref | ref no | case | case number | case id | ticket | ticket number
    ticket id | issue | request number | incident | support id | booking | booking number | booking reference | reservation
    itinerary | reservation number | confirmation no | tracking | tracking number | tracking no | parcel | shipment | consignment
    waybill | flight | gate | train | seat | room | account | account number | account no | customer | customer number | customer id
    member | member number | membership number | membership id | policy | policy number | contract number | licence number
    license number | license plate | serial | serial number | model | part number | product number | item | item number | sku | card
    card number | card ending | ending in | ending with | ends in | ends with | ending | last four | last 4 | last four digits | phone
    phone number | telephone | tel | mobile | fax | call | call us | call us at | call us on | text us | dial | hotline | extension
    ext | port | version | build | release | patch | kb | bug | pull request | commit | job | run | pipeline | meeting id | webinar id
    transaction | transaction id | transaction number | payment id | voucher | voucher number | zip | postcode | suite | unit | po box
    box | floor | street | building | copyright | year | user id | client id | app id | project id | student id | employee id | vat
    vat no | company number | registration number | registered | registered number | registration no | iban | bic | isbn | ein | ssn
    id | no | number | nr | vin | prize | lottery | balance | total | amount
  `),
  units: phrases(`
    second* | sec | secs | minute* | min | mins | hour* | hr | hrs | day* | week* | month* | year* | am | pm | points | miles | km
    kg | mb | gb | tb | kb | people | users | members | customers | readers | subscribers | followers | views | likes | items | steps
    words | pages | photos | usd | eur | gbp | chf | jpy | cny | dollars | euros | pounds | cents | times | percent | calories | feet
    metres | meters | square | street | road | avenue | st | rd | ave | requests | emails | messages | credits | digits | stars
  `),
  expiry: phrases(`
    stop working | stops working | expires in | expires after | expires at | expire in | expire after | will expire | code expires | valid for | valid until
    link expires | only valid | only works once | works once | used only once | used once | good for the next | works for | active for
    time limit
  `),
  caution: phrases(`
    don't share | do not share | never share | don't forward | do not forward | never ask you for | keep it secret
    keep this code private | not share this | don't give | do not give | do not disclose | ignore this e mail | ignore this email
    ignore this message | ignore it | disregard this | safely ignore | did not request | didn't request | did not ask for
    didn't ask for | did not try to | didn't try to | did not make this request | didn't make this request | someone else may
    someone may have | did not sign up | didn't sign up | unsolicited | did not create | didn't create | no one from | nobody from
    did not initiate | didn't initiate | you requested | you asked for
  `),
  wayOut: phrases(`
    wasn't you | was not you | isn't you | not you | don't recognise | don't recognize | do not recognise | do not recognize
    not recognise | didn't do this | did not do this | did not make this change | didn't make this change | didn't change
    did not change | secure your account | didn't make | did not make | report it | lock your account | looks unfamiliar | suspicious
    did not authorise | did not authorize
  `),
  sign_in: phrases(`
    verify your device | get signed in | get you signed in | sign in | signing in | signin | sign you in | log in | logging in | login | log you in | sign on | magic link | sign in link
    login link | access your account | continue signing in | login attempt | two factor | two step | 2 step | 2fa | new device
    new browser | one tap
  `),
  verification: phrases(`
    activate the app | activate your app | activate your device | pairing code | pair your | verify | verifying | verification | confirm your email | confirm your e mail | confirm email | confirm e mail | confirm my email
    confirm your account | confirm account | confirm my account | confirm your address | confirm address | confirm your new
    confirm this address | confirm your subscription | confirm subscription | confirm my subscription | confirm your registration
    confirm registration | confirm your identity | confirm it is you | confirm it's you | confirm that it's you | confirm your sign up
    confirm your signup | confirm that this | confirm your phone | confirm your number | confirm the change | activate your account
    activate account | activate my account | complete your registration | complete your sign up | finish signing up | finish creating
    complete registration | finish setting up | validate your | prove | confirmation code | double opt in | confirm ownership
    activate your | opt in
  `),
  password_reset: phrases(`
    reset your password | reset password | reset my password | password reset | resetting your password | reset the password
    reset it | forgot your password | forgotten your password | forgot password | forgotten password | new password
    recover your account | account recovery | recover your password | password recovery | recovery code | change your password
    set a password | lost password | create a new password | choose a new password | recover account | reset code | reset link
    reset your pin
  `),
  buttons: phrases(`
    confirm | continue | yes | activate | get started | complete | finish | yes it's me | approve | yes confirm | accept | open
    proceed
  `),
  here: phrases(`
    click here | here | this link | tap here | follow this link | click this link | the link | link | click below | click
  `),
  otherLinks: phrases(`
    unsubscribe | preferences | privacy | terms | help | support | contact | view in browser | view online | view this email
    read more | learn more | settings | download | app store | google play | facebook | twitter | instagram | linkedin | faq | blog
    track | security tips | deny | this was not me | wasn't me | not me | cancel | report | legal | imprint | status page | opt out
    decline | delete | no longer
  `),
  occasions: phrases(`
    meeting id | join the meeting | join meeting | webinar | flight | itinerary | check in | check out | reservation | booking
    nights | hotel | boarding | your order | order number | shipped | delivery | parcel | package | % off | discount | coupon
    gift card | promo | appointment | checkout | locker | pickup | dial in | tickets | invoice | receipt | sale | deal
  `),
}
