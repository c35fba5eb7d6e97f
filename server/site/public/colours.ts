type Rgb = readonly [number, number, number]

/** What text and pages are made of, without the accent. Held against AA by a test. */
export const papers = {
  light: { paper: '#fdfcfa', card: '#f5f2ec', ink: '#1d1b20', soft: '#625e69', line: '#e3dfd7' },
  dark: { paper: '#141318', card: '#1e1c23', ink: '#ece9f1', soft: '#aaa5b3', line: '#35323d' },
} as const

const usual = '#2f5bd0'
/** WCAG 2.2, 1.4.3: text against what is behind it. */
const enough = 4.5

export interface Accent {
  accent: string
  onAccent: string
}

/** The list's colour as it can be read on this paper: darker or lighter, step by step, until it can. */
export function accentOn(theme: keyof typeof papers, wanted: string | null): Accent {
  const { paper, card } = papers[theme]
  const goal: Rgb = theme === 'light' ? [0, 0, 0] : [255, 255, 255]
  const from = parse(wanted ?? usual)
  let accent = from
  for (let step = 0; step <= 20 && !isReadable(accent, [paper, card]); step++) accent = mix(from, goal, step / 20)
  const onAccent = contrast(accent, [255, 255, 255]) >= enough ? '#ffffff' : '#111014'
  return { accent: format(accent), onAccent }
}

/** As it will be written: whole numbers. */
const isReadable = (colour: Rgb, behind: string[]): boolean => behind.every((one) => contrast(parse(format(colour)), parse(one)) >= enough)

/** WCAG's contrast ratio, 1 to 21. */
export function contrast(one: Rgb, other: Rgb): number {
  const [a, b] = [luminance(one), luminance(other)]
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
}

function luminance([red, green, blue]: Rgb): number {
  const linear = (channel: number): number => {
    const share = channel / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

const mix = (from: Rgb, to: Rgb, share: number): Rgb =>
  from.map((channel, index) => channel + ((to[index] as number) - channel) * share) as unknown as Rgb
export const parse = (colour: string): Rgb => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16)) as unknown as Rgb
const format = (rgb: Rgb): string => `#${rgb.map((channel) => Math.round(channel).toString(16).padStart(2, '0')).join('')}`
