import { randomInt } from 'node:crypto'

/** `swift-otter`: a name that a person can read out over the telephone. Numbers come in only when a name is taken. */
export const makeReadableName = (): string => `${one(adjectives)}-${one(animals)}`

/** The same with a number, for when the plain names that were tried are taken. */
export const makeNumberedName = (): string => `${makeReadableName()}-${randomInt(10, 10_000)}`

const one = (words: readonly string[]): string => words[randomInt(words.length)] as string

/**
 * Chosen so that no pair hurts: light, weather, stone, plants, craft and good temper on one side, animals that nobody is called in
 * anger on the other. Nothing about bodies, ages, peoples, beliefs or wits.
 */
export const adjectives = words(`
  able agile alert amber ample apt arctic ashen autumn azure balmy basil beaming birch blithe bonny braided brass breezy
  bright brisk bronze bubbly calm candid cedar cheery cherry chirpy civic clear clever cloudy coastal cobalt comet copper coral cosmic
  cosy crimson crisp crystal dainty dapper daring dashing dawn deft dewy diligent drifting eager early earnest east easy ebony
  elm ember emerald epic even fabled fair famous fern festive fiery fine fleet floral flowing fluent flying fond forest frank fresh
  friendly frosty gallant garnet genial gentle gilded ginger glad gleaming glowing golden graceful grand grateful green happy hardy hazel
  hearty helpful hidden honest hopeful humble icy indigo inland iris ivy jade jaunty jolly jovial joyful jubilant keen kind
  lantern lasting laurel leafy light lilac lively lofty loyal lucid lucky lunar magnetic mango maple marble marine mellow merry mighty
  mint misty modest mossy mountain musical neat nimble noble north oaken ocean olive onyx opal orchid patient peach pearl peppy pine
  placid playful pleasant plucky plum polar polite prairie prime proud quick quiet radiant rainy rapid ready restful river robust rosy
  royal ruby rustic saffron sage sandy sapphire scarlet serene shady shining silent silver sincere skilful sleek smiling snowy solar
  solid sonic south sparkling spirited spring spruce stable starry steady stellar sturdy summer sunny sunset sure swift
  thrifty tidal tidy timely topaz tranquil trusty tulip twilight upbeat valiant velvet verdant violet vivid warm west whistling willing
  willow windy winter witty woven zesty`)

export const animals = words(`
  albatross alpaca antelope armadillo auklet avocet axolotl badger bandicoot barbet beetle beluga bilby bison bittern blackbird bluebird
  bobolink bonito bulbul bullfinch bumblebee bunting bushbaby butterfly canary caracal cardinal caribou cassowary chaffinch chamois
  cheetah chickadee chinchilla chipmunk cicada clam coati condor cormorant corgi crane cricket crossbill curlew
  cuttlefish dabchick damselfly dipper dolphin dormouse dotterel dove dragonfly duiker dunlin dunnock eagle echidna egret eider eland
  elk ermine falcon fennec finch firefly flamingo flounder flycatcher fossa fritillary fulmar gadwall gannet gazelle gecko giraffe
  godwit goldcrest goldfinch goshawk grebe greenfinch grouse guillemot gull guppy halibut hamster hare harrier hedgehog heron herring
  hoopoe hornbill hoverfly hummingbird ibex ibis iguana impala jackdaw jaguar jay jerboa kakapo kangaroo kestrel kingfisher kinglet kite
  kittiwake kiwi koala kookaburra kudu ladybird lapwing lark lemming lemur leopard limpet linnet lion llama lobster lorikeet lynx
  macaw magpie mallard manatee mantis marlin marmot marten martin mayfly meerkat merlin minnow mockingbird mole mongoose moorhen moose
  moth mouse muntjac narwhal nautilus newt nightingale nightjar numbat nuthatch ocelot octopus okapi oriole oryx osprey otter ouzel owl
  oyster panda pangolin panther parakeet partridge pelican penguin peregrine petrel pheasant pika pintail pipit plover polecat
  pony porcupine porpoise possum ptarmigan puffin quail quetzal quokka quoll rabbit raven razorbill redpoll redstart redwing reindeer
  robin rook rosella salamander salmon sanderling sandpiper sardine seahorse seal serval shearwater shelduck shrike siskin skate skimmer
  skua skylark snipe sparrow spoonbill springbok squirrel starfish starling stilt stoat stork sturgeon sunbird swan 
  swordfish tanager tapir tarpon tarsier teal tern thrush tiger toucan treecreeper trout turaco turnstone turtle vicuna vole
  wagtail walrus warbler waxwing weaver whimbrel whinchat wigeon wildcat wolverine wombat woodlark wren wryneck yak zebra`)

function words(text: string): readonly string[] {
  return text.trim().split(/\s+/)
}
