export { isKept, keptKey, maxKeptBytes, readRawMail, removeRawMail } from './raw-mail.ts'
export { emailText, type Kept, keepInPlace } from './raw-mail-queries.ts'
export { findStored, lookAtStored, type StoredSeen } from './stored-mail.ts'
