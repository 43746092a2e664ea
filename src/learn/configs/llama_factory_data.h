// Internal: the data sets of LLaMA-Factory's file, through its dataset_info.json, and its templates.
#pragma once

#include "learn/configs/block.h"

namespace hone {

// `task`: sft, clm, dpo, kto or reward.
void read_llama_factory_data(const ConfigBlock& file, const std::string& task);
void read_llama_factory_template(const ConfigBlock& file);

}  // namespace hone
