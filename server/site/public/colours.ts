type Rgb = readonly [number, number, number]

/** What text and pages are made of, without the accent; `edge` is around what can be filled in or pressed. Held against AA by a test. */
export const papers = {
  light: { paper: '#fdfcfa', card: '#f4f1ea', ink: '#1d1b20', soft: '#625e69', line: '#e5e1d9', edge: '#8d8894' },
  dark: { paper: '#151419', card: '#201e25', ink: '#eae7ee', soft: '#aca7b4', line: '#333039', edge: '#75707d' },
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
  const goal = theme === 'light' ? 0 : 1
  const from = parse(wanted ?? usual)
  let accent = from
  for (let step = 0; step <= 40 && !isReadable(accent, [paper, card]); step++) accent = lit(from, goal, step / 40)
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

/** Nearer to black (0) or white (1) by this share, with hue and saturation as they were: mixed with white, a colour would turn to chalk. */
function lit(from: Rgb, goal: 0 | 1, share: number): Rgb {
  const [most, least] = [Math.max(...from) / 255, Math.min(...from) / 255]
  const light = (most + least) / 2
  const wanted = light + (goal - light) * share
  // Chroma at full saturation, before and after: how far the channels may be from the middle (CSS Color 4, section 7, HSL).
  const [room, wantedRoom] = [1 - Math.abs(2 * light - 1), 1 - Math.abs(2 * wanted - 1)]
  const stretch = room === 0 ? 0 : wantedRoom / room
  return from.map((channel) => (wanted + (channel / 255 - light) * stretch) * 255) as unknown as Rgb
}

export const parse = (colour: string): Rgb => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16)) as unknown as Rgb
const format = (rgb: Rgb): string => `#${rgb.map((channel) => Math.round(channel).toString(16).padStart(2, '0')).join('')}`
