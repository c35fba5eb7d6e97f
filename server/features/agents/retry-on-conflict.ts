const uniqueViolation = '23505'
const maxAttempts = 4

/**
 * Somebody may take the name that we found free, or add the contact that we found missing, between our look and our write. The whole
 * transaction looks again, and then sees it.
 */
export async function retryOnConflict<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === maxAttempts || (error as { code?: string }).code !== uniqueViolation) throw error
    }
  }
}
