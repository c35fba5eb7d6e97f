/** Columns as wide as their widest cell, for people to read and for `awk` to split: two spaces or more lie between. */
export function formatTable(header: string[], rows: string[][]): string {
  const lines = [header, ...rows].map((cells) => cells.map(onOneLine))
  const widths = header.map((_, column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)))
  return lines
    .map((cells) =>
      cells
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** What others wrote must neither break the table nor reach the terminal as a command. */
export const onOneLine = (text: string): string => text.replace(/[\x00-\x1f\x7f-\x9f]+/g, ' ')
