// Returns the model, data and settings of a run by the names that people know: "t5-small", not the path of the copy
// that a pipeline made.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "operate/registry/registry.h"

namespace hone {

// The texts of a setting whose value is a text or a list of texts; empty texts are left out.
std::vector<std::string> texts_of_setting(const OrderedJson& settings, const char* key);

// The name of the run's initial model: "t5-small"; its path or URL if it has no other name.
std::string initial_model_of(const RegisteredRun& run);
// The name of the run's training data: "cnn_dailymail 3.0.0"; the paths if it has no other name.
std::string data_of(const RegisteredRun& run);
// The model that a version's training began from: ModelVersion::parent, such as "news:2", unless it is "" or only the
// run's path of the model; then initial_model_of().
std::string parent_of(const ModelVersion& version, const RegisteredRun& run);

// The value of a setting, in which paths of models and data are replaced by their names if these are known. Relative
// paths begin at `folder`, the folder in which the run's command was typed.
OrderedJson by_name(const std::string& folder, OrderedJson value);
OrderedJson by_name(const RegisteredRun& run, OrderedJson value);

// The names of a task's settings that change only its output, not the result of the training.
std::set<std::string> output_settings(const std::string& task);

}  // namespace hone
