// The files of hone init: sample rows, a tiny model's config and tokenizer, and the files around
// them.
#pragma once

#include <map>
#include <string>

#include "base/core/error.h"

namespace hone {

// Path below the project's folder -> text. `name` is that of the project. "model/config.json" and the
// tokenizer's files are those of a model to be made from scratch.
std::map<std::string, std::string> project_files(const std::string& task, const std::string& name);

}  // namespace hone
