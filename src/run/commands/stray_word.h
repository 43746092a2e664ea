// Advice about an argument without a flag, for commands with --task (Schema::advise).
#pragma once

#include <string>

#include "base/settings/settings.h"

namespace hone {

// The advice depends on what the word names on this machine. The folder of a model: "did you mean --model_name_or_path
// out?". A data file: the flag of the data that the command reads, such as --validation_file for hone eval. "" for
// other words, or if the command does not have the flag.
std::string advice_for_word(const Schema& schema, const std::string& word);

}  // namespace hone
