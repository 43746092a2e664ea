// Settings of training in commands with --task.
#pragma once

#include <string>
#include <vector>

#include "base/settings/settings.h"
#include "learn/train/settings.h"

namespace hone {

inline constexpr const char* kWhatToDo = "What to do";  // the group of --task, --do_train, ...

// The values of --report_to: the shelf of reporters, none of them, or all.
std::vector<std::string> report_choices();

// For commands that do not train: settings that decide nothing but how the model is trained are no
// longer common.
void keep_training_rare(Schema& schema);

// Sets bf16 on TPUs, unless the type of the products is given.
void follow_device(const Schema& schema, TrainSettings& s);
// H0203 with this remedy: --tpu_num_cores asks for several devices, and `command`, "hone eval", uses one.
Status check_one_device(const std::string& command, const std::string& remedy,
                        const TrainSettings& s);

// Sets level and form of the log.
void follow_log_settings(const TrainSettings& s);

}  // namespace hone
