// Model, data and settings of a run by the names that people know them by: runs of a pipeline have copies of their own.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "operate/registry/registry.h"

namespace hone {

// The texts of a setting, which is one or a list.
std::vector<std::string> texts_of_setting(const OrderedJson& settings, const char* key);

std::string initial_model_of(const RegisteredRun& run);  // "t5-small", else its path or URL
std::string data_of(const RegisteredRun& run);           // "cnn_dailymail 3.0.0", else the paths
// The initial model of a version: a model of the registry as it is named there, else by the name that people know.
std::string parent_of(const ModelVersion& version, const RegisteredRun& run);

// A setting with its paths, which are relative to the folder of the run's command, by name.
OrderedJson by_name(const std::string& folder, OrderedJson value);
OrderedJson by_name(const RegisteredRun& run, OrderedJson value);

// The settings of a task that are about output alone.
std::set<std::string> output_settings(const std::string& task);

}  // namespace hone
