/** One number with its labels, already written: `queue="jobs"`. */
export interface Sample {
  labels?: string
  value: number
}

export interface Metric {
  name: string
  type: 'counter' | 'gauge'
  help: string
  samples: Sample[]
}

/** As Prometheus reads it (https://prometheus.io/docs/instrumenting/exposition_formats/). One without numbers is left out. */
export const toText = (metrics: Metric[]): string =>
  metrics
    .filter(({ samples }) => samples.length > 0)
    .map(({ name, type, help, samples }) =>
      [
        `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`,
        `# TYPE ${name} ${type}`,
        ...samples.map(({ labels, value }) => `${name}${labels ? `{${labels}}` : ''} ${value}`),
        '',
      ].join('\n'),
    )
    .join('')

export const label = (name: string, value: string): string =>
  `${name}="${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`

export const contentType = 'text/plain; version=0.0.4; charset=utf-8'
