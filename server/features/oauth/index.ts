import type { Operation } from '../../operations/define-operation.ts'
import { deleteApp } from './delete-app.ts'
import { listApps } from './list-apps.ts'

export const appOperations: Operation[] = [listApps, deleteApp]

export { isLoopbackUri } from './client-rules.ts'
export { createMetadataFetch } from './metadata-fetch.ts'
export { apiAudiences, resourcesOf } from './oauth.ts'
export { createOAuthAuthenticate } from './oauth-caller.ts'
export { deleteGrantOf, insertGrant, listGrantsOf, takeRegistration } from './oauth-queries.ts'
export { away, createOAuthProvider, librarySessionCookie, type OAuthProvider, paths, type ShowError, type ShownError } from './provider.ts'
export { pruneOAuth } from './prune-oauth.ts'
