/* What the branches of channels are like. */
#ifndef QTJ_TRAJECTORY_BRANCHES_H
#define QTJ_TRAJECTORY_BRANCHES_H

#include "trajectories.h"

void look_at_branches(TrajectoryPlan *plan);

#endif
