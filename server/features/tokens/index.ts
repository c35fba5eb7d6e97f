import type { Operation } from '../../operations/define-operation.ts'
import { createToken } from './create-token.ts'
import { deleteToken } from './delete-token.ts'
import { listTokens } from './list-tokens.ts'

export const tokenOperations: Operation[] = [listTokens, createToken, deleteToken]

export { createAuthenticate, findCallerOfKey } from './authenticate.ts'
export { makeKey, NewToken, type TokenRow } from './token.ts'
export { addScopeToKeys, deleteToken as removeToken, insertToken, pageTokens, removeScopeFromKeys } from './token-queries.ts'
export { createToken, deleteToken, listTokens }
