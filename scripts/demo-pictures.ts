/** What a browser finds where the demo's pictures are: drawn here, so that nothing is fetched from anywhere. */
export const pictures: Record<string, string> = {
  'https://img.example/logo.svg': svg(
    72,
    72,
    '<rect width="72" height="72" fill="#b4451f"/><path d="M14 42c0-14 9-22 22-22s22 8 22 22c0 6-4 10-10 10H24c-6 0-10-4-10-10z" fill="#f6e2c4"/><path d="M26 30l6 12m4-14l6 12m3-10l4 8" stroke="#b4451f" stroke-width="3" stroke-linecap="round"/>',
  ),
  'https://img.example/loaf.svg': svg(
    1200,
    720,
    '<rect width="1200" height="720" fill="#e9dccb"/><rect y="470" width="1200" height="250" fill="#c9a27a"/><ellipse cx="600" cy="520" rx="400" ry="46" fill="#8d6847" opacity=".45"/><path d="M210 450c0-150 170-250 390-250s390 100 390 250c0 50-40 80-100 80H310c-60 0-100-30-100-80z" fill="#b06c34"/><path d="M250 430c10-110 160-190 350-190s340 80 350 190c-90-60-220-80-350-80s-260 20-350 80z" fill="#cf8c4e"/><path d="M420 300l70 110m80-140l60 120m90-120l60 110" stroke="#f3dcb8" stroke-width="22" stroke-linecap="round"/><circle cx="1040" cy="140" r="66" fill="#f7efe2"/>',
  ),
  'https://img.example/jar.svg': svg(
    900,
    600,
    '<rect width="900" height="600" fill="#d5dfd6"/><rect y="430" width="900" height="170" fill="#9db3a2"/><rect x="330" y="120" width="240" height="60" rx="14" fill="#6f5a48"/><path d="M310 190h280v250c0 36-24 60-60 60H370c-36 0-60-24-60-60z" fill="#f7f4ec"/><path d="M310 290c60-26 100 20 150 0s90-20 130 4v146c0 36-24 60-60 60H370c-36 0-60-24-60-60z" fill="#e4cfa6"/><circle cx="400" cy="370" r="16" fill="#f3e6c8"/><circle cx="480" cy="420" r="22" fill="#f3e6c8"/><circle cx="530" cy="350" r="12" fill="#f3e6c8"/>',
  ),
}

function svg(width: number, height: number, content: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">${content}</svg>`
}
