// Internal: reads the data sets (by dataset_info.json) and the chat template of a settings file of LLaMA-Factory.
#pragma once

#include "learn/configs/block.h"

namespace hone {

// Sets the data for training and evaluation. `task`: hone's task: "sft", "clm", "dpo", "kto" or "reward".
void read_llama_factory_data(const ConfigBlock& file, const std::string& task);
// Sets chat_template_path from the key `template`, if the file has it.
void read_llama_factory_template(const ConfigBlock& file);

}  // namespace hone
