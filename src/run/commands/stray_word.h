// Gives advice about an argument without a flag, for commands with --task (Schema::advise).
#pragma once

#include <string>

#include "base/settings/settings.h"

namespace hone {

// The advice depends on what the word names on this machine. For "out", the folder of a model, it is "did you mean
// --model_name_or_path out?"; for the folder of an adapter, it names --adapter_name_or_path. For a data file, it names
// the flag of the data that the command reads, such as --validation_file for hone eval. "" for other words, or if the
// command does not have the flag.
std::string advice_for_word(const Schema& schema, const std::string& word);

}  // namespace hone
