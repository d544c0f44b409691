"""Pictures of attributions, with Matplotlib.

Every function draws into `ax`, or into a new figure of a fitting size, and returns the axes. Warm:
raises the score; blue: lowers it. The colours can be told apart by colour-blind readers.
"""

from whyflag.plot.agreement import agreement
from whyflag.plot.bar import bar
from whyflag.plot.beeswarm import beeswarm
from whyflag.plot.heatmap import heatmap
from whyflag.plot.waterfall import waterfall
from whyflag.plot.whatif import whatif

__all__ = ["agreement", "bar", "beeswarm", "heatmap", "waterfall", "whatif"]
