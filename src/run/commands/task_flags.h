// Functions for the settings of training, which all commands with --task share.
#pragma once

#include <string>
#include <vector>

#include "base/settings/settings.h"
#include "learn/train/settings.h"

namespace hone {

inline constexpr const char* kWhatToDo = "What to do";  // title of the flags --task, --do_train

// The values of --report_to: "none", the names of the reporters, and "all".
std::vector<std::string> report_choices();

// For commands that do not train: sets Setting::common to false for each setting that affects only training, so that
// --help does not show it.
void keep_training_rare(Schema& schema);

// On TPUs, sets bf16 to true unless the user gave bf16, fp16 or dtype.
void follow_device(const Schema& schema, TrainSettings& s);
// Error H0203 with the remedy `remedy` if --tpu_num_cores requests several devices. `command` is the name of the
// command, such as "hone eval".
Status check_one_device(const std::string& command, const std::string& remedy,
                        const TrainSettings& s);

// Sets the level and the format of the log from the settings.
void follow_log_settings(const TrainSettings& s);

}  // namespace hone
