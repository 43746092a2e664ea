// Internal: reads the task, the data sets and the chat template of a settings file of Axolotl.
#pragma once

#include "learn/configs/block.h"

namespace hone {

struct AxolotlTask {
  std::string name;        // hone's task: "sft", "clm", "dpo" or "reward"; "": errors were recorded
  bool evaluates = false;  // the file has data to evaluate on
  std::string evaluates_by = {};  // the key that gives this data
};

// Sets hone's task, its data and the settings for its rows. Errors are added to file.reading.out.errors.
AxolotlTask read_axolotl_datasets(const ConfigBlock& file);

}  // namespace hone
