// The learning rate, initial model and data of a registered run, as people know them; results of runs with a log.
#pragma once

#include <string>

#include "operate/monitor/run_list.h"
#include "operate/registry/registry.h"

namespace hone {

std::string learning_rate_of(const OrderedJson& settings);  // "5e-05"; "": none
std::string initial_model_of(const RegisteredRun& run);     // "t5-small", else its path or URL
std::string data_of(const RegisteredRun& run);              // "cnn_dailymail 3.0.0", else the paths
// The results of a run, with the last value of each metric of its log.
OrderedJson results_of(const RunRow& row);
// The facts that decide the rows that the run evaluated, with the names of its files.
OrderedJson evaluated_by(const RunRow& row);

}  // namespace hone
