"""The numbers of the world, in m, s and rad."""

NUM_COLOURS, ZONES_PER_COLOUR = 4, 2
COLOURS = ("red", "green", "purple", "yellow")

# The robot may move in a square of side 6.6. Zones and robot are placed in the middle square of side 5.0, no nearer
# than 0.55 to its sides; each of the two keeps 0.55 around itself, so that they are 1.1 apart.
HALF_SIDE = 3.3
_KEEP_OUT = 0.55
FREE_HALF_SIDE = 2.5 - _KEEP_OUT
LEAST_DISTANCE = 2 * _KEEP_OUT
RADIUS = 0.4
NUM_PLACES = NUM_COLOURS * ZONES_PER_COLOUR + 1

EPISODE_LENGTH = 1000
STEP = 0.05
FORCE, TURN = 2.0, 3.0
DRAG = 0.08
FASTEST = 3.0

NUM_BINS = 16
DECAY = 0.5
