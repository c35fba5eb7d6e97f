/** RFC 6761 and 6762: names that are in nobody's DNS, and so never looked up. */
export const isForTrials = (domain: string): boolean => /(^|\.)(test|localhost|local|example|invalid)$/.test(domain)
