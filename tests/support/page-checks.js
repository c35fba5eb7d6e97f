/** What runs inside of the page under test; `page-checks.ts` says what each answers. */

function poorContrasts() {
  const parse = (colour) => {
    const [red = 0, green = 0, blue = 0, alpha = 1] = (colour.match(/[\d.]+/g) ?? []).map(Number)
    return [red, green, blue, alpha]
  }
  const over = (top, below) => [0, 1, 2].map((channel) => top[channel] * top[3] + below[channel] * (1 - top[3])).concat(1)
  const luminance = (rgb) => {
    const [red, green, blue] = rgb.map((channel) => {
      const share = channel / 255
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const behind = (element) => {
    if (element === null) return [255, 255, 255, 1]
    const own = parse(getComputedStyle(element).backgroundColor)
    return own[3] >= 1 ? own : over(own, behind(element.parentElement))
  }
  const poor = []
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const element = text.parentElement
    const words = text.textContent.trim()
    if (words === '' || !element.checkVisibility()) continue
    const style = getComputedStyle(element)
    const paper = behind(element)
    const [a, b] = [luminance(over(parse(style.color), paper)), luminance(paper)]
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
    const size = Number.parseFloat(style.fontSize)
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700)
    if (ratio < (isLarge ? 3 : 4.5)) poor.push(`${ratio.toFixed(2)} ${words.slice(0, 40)} (${style.color} on ${paper.join(',')})`)
  }
  return poor
}

function layoutShift() {
  return new Promise((resolve) => {
    let sum = 0
    new PerformanceObserver((list) => {
      for (const { value } of list.getEntries()) sum += value
    }).observe({ type: 'layout-shift', buffered: true })
    // Buffered entries are told in a task of their own.
    setTimeout(() => resolve(sum), 100)
  })
}

function structuralFaults() {
  const faults = []
  const all = (selector) => [...document.querySelectorAll(selector)]
  if (document.doctype === null) faults.push('no doctype')
  if (!document.documentElement.lang) faults.push('no language')
  if (document.title === '') faults.push('no title')
  for (const selector of ['h1', 'main', 'meta[name=viewport]'])
    if (all(selector).length !== 1) faults.push(`${all(selector).length} × ${selector}`)
  const ids = all('[id]').map(({ id }) => id)
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) faults.push(`id ${id} twice`)
  // WCAG 2.2, 2.5.8; links within sentences are excepted.
  for (const target of all('button, .button, input:not([type=hidden]), select, nav a, footer li a')) {
    const { width, height } = target.getBoundingClientRect()
    if (target.checkVisibility() && Math.min(width, height) < (target.type === 'checkbox' || target.type === 'radio' ? 16 : 24))
      faults.push(`too small to press: ${target.outerHTML}`)
  }
  for (const image of all('img')) if (!image.hasAttribute('alt')) faults.push('a picture without alt')
  for (const link of all('a[href], button'))
    if (!link.textContent.trim() && !link.getAttribute('aria-label')) faults.push(`nothing to read: ${link.outerHTML}`)
  for (const field of all('input:not([type=hidden]), select, textarea'))
    if (!field.labels?.length) faults.push(`no label: ${field.outerHTML}`)
  for (const named of all('[aria-labelledby], [aria-describedby]'))
    for (const id of `${named.getAttribute('aria-labelledby') ?? ''} ${named.getAttribute('aria-describedby') ?? ''}`.split(' '))
      if (id !== '' && !document.getElementById(id)) faults.push(`nothing has the id ${id}`)
  const ranks = all('h1, h2, h3, h4, h5, h6').map(({ tagName }) => Number(tagName[1]))
  ranks.forEach((rank, index) => {
    if (index > 0 && rank > ranks[index - 1] + 1) faults.push(`h${rank} after h${ranks[index - 1]}`)
  })
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth) faults.push('wider than the window')
  return faults
}

function whatIsThere() {
  const { left, top } = document.querySelector('header .name span').getBoundingClientRect()
  return {
    scripts: [...document.scripts].map(({ type }) => type),
    frames: window.frames.length,
    forms: [...document.forms].map((form) => new URL(form.action).pathname),
    footer: document.querySelector('footer.foot').checkVisibility(),
    top: document.elementFromPoint(left + 5, top + 5)?.closest('header')?.className,
    base: document.baseURI,
  }
}

function focused() {
  const element = document.activeElement
  const { left, right } = element.getBoundingClientRect()
  return {
    isNothing: element === document.body,
    name: element.textContent.trim() || element.id,
    outline: getComputedStyle(element).outlineStyle,
    isInView: right > 0 && left < window.innerWidth,
  }
}

globalThis.pageChecks = { poorContrasts, layoutShift, structuralFaults, whatIsThere, focused }
