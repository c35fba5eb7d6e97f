/** A stranger's file is shown to nobody but who asked, runs nothing, and loads nothing. */
export const untrusted = {
  'content-security-policy': "default-src 'none'; sandbox",
  'cache-control': 'private, no-store',
  'cross-origin-resource-policy': 'same-site',
}

/** RFC 6266: the name in ASCII for old programs, and as it is for all others. */
export function disposition(kind: 'inline' | 'attachment', filename: string): string {
  const plain = filename.replace(/[^ !#-[\]-~]/g, '_')
  const encoded = encodeURIComponent(filename.toWellFormed()).replace(
    /['()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `${kind}; filename="${plain}"; filename*=UTF-8''${encoded}`
}
