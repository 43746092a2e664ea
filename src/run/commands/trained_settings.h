// Settings that hone train keeps with a model, for commands that use it.
#pragma once

#include "run/commands/task_choice.h"

namespace hone {

// The help of --task for commands that use a trained model.
inline constexpr const char* kTrainedTask =
    "what the model learnt (default: the task of its hone_task.json)";

// Evaluation and prediction use the prefix, lengths and beams of the training (hone_task.json of the model or adapter)
// unless the user gives others, if the model was trained on this task. The log says which. Errors: those of the
// model's name and files.
Status use_trained_settings(ChosenTask& chosen);

}  // namespace hone
