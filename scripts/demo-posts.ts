import { parseId } from '../server/base/ids.ts'
import type { ConnectionSettings } from '../server/database/database.ts'
import { withClient } from '../tests/support/database.ts'

const sourdough = `The jar on the windowsill has been bubbling since Tuesday, which means that this week’s letter is about **patience**, and about what to do when you have none.

My neighbour bakes on Saturdays. She does not own a thermometer, and she has never weighed anything in her life. Her bread is better than mine. I have stopped asking why, and started to watch her hands.

![A loaf on the board](https://img.example/loaf.svg)

## What a starter wants

Flour, water, and to be left alone. In that order:

1. Feed it in the morning, when the kitchen is cold.
2. Wait until it has doubled. *Then* wait a little longer.
3. Bake with it, or put it to sleep in the fridge.

> Bread is the slowest fast food there is.

You can read how [the science works](https://example.org/sourdough), or you can simply believe me. What you need:

- a jar with room to grow
- flour that has not been sitting there since the last house
- somebody to eat it with

### The numbers

| | Weekday | Sunday |
|---|---|---|
| Flour | 400 g | 900 g |
| Water | 300 g | 675 g |
| Salt | 8 g | 18 g |

Weigh it with \`a scale\`, not with cups:

\`\`\`
hydration = water / flour   # 0.75, on a good day
\`\`\`

---

Next week: soup, and why the second day is the best one. Until then, keep the jar warm and the butter warmer.`

const designed = `<style>.button{background:#b4451f;color:#ffffff;padding:12px 24px;border-radius:6px;text-decoration:none;display:inline-block}</style>
<table width="100%" cellpadding="0" cellspacing="0"><tr><td style="background-color:#f6e7dd;padding:24px;text-align:center"><h1 style="color:#7a2e12">The autumn menu</h1>
<p style="color:#4a3b33">Three evenings, eleven dishes, one long table.</p><p><a class="button" href="https://example.org/menu">Book a seat</a></p></td></tr></table>
<p>Dear {{ first_name | default: "friend" }}, the table is set from the 20th on. Come hungry.</p>`

const pictured = `<p>The market was half asleep on Thursday, and the light was too good to put the camera away.</p>
<figure><img src="https://img.example/jar.svg" alt="A jar, half full" width="900" height="600"><figcaption>The jar, day four.</figcaption></figure>
<p>What came home with me: leeks, a crooked squash, and the last of the small plums.</p><img src="https://img.example/loaf.svg" alt="A loaf"><p>More on Sunday.</p>`

/** Subject, and how it begins. The last one is the oldest. */
const letters: [string, string][] = [
  ['Soup on the second day', 'It is the same soup, and it is not. Something happens in the pot at night that no recipe has a line for.'],
  [
    'In praise of the dull knife',
    'A sharp knife is safer, everybody says. Then why do all the cooks I love have one that cannot cut a tomato?',
  ],
  [
    'Salt, and when',
    'Early for meat, late for mushrooms, never for the water you are about to throw away. A short letter with strong opinions.',
  ],
  ['A letter about lemons', 'Buy the ugly ones. They are the ones somebody forgot on the tree, and they taste of it.'],
  [
    'What my grandmother never wrote down',
    'There is a drawer with forty years of recipes in it, and the one that I want is not there. I have been calling aunts.',
  ],
  ['Beans', 'Soak them or do not. I have tried it both ways for a month so that you need not.'],
  ['The quiet oven', 'What to cook when the house is asleep, and how to do it without the timer.'],
  ['Three ways with stale bread', 'Two of them are soup. The third is the reason to let it go stale.'],
  ['On being late for dinner', 'A guide for guests, and a consolation for hosts.'],
  ['Winter greens', 'They are better after the first frost, and so, I find, am I.'],
  ['How to burn butter', 'On purpose, and just so far. Stand there. Do not answer the phone.'],
  ['The last tomatoes', 'Green ones, on the windowsill, in newspaper. Nobody knows why it works.'],
  ['A kitchen without a plan', 'Open the cupboard. Whatever is nearest to the front is dinner.'],
  ['Rice, again', 'It is not the rice. It is the lid.'],
  ['Plums in the dark', 'The jam that sets by itself, if you leave it alone for long enough.'],
  ['Cold hands, short crust', 'Everything I know about pastry, which is one thing, said in four ways.'],
  ['The guest who does not eat', 'A story with onions in it.'],
  ['Garlic and other arguments', 'Crushed or sliced? We have not spoken for two days.'],
  ['Bread for one', 'A small loaf for a small table. It keeps until Wednesday.'],
  ['First letter', 'Hello. I cook, I write it down, and on Sundays I send it to you.'],
]

type Call = (method: string, path: string, body?: object) => Promise<Record<string, string>>

/** A letter a week, the newest of last Sunday; answers the places of those that are worth a look. */
export async function writePosts(call: Call, connection: ConnectionSettings, listId: string) {
  const ids: string[] = []
  const publish = async (post: object): Promise<string> => {
    const { id } = await call('POST', `/lists/${listId}/posts`, post)
    ids.unshift(parseId('post', id as string) as string)
    return (await call('POST', `/lists/${listId}/posts/${id}/publish`)).slug as string
  }
  for (const [subject, beginning] of letters.toReversed())
    await publish({
      subject,
      preview_text: beginning,
      body_markdown: `${beginning}\n\n${'And so it goes on, for a page or two. '.repeat(30)}`,
    })
  const slugs = {
    designed: await publish({
      subject: 'The autumn menu',
      preview_text: 'Three evenings, eleven dishes, one long table.',
      body_html: designed,
    }),
    pictures: await publish({
      subject: 'Seen at the market',
      preview_text: 'A walk with a camera, and what came home in the bag.',
      body_html: pictured,
    }),
    text: await publish({
      subject: 'Sourdough, slowly',
      preview_text: 'What a starter wants, and what to do when you have no patience left.',
      body_markdown: sourdough,
    }),
  }
  // Nobody can publish in the past; these have been there for a while.
  await withClient(connection, (client) =>
    client.query(
      `update posts set published_at = timestamptz '2026-11-08 07:00Z' - (o.n - 1) * interval '7 days' from unnest($1::uuid[]) with ordinality o (id, n) where posts.id = o.id`,
      [ids],
    ),
  )
  return slugs
}
