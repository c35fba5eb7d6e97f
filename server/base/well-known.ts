/**
 * RFC 9728 section 3.1: the metadata of a resource stands where its path is put behind the well-known part:
 * https://api.example.com/v1 → https://api.example.com/.well-known/oauth-protected-resource/v1
 */
export function resourceMetadataUrl(resource: string): string {
  const { origin } = new URL(resource)
  return origin + resourceMetadataPath(resource)
}

export const resourceMetadataPath = (resource: string): string =>
  `/.well-known/oauth-protected-resource${new URL(resource).pathname.replace(/\/+$/, '')}`
