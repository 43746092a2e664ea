// Continues a run that another program started, such as PyTorch: renames the tensors of its checkpoint to hone's names,
// and warns of differences between the two runs.
#pragma once

#include "learn/checkpoint/training_checkpoint.h"
#include "learn/train/trainer.h"

namespace hone {

// Renames the tensors of the checkpoint `from` to the names that this run uses. Does nothing if hone wrote the
// checkpoint. Tensors that the checkpoint does not have stay missing. The names of the weights in the checkpoint may
// have a common prefix, such as "model." of a Lightning module. `checkpoint`: its path, for messages. `states`: names
// of this run's optimizer states. Warns if arguments of the optimizer or the number of steps differ. Errors: H2405 the
// checkpoint's optimizer has states that this run's optimizer does not have, or it numbers its weights in an unknown
// order.
Status settle_import(ResumeState& from, const std::string& checkpoint, const TrainSettings& s,
                     TrainTask& task, const std::vector<std::string>& states);

}  // namespace hone
