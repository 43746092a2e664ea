// Advice on an argument that no setting of a command with --task takes.
#pragma once

#include <string>

#include "base/settings/settings.h"

namespace hone {

// "did you mean --model_name_or_path out?", by what the word names on this machine: a model's folder, or a file of rows,
// which is the data that the command reads (of hone eval the validation_file). "": neither, or the command lacks the flag.
std::string advice_for_word(const Schema& schema, const std::string& word);

}  // namespace hone
