// The learning rate, initial model and data of a registered run, as people know them.
#pragma once

#include <string>

#include "operate/registry/registry.h"

namespace hone {

std::string learning_rate_of(const OrderedJson& settings);  // "5e-05"; "": none
std::string initial_model_of(const RegisteredRun& run);     // "t5-small", else its path or URL
std::string data_of(const RegisteredRun& run);              // "cnn_dailymail 3.0.0", else the paths

}  // namespace hone
