export { findSuppression, findSuppressions } from './suppression-queries.ts'
