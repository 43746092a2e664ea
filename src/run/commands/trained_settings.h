// Reads the settings that hone train stores with a model (hone_task.json), for commands that use the trained model.
#pragma once

#include "run/commands/task_choice.h"

namespace hone {

// The help of --task for commands that use a trained model.
inline constexpr const char* kTrainedTask =
    "what the model learnt (default: the task of its hone_task.json)";

// If the model was trained on the chosen task, sets the settings that hone_task.json stores, such as the prefix,
// lengths and number of beams, unless the user gave other values. Reads hone_task.json of the adapter, else of the
// model. Logs the settings that it sets. Errors: those of open_trained_task() and of Schema::imply_default().
Status use_trained_settings(ChosenTask& chosen);

}  // namespace hone
