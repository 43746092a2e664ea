// Internal: the task of Axolotl's file, its data sets and chat template.
#pragma once

#include "learn/configs/block.h"

namespace hone {

struct AxolotlTask {
  std::string name;  // "sft", "clm", "dpo", "reward"
  bool evaluates = false;
  std::string evaluates_by = {};  // the key that asks for it
};

// Sets the task, its data and the settings of its rows.
AxolotlTask read_axolotl_datasets(const ConfigBlock& file);

}  // namespace hone
