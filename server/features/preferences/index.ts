export { type AddressChange, askForAddress, changeAddress, findAddressChange } from './change-address.ts'
export { changeSubscriptions, pauseMail, type Wishes } from './change-subscriptions.ts'
export { findPreferences, preferencesUrl } from './find-preferences.ts'
export { askForData, eraseOwnData, exportOwnData, findOwnData, type OwnData } from './own-data.ts'
