// A run that another program started: its tensors under the names of this run, and the differences between
// the two.
#pragma once

#include "learn/checkpoint/training_checkpoint.h"
#include "learn/train/trainer.h"

namespace hone {

// Gives the tensors of the checkpoint the names that the run has for them, as far as they are there. The
// names in a checkpoint may have a prefix, equal for all weights, such as "model." of a Lightning module.
// `states`: names of the optimizer's states. Warns of other arguments of the optimizer and of another
// number of steps. H2405: the checkpoint's optimizer keeps states that this run's does not. Does nothing
// if the checkpoint is hone's own.
Status settle_import(ResumeState& from, const std::string& checkpoint, const TrainSettings& s,
                     TrainTask& task, const std::vector<std::string>& states);

}  // namespace hone
