/* The usual path of a row, on which each channel takes its first branch. Most trajectories of weak noise follow it for
 * long, so it is simulated once. A trajectory begins where its random numbers leave it, from a state that was stored there.
 *
 *     usual path   o----o----o----o----o----   o: a stored state
 *                       |    `--x-----------   x: the first channel of a trajectory with another branch
 *                       `----x--------x-----                                                            */
#ifndef QTJ_TRAJECTORY_USUAL_H
#define QTJ_TRAJECTORY_USUAL_H

#include "trajectories.h"

/* How many states are stored for each row, so that `bytes` are enough for all; 0: no path is shared. */
long states_to_store(const TrajectoryPlan *plan, size_t bytes);
/* Finds where the trajectories of a row leave its path, once it is known how likely its branches are. */
void sort_by_leaving(const TrajectoryPlan *plan, long row);

#endif
