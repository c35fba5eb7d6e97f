export { areCertificatesOurs } from './authority.ts'
export type { CertificateView, ChallengeKind } from './certificate.ts'
export {
  type CertificateKey,
  findChallenge,
  isCertificateOfOther,
  moveCertificates,
  type WantedCertificate,
} from './certificate-queries.ts'
export { giveUpAuthorization } from './give-up.ts'
export { checkCertificate, findCertificate, forgetCertificate, orderCertificate } from './order-certificate.ts'
export { ownHosts } from './own-hosts.ts'
export { createServedCertificates, type ServedCertificates } from './served-certificates.ts'
export { createSubdomainCertificates } from './subdomains.ts'
export { startCertificates } from './tend-certificates.ts'
