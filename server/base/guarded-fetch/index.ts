export { FetchFailed, FetchRefused } from './fetch-error.ts'
export { createGuardedFetch, type FetchAnswer, type FetchRequest, type GuardedFetch } from './guarded-fetch.ts'
export { checkPublicUrl } from './public-url.ts'
